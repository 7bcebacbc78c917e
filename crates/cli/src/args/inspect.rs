//! The flags of `girih inspect`.

use std::path::PathBuf;

use clap::Args;

use super::{Json, ReadArgs, ReorderArg, TileArgs};

/// Show a matrix and its size in every format, or what a plan file holds
///
/// For a plan it shows shape, format, the device and the n that it was made for, order, schedule, what was
/// considered, every section of the file with its size, and the attachments of backends. It checks every
/// hash and every index.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Matrix or plan file; - is standard input. A plan takes no option but --json
    #[arg(value_name = "A|PLAN")]
    pub(crate) source: PathBuf,
    /// Show what an order of the rows would change: rcm, window, degree, reverse, random,
    /// random:SEED, or an .npy file that `girih reorder` wrote
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
            ("--tile-entries", self.tiles.tile_entries.is_some()),
        ];
        own.into_iter()
            .filter_map(|(name, given)| given.then_some(name))
            .chain(self.read.given())
            .collect()
    }
}
