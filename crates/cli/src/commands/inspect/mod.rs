//! `girih inspect`: what a matrix is like, or what a plan holds.

mod matrix;
mod plan;

use crate::args::InspectArgs;
use crate::error::{CliError, shown};
use crate::input::source::Source;
use crate::output::progress::Progress;
use crate::output::report::Report;

pub(crate) fn run(args: &InspectArgs, progress: &Progress) -> Result<Report, CliError> {
    match Source::detect(&args.source)? {
        Source::Matrix(source) => matrix::inspect(source, args, progress),
        Source::Plan(source) => {
            let given = args.given();
            if !given.is_empty() {
                return Err(CliError::usage(format!(
                    "{} is a plan; these options are for matrices only: {}",
                    shown(source.path()),
                    given.join(", ")
                )));
            }
            plan::inspect(source.allow_hypersparse(args.read.allow_hypersparse), progress)
        }
    }
}
