//! Files: what is read and written, and what is refused.

mod broken;
mod matrices;
mod mutation;
mod narrowing;
mod orders;
mod round_trip;
mod scipy;
