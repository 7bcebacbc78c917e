//! Products of plans in BMat on Hopper, by `sm90_bmat_spmm.cu`.

mod arithmetic;
mod config;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod faults_epilogue;
#[cfg(test)]
mod faults_f32;
mod launch;
#[cfg(test)]
mod order;
mod packing;
mod params;
mod work;

pub(crate) use arithmetic::Arithmetic;
#[cfg(test)]
pub(crate) use config::kernel;
pub(crate) use config::{Config, choose, kernels};
pub(crate) use launch::{check, device_plan};
