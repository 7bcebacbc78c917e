//! The flags of `girih reorder`.

use std::path::PathBuf;

use clap::Args;
use girih::reorder::Method;

use super::{Json, ReadArgs};

/// Compute an ordering of a matrix's rows, and say what it changes
///
/// The file holds the index of the row that comes first, then of the second, and so on, as in numpy and
/// scipy. Both `a[p]` in numpy and `girih plan --reorder P.npy` put the rows in that order.
#[derive(Debug, Args)]
pub(crate) struct ReorderArgs {
    /// Matrix, or a plan file, whose order is shown; - is standard input
    #[arg(value_name = "A|PLAN")]
    pub(crate) source: PathBuf,
    /// Write the order of the rows
    #[arg(short, long, value_name = "P.npy")]
    pub(crate) output: Option<PathBuf>,
    /// Write the order of the columns that goes with it. For a square matrix it is the order of the rows
    #[arg(long, value_name = "Q.npy")]
    pub(crate) cols: Option<PathBuf>,
    /// Ordering: rcm, window, degree, reverse, random or random:SEED [default: rcm]
    #[arg(long, value_name = "METHOD")]
    pub(crate) by: Option<Method>,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}
