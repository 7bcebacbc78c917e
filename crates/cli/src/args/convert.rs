//! The flags of `girih convert`.

use std::path::PathBuf;

use clap::Args;

use super::{Json, ReadArgs};

/// Write a matrix in another file format
///
/// Symmetric matrices are written out in full, with duplicates added up. No digit is lost: values
/// are read and written as f64, or as f32 if that is what the file holds.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Matrix; - is standard input
    #[arg(value_name = "A")]
    pub(crate) source: PathBuf,
    /// File to write: its name ends in .mtx, .mtx.gz or .npz
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}
