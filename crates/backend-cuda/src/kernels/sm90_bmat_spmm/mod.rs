//! Products of plans in BMat on Hopper, by `sm90_bmat_spmm.cu`.

mod config;
#[cfg(test)]
mod faults;
mod launch;
mod packing;
mod params;
mod work;

#[cfg(test)]
pub(crate) use config::kernel;
pub(crate) use config::{choose, kernels};
pub(crate) use launch::{check, device_plan};
