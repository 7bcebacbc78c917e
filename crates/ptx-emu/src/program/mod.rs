//! From what a file says to what the machine executes: names resolved, variables laid out,
//! instructions decoded.

mod decoder;
mod preset;
mod scope;

pub(crate) use decoder::Decoder;
pub(crate) use preset::{Axis, Clock, Preset};
pub(crate) use scope::{Address, Binding, Location, Names, Scope};
