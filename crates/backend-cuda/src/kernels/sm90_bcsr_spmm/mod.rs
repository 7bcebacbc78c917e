//! Products of plans in BCSR with blocks of 64×64 on Hopper, by `sm90_bcsr_spmm.cu`.

mod config;
#[cfg(test)]
mod entries;
#[cfg(test)]
mod faults;
mod groups;
mod launch;
mod params;
mod tf32;

pub(crate) use config::{BLOCK, Config, Load, ROW_BYTES, Switch, configs};
pub(crate) use launch::{SLOTS, device_plan, entry, load_of_full, per_row};
