//! Products of plans in WCSR on Hopper, by `sm90_wcsr_spmm.cu`.

mod choice;
mod config;
#[cfg(test)]
mod faults;
mod kernel;
mod launch;
mod packing;
mod params;
mod windows;
mod work;

pub(crate) use choice::{at_once, choose, has_tiles_of};
pub(crate) use config::step;
#[cfg(test)]
pub(crate) use kernel::kernel;
pub(crate) use kernel::kernels;
pub(crate) use launch::{check, device_plan};
pub(crate) use windows::Windows;
pub(crate) use work::blocks;
