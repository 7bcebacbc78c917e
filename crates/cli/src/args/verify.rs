//! The flags of `girih verify`.

use std::path::PathBuf;

use clap::Args;

use super::{Json, ReadArgs};

/// Check a plan file: every hash, every index, and against its matrix
///
/// With --against, the plan must hold exactly the entries of A, rounded to the value type of the plan.
/// A plan that was pruned is compared with A after the same pruning, and the result names the pruning.
/// The command counts and reports values that are NaN or infinite in the plan. It also counts values of A
/// that overflow, vanish or become subnormal in the plan's value type.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Plan file; - is standard input
    #[arg(value_name = "PLAN")]
    pub(crate) source: PathBuf,
    /// Matrix the plan should have been made from; - is standard input
    #[arg(long, value_name = "A")]
    pub(crate) against: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}
