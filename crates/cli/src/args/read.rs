//! How a matrix is read.

use clap::{Args, ValueEnum};
use girih::formats::Duplicates;
use girih::formats::io::ReadOptions;

/// How a matrix is read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// What to do with an entry that is given more than once: add its values, or refuse the matrix
    /// [default: sum]
    #[arg(long, value_enum)]
    pub(crate) duplicates: Option<DuplicatesArg>,
    /// Drop entries that are stored but zero
    #[arg(long)]
    pub(crate) prune_zeros: bool,
    /// Accept a matrix or a plan with far more rows than entries. What every row takes is much more
    /// memory than the file
    #[arg(long)]
    pub(crate) allow_hypersparse: bool,
}

impl ReadArgs {
    /// The reader's options.
    pub(crate) fn options(&self) -> ReadOptions {
        let duplicates = match self.duplicates {
            None | Some(DuplicatesArg::Sum) => Duplicates::Sum,
            Some(DuplicatesArg::Refuse) => Duplicates::Refuse,
        };
        ReadOptions::default()
            .duplicates(duplicates)
            .prune_zeros(self.prune_zeros)
            .allow_hypersparse(self.allow_hypersparse)
    }

    /// The options that were given and mean nothing for a plan, by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        [("--duplicates", self.duplicates.is_some()), ("--prune-zeros", self.prune_zeros)]
            .into_iter()
            .filter_map(|(name, given)| given.then_some(name))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DuplicatesArg {
    Sum,
    Refuse,
}
