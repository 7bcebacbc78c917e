//! The machine that executes programs.

pub(crate) mod warp;
