//! Products of plans in 2:4 on Hopper, by `sm90_two_four_spmm.cu`.

mod config;
#[cfg(test)]
mod entries;
#[cfg(test)]
mod faults;
mod launch;
mod packing;
mod params;

pub(crate) use config::{Config, ROWS, Work, configs};
pub(crate) use launch::{device_plan, entry};
