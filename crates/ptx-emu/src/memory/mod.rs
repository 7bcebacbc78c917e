//! Memory: address spaces, allocations, shared memory.

mod access;
mod address;
pub(crate) mod clock;
mod global;
pub(crate) mod published;
mod rows;
pub(crate) mod shadow;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use access::{Order, Request, Strength, Target};
pub(crate) use address::{
    GLOBAL_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_START, SHARED_WINDOW, Space, from_generic,
    shared_of, space_of, to_generic,
};
pub(crate) use global::{Allocation, Global};
pub(crate) use shared::Shared;
