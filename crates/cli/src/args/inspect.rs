//! The flags of `girih inspect`.

use std::path::PathBuf;

use clap::Args;

use super::{Json, ReadArgs, ReorderArg, TileArgs};

/// Show what a matrix is like and what it would take in every format, or what a plan file holds
///
/// Of a plan: shape, format, the device and the n it was made for, order, schedule, what was considered,
/// every section of the file with its size, and what backends keep with it. Every hash and index is
/// checked.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Matrix or plan file; - is standard input. The options but --json are for matrices
    #[arg(value_name = "A|PLAN")]
    pub(crate) source: PathBuf,
    /// Show what an order of the rows would change: rcm, window, degree, reverse, random or
    /// random:SEED, or a .npy file as `girih reorder` writes them
    #[arg(long, value_name = "ORDER")]
    pub(crate) reorder: Option<ReorderArg>,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) tiles: TileArgs,
}

impl InspectArgs {
    /// The options for matrices that were given, by name.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let own = [
            ("--reorder", self.reorder.is_some()),
            ("--dtype", self.tiles.dtype.is_some()),
            ("--block", self.tiles.block.is_some()),
            ("--window", self.tiles.window.is_some()),
        ];
        own.into_iter()
            .filter_map(|(name, given)| given.then_some(name))
            .chain(self.read.given())
            .collect()
    }
}
