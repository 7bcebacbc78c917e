//! Memory that products use meanwhile and that holds nothing between two.

pub(crate) mod aligned;
pub(crate) mod copies;
pub(crate) mod packing;
pub(crate) mod rooms;
