//! The `girih` command, run as scripts run it.

mod bench;
mod broken_input;
mod commands;
mod common;
mod devices;
mod exit_codes;
#[cfg(unix)]
mod interruption;
#[cfg(target_os = "linux")]
mod memory;
mod orders;
mod products;
mod scipy;
