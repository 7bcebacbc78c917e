//! The command line, as types.

mod planning;
mod value;

use clap::{Args, Parser, Subcommand, ValueEnum};
use girih::formats::Duplicates;
use girih::formats::io::ReadOptions;

use crate::commands::{
    bench, calibrate, convert, demo, inspect, kernels, plan, reorder, spmm, verify,
};

pub(crate) use planning::{DEFAULT_MEMORY_LIMIT, PlanArgs, TileArgs};
pub(crate) use value::{
    Block, FormatArg, Limit, ReorderArg, dtype_parser, parse_block, parse_limit, parse_seconds,
};

const AFTER_HELP: &str = "\
Exit codes:
  0  success
  1  anything that has no code of its own: a plan that is not of its matrix, output not written
  2  usage: options that are unknown, missing or do not go together
  3  bad input: a matrix, a plan file or an operand that cannot be used; the message has the place
  4  unsupported combination: a format that cannot hold the matrix, a size above --memory-limit
  5  the backend is not available on this machine
  6  a product that is wrong: an element outside its error bound

With --json, standard output gets exactly one JSON object and nothing else. If a command fails \
before it has a result, the object is {\"error\": message, \"exit_code\": code}. Messages and notes \
go to standard error. If that is a terminal, so does a line with the stage a command is in, and \
how much of it is done where that is known.

Matrices are Matrix Market (.mtx, .mtx.gz), scipy's .npz or .smtx; - is standard input. There are \
as many threads as CPUs, or as the environment variable RAYON_NUM_THREADS says.

CUDA's libraries are looked for in the folders that GIRIH_CUDA_LIBRARIES lists, in those of the active \
Python environment's NVIDIA wheels, under CUDA_HOME, CUDA_PATH and /usr/local/cuda, and where the \
system's loader looks. GIRIH_CUDA_DEVICE is the index of the device, GIRIH_CUDA_SOURCES a folder with \
kernel sources in place of the built-in ones. Compiled kernels are kept in GIRIH_CACHE, or in \
girih under XDG_CACHE_HOME or ~/.cache.";

/// Lays a sparse matrix out in the tiling a machine multiplies fastest, plans the work, and
/// computes C = α·A·B + β·C.
#[derive(Debug, Parser)]
#[command(name = "girih", version, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Inspect(inspect::Options),
    Plan(plan::Options),
    Spmm(spmm::Options),
    Verify(verify::Options),
    Convert(convert::Options),
    Reorder(reorder::Options),
    Backends(BackendsOptions),
    Kernels(kernels::Options),
    Bench(bench::Options),
    Calibrate(calibrate::Options),
    Demo(demo::Options),
}

impl Command {
    /// Whether the result is wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Inspect(o) => o.json.json,
            Self::Plan(o) => o.json.json,
            Self::Spmm(o) => o.json.json,
            Self::Verify(o) => o.json.json,
            Self::Convert(o) => o.json.json,
            Self::Reorder(o) => o.json.json,
            Self::Backends(o) => o.json.json,
            Self::Kernels(o) => o.json.json,
            Self::Bench(o) => o.json.json,
            Self::Calibrate(o) => o.json.json,
            Self::Demo(o) => o.json.json,
        }
    }
}

/// The switch every command has.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Json {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// List the backends and whether they can run here
#[derive(Debug, Args)]
pub(crate) struct BackendsOptions {
    #[command(flatten)]
    pub(crate) json: Json,
}

/// How a matrix is read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// An entry given more than once: add the values up, or refuse the matrix [default: sum]
    #[arg(long, value_enum)]
    pub(crate) duplicates: Option<DuplicatesArg>,
    /// Drop entries that are stored but zero
    #[arg(long)]
    pub(crate) prune_zeros: bool,
    /// Accept far more rows than entries, whose offsets alone take much more memory than the file
    #[arg(long)]
    pub(crate) allow_hypersparse: bool,
}

impl ReadArgs {
    /// What the reader is asked.
    pub(crate) fn options(&self) -> ReadOptions {
        let duplicates = match self.duplicates {
            None | Some(DuplicatesArg::Sum) => Duplicates::Sum,
            Some(DuplicatesArg::Refuse) => Duplicates::Refuse,
        };
        ReadOptions {
            duplicates,
            prune_zeros: self.prune_zeros,
            allow_hypersparse: self.allow_hypersparse,
            ..ReadOptions::default()
        }
    }

    /// The options that were given, by name.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("--duplicates", self.duplicates.is_some()),
            ("--prune-zeros", self.prune_zeros),
            ("--allow-hypersparse", self.allow_hypersparse),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DuplicatesArg {
    Sum,
    Refuse,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
