//! Products of plans in 2:4 on Hopper, by `sm90_two_four_spmm.cu`.

mod config;
#[cfg(test)]
mod entries;
#[cfg(test)]
mod faults;
mod launch;
mod narrow;
mod packing;
mod params;

pub(crate) use config::{
    BY_COLUMNS, Config, Narrow, ROWS, TOGETHER, Work, configs, narrow_configs,
};
#[cfg(test)]
pub(crate) use entries::matrix;
pub(crate) use launch::{device_plan, entry};
pub(crate) use narrow::device_plan as narrow_device_plan;
