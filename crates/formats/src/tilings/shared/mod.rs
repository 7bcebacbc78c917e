//! What the conversions of all tilings share.

pub(crate) mod fill;
pub(crate) mod marks;
pub(crate) mod read_back;
pub(crate) mod union;
pub(crate) mod windows;
