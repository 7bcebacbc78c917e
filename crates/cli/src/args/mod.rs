//! The command line, as types. One file holds the flags of each command.

mod ablation;
mod backends;
mod bench;
mod calibrate;
mod convert;
mod demo;
mod factor;
mod inspect;
mod kernels;
mod plan;
mod planning;
mod read;
mod reorder;
mod spmm;
mod tune;
mod value;
mod verify;

use clap::{Args, Parser, Subcommand};

pub(crate) use ablation::AblationArgs;
pub(crate) use backends::BackendsArgs;
pub(crate) use bench::{BenchArgs, FileType};
pub(crate) use calibrate::CalibrateArgs;
pub(crate) use convert::ConvertArgs;
pub(crate) use demo::DemoArgs;
pub(crate) use factor::{Factor, FactorReport};
pub(crate) use inspect::InspectArgs;
pub(crate) use kernels::{KernelsAction, KernelsArgs};
pub(crate) use plan::PlanArgs;
pub(crate) use planning::{DEFAULT_MEMORY_LIMIT, PlannerArgs, TileArgs};
pub(crate) use read::ReadArgs;
pub(crate) use reorder::ReorderArgs;
pub(crate) use spmm::{BackendArg, SpmmArgs};
pub(crate) use tune::TuneArgs;
pub(crate) use value::{Limit, ReorderArg};
pub(crate) use verify::VerifyArgs;

const AFTER_HELP: &str = "\
Exit codes:
  0  success
  1  any other failure: a plan that does not match its matrix, output that cannot be written
  2  usage: options that are unknown, missing or contradictory
  3  bad input: a matrix, a plan file or an operand that cannot be used; the message says where
  4  unsupported combination: a format that cannot hold the matrix, a size above --memory-limit
  5  the backend is not available on this machine
  6  a product that is wrong: an element outside its error bound

With --json, standard output gets exactly one JSON object and nothing else. If a command fails \
before it has a result, the object is {\"error\": message, \"exit_code\": code}. Messages and notes \
go to standard error. On a terminal, a line there shows the stage of the command and how much of it \
is done.

Matrices are Matrix Market (.mtx, .mtx.gz), scipy's .npz or .smtx; - is standard input. Commands \
use one thread for each CPU, or as many as the environment variable RAYON_NUM_THREADS says.

CUDA's libraries are searched for in the folders of GIRIH_CUDA_LIBRARIES, in the NVIDIA wheels of the \
active Python environment, under CUDA_HOME, CUDA_PATH and /usr/local/cuda, and where the system's \
loader looks. GIRIH_CUDA_DEVICE is the index of the device. GIRIH_CUDA_SOURCES is a folder of kernel \
sources that replace the built-in ones, in the same layout. Compiled kernels are kept in \
GIRIH_CACHE, or in girih under XDG_CACHE_HOME or ~/.cache.";

/// Lays a sparse matrix out in the tiling that a machine multiplies fastest, plans the work, and
/// computes C = α·A·B + β·C.
#[derive(Debug, Parser)]
#[command(name = "girih", version, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Inspect(InspectArgs),
    Plan(PlanArgs),
    Tune(TuneArgs),
    Spmm(SpmmArgs),
    Verify(VerifyArgs),
    Convert(ConvertArgs),
    Reorder(ReorderArgs),
    Backends(BackendsArgs),
    Kernels(KernelsArgs),
    Bench(BenchArgs),
    Ablation(AblationArgs),
    Calibrate(CalibrateArgs),
    Demo(DemoArgs),
}

impl Command {
    /// Whether the result is printed as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Inspect(args) => args.json.json,
            Self::Plan(args) => args.json.json,
            Self::Tune(args) => args.json.json,
            Self::Spmm(args) => args.json.json,
            Self::Verify(args) => args.json.json,
            Self::Convert(args) => args.json.json,
            Self::Reorder(args) => args.json.json,
            Self::Backends(args) => args.json.json,
            Self::Kernels(args) => args.json.json,
            Self::Bench(args) => args.json.json,
            Self::Ablation(args) => args.json.json,
            Self::Calibrate(args) => args.json.json,
            Self::Demo(args) => args.json.json,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
