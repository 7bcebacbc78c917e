//! The commands, one module each.

pub(crate) mod ablation;
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
pub(crate) mod tune;
pub(crate) mod verify;

use crate::args::Command;
use crate::error::CliError;
use crate::output::progress::Progress;
use crate::output::report::Report;

/// Runs a command to its report.
pub(crate) fn run(command: &Command, progress: &Progress) -> Result<Report, CliError> {
    match command {
        Command::Inspect(args) => inspect::run(args, progress),
        Command::Plan(args) => plan::run(args, progress),
        Command::Tune(args) => tune::run(args, progress),
        Command::Spmm(args) => spmm::run(args, progress),
        Command::Verify(args) => verify::run(args, progress),
        Command::Convert(args) => convert::run(args, progress),
        Command::Reorder(args) => reorder::run(args, progress),
        Command::Backends(_) => backends::run(),
        Command::Kernels(args) => kernels::run(args, progress),
        Command::Bench(args) => bench::run(args, progress),
        Command::Ablation(args) => ablation::run(args, progress),
        Command::Calibrate(args) => calibrate::run(args, progress),
        Command::Demo(args) => demo::run(args, progress),
    }
}
