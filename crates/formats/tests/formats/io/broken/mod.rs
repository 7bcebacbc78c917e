//! Broken and odd inputs: each gives its own error at its own place, or is read as it is meant.

mod entries;
mod header;
mod npz;
mod smtx;
mod streams;
mod support;
