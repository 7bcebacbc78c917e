//! The `girih` command, run as scripts run it.

mod broken_input;
mod commands;
mod common;
mod exit_codes;
mod products;
mod scipy;
