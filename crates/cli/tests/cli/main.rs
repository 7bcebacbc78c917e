//! The `girih` command, run as scripts run it.

mod ablation;
mod bench;
mod broken_input;
mod commands;
mod common;
mod complex;
mod devices;
mod exit_codes;
#[cfg(target_os = "linux")]
mod hostile_sizes;
#[cfg(unix)]
mod interruption;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod memory;
mod narrowing;
mod orders;
mod plans;
mod products;
mod scipy;
mod tune;
