//! The commands, one module each.

pub(crate) mod backends;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod inspect;
pub(crate) mod kernels;
pub(crate) mod plan;
pub(crate) mod reorder;
pub(crate) mod spmm;
pub(crate) mod verify;

use crate::args::Command;
use crate::error::CliError;
use crate::progress::Progress;
use crate::report::Report;

/// Runs a command to its report.
pub(crate) fn run(command: &Command, progress: &Progress) -> Result<Report, CliError> {
    match command {
        Command::Inspect(options) => inspect::run(options, progress),
        Command::Plan(options) => plan::run(options, progress),
        Command::Spmm(options) => spmm::run(options, progress),
        Command::Verify(options) => verify::run(options, progress),
        Command::Convert(options) => convert::run(options, progress),
        Command::Reorder(options) => reorder::run(options, progress),
        Command::Backends(_) => backends::run(),
        Command::Kernels(options) => kernels::run(options, progress),
        Command::Bench(options) => bench::run(options, progress),
        Command::Calibrate(options) => calibrate::run(options, progress),
        Command::Demo(options) => demo::run(options, progress),
    }
}
