//! Plan files: what is saved is what is loaded, and nothing else loads.

mod round_trip;
mod support;
