//! The command line, as types.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use girih::formats::io::ReadOptions;
use girih::formats::{DType, Duplicates, FormatKind, FormatSpec};
use girih::planner::Reorder;

use crate::commands::{
    bench, calibrate, convert, demo, inspect, kernels, plan, reorder, spmm, verify,
};
use crate::error::CliError;
use crate::units;

/// Bytes a plan's tiles may take unless `--memory-limit` says otherwise.
pub(crate) const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

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
go to standard error, and so does a spinner if that is a terminal.

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
    fn given(&self) -> impl Iterator<Item = &'static str> {
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

/// How tiles are sized.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Tiles")]
pub(crate) struct TileArgs {
    /// Value type the matrix is stored and multiplied in [default: f32]
    #[arg(long, value_parser = dtype_parser())]
    pub(crate) dtype: Option<DType>,
    /// Block of bcsr, as 64x32, and of blocked-ell, where it must be square [default: 64x64]
    #[arg(long, value_name = "RxC", value_parser = parse_block)]
    pub(crate) block: Option<Block>,
    /// Rows of a window of wcsr [default: 64]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) window: Option<u32>,
}

impl TileArgs {
    pub(crate) fn dtype(&self) -> DType {
        self.dtype.unwrap_or(DType::F32)
    }

    /// The format of this kind with the sizes asked for.
    ///
    /// # Errors
    /// If a size that was given does not suit the format.
    pub(crate) fn spec(&self, kind: FormatKind) -> Result<FormatSpec, CliError> {
        let Block { rows, cols } = self.block.unwrap_or(Block { rows: 64, cols: 64 });
        Ok(match kind {
            FormatKind::Csr => FormatSpec::Csr,
            FormatKind::Bcsr => FormatSpec::Bcsr { block_rows: rows, block_cols: cols },
            FormatKind::Wcsr => FormatSpec::Wcsr {
                window_rows: self.window.unwrap_or(64) as usize,
                pad_cols: pad_cols(self.dtype()),
            },
            FormatKind::BlockedEll if rows == cols => FormatSpec::BlockedEll { block_size: rows },
            FormatKind::BlockedEll => {
                return Err(CliError::usage(format!(
                    "blocked-ell has square blocks, and --block is {rows}x{cols}; write --block {rows}"
                )));
            }
            FormatKind::BMat => FormatSpec::BMat { pattern_only: false },
            FormatKind::TwoFour => FormatSpec::TwoFour,
        })
    }
}

/// What WCSR pads a window's packed columns to: the depth of one tensor-core step, which also keeps
/// rows of tiles on 32-byte boundaries.
const fn pad_cols(dtype: DType) -> usize {
    match dtype {
        DType::F16 | DType::Bf16 => 16,
        DType::F32 | DType::F64 => 8,
    }
}

/// How a plan is made from a matrix.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) tiles: TileArgs,
    #[command(flatten)]
    pub(crate) planning: PlanningArgs,
}

/// What is asked of the planner.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Planning")]
pub(crate) struct PlanningArgs {
    /// Columns of B the plan is tuned for; it multiplies any number [default: 256, or those of the
    /// B that is given]
    #[arg(long, value_name = "COLS")]
    pub(crate) n: Option<usize>,
    /// Format of the tiles; auto takes the cheapest by estimate [default: auto]
    #[arg(long, value_parser = format_parser())]
    pub(crate) format: Option<FormatArg>,
    /// Most bytes the tiles may take, as 512MiB, 4GiB or none [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_limit)]
    pub(crate) memory_limit: Option<Limit>,
    /// Let NaN and Inf in B reach only the rows of C that CSR would, at the price of excluding
    /// formats that store fill-in zeros
    #[arg(long)]
    pub(crate) exact: bool,
    /// Order of the rows in the tiles: none, auto (an ordering if it pays by estimate), rcm, window,
    /// degree, reverse, random or random:SEED, or a .npy file with the row that comes first, the
    /// row that comes second and so on. C comes out in the order of A whatever it is
    /// [default: none]
    #[arg(long, value_name = "ORDER")]
    pub(crate) reorder: Option<ReorderArg>,
    /// Take B and give C in the plan's order of rows and columns, for vectors that stay permuted;
    /// `girih reorder` gives the order
    #[arg(long)]
    pub(crate) permuted: bool,
    /// Make the matrix 2:4 first: of every four columns of a row, keep the two largest magnitudes
    #[arg(long)]
    pub(crate) prune_two_four: bool,
    /// The machine to plan for: cpu, h100-sxm, h100-pcie, h200, a100, this CPU by what the system says
    /// of it (this) or measured (this-measured), or a device file [default: cpu]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Allow additions in any order, so that results may differ in their last bits from one product to
    /// the next
    #[arg(long)]
    pub(crate) nondeterministic: bool,
    /// Most seconds that planning may spend on counting candidates, by estimate
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) planning_time: Option<f64>,
    /// Show every format that was considered, what it would cost and why it lost
    #[arg(long)]
    pub(crate) explain: bool,
}

impl PlanArgs {
    /// The format asked for, with its sizes; `None` for the planner's choice.
    ///
    /// # Errors
    /// If sizes were given that the format does not have.
    pub(crate) fn format(&self) -> Result<Option<FormatSpec>, CliError> {
        let (block, window) = (self.tiles.block.is_some(), self.tiles.window.is_some());
        let kind = match self.planning.format {
            None | Some(FormatArg::Auto) => {
                if block || window {
                    return Err(CliError::usage(
                        "--block and --window need a --format they belong to: bcsr or blocked-ell \
                         for --block, wcsr for --window",
                    ));
                }
                return Ok(None);
            }
            Some(FormatArg::Kind(kind)) => kind,
        };
        if block && !matches!(kind, FormatKind::Bcsr | FormatKind::BlockedEll) {
            return Err(CliError::usage(format!("--block does not apply to {kind}")));
        }
        if window && kind != FormatKind::Wcsr {
            return Err(CliError::usage(format!("--window does not apply to {kind}")));
        }
        self.tiles.spec(kind).map(Some)
    }

    /// The limit on the tiles' bytes; `None` if there is none.
    pub(crate) fn memory_limit(&self) -> Option<u64> {
        self.planning.memory_limit.map_or(Some(DEFAULT_MEMORY_LIMIT), |Limit(bytes)| bytes)
    }

    /// The options that were given, by name.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let (tiles, planning) = (&self.tiles, &self.planning);
        let own = [
            ("--dtype", tiles.dtype.is_some()),
            ("--block", tiles.block.is_some()),
            ("--window", tiles.window.is_some()),
            ("--n", planning.n.is_some()),
            ("--format", planning.format.is_some()),
            ("--memory-limit", planning.memory_limit.is_some()),
            ("--exact", planning.exact),
            ("--device", planning.device.is_some()),
            ("--nondeterministic", planning.nondeterministic),
            ("--planning-time", planning.planning_time.is_some()),
            ("--reorder", planning.reorder.is_some()),
            ("--permuted", planning.permuted),
            ("--prune-two-four", planning.prune_two_four),
        ];
        own.into_iter()
            .filter_map(|(name, given)| given.then_some(name))
            .chain(self.read.given())
            .collect()
    }
}

/// A format, or the planner's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatArg {
    Auto,
    Kind(FormatKind),
}

/// An order of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReorderArg {
    Plan(Reorder),
    File(PathBuf),
}

impl FromStr for ReorderArg {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "none" => Ok(Self::Plan(Reorder::None)),
            "auto" => Ok(Self::Plan(Reorder::Auto)),
            _ if s.ends_with(".npy") => Ok(Self::File(s.into())),
            _ => match s.parse() {
                Ok(method) => Ok(Self::Plan(Reorder::By(method))),
                Err(error) => Err(format!("{error}; also none, auto, or a file named .npy")),
            },
        }
    }
}

/// Rows and columns of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

/// A number of bytes, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<u64>);

pub(crate) fn dtype_parser() -> impl TypedValueParser<Value = DType> {
    PossibleValuesParser::new(["f32", "f64", "f16", "bf16"]).try_map(|s| s.parse::<DType>())
}

fn format_parser() -> impl TypedValueParser<Value = FormatArg> {
    let names = std::iter::once("auto").chain(FormatKind::ALL.map(FormatKind::name));
    PossibleValuesParser::new(names).try_map(|s| match s.as_str() {
        "auto" => Ok(FormatArg::Auto),
        name => name.parse().map(FormatArg::Kind),
    })
}

pub(crate) fn parse_block(s: &str) -> Result<Block, String> {
    let expected =
        || format!("{s:?} is not a block; write ROWSxCOLS, for example 64x64, or one number");
    let side = |text: &str| {
        text.parse::<u32>().ok().filter(|&n| n > 0).map(|n| n as usize).ok_or_else(expected)
    };
    match s.split_once(['x', 'X', '×']) {
        Some((rows, cols)) => Ok(Block { rows: side(rows)?, cols: side(cols)? }),
        None => side(s).map(|n| Block { rows: n, cols: n }),
    }
}

/// A number of seconds that something may take.
pub(crate) fn parse_seconds(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|seconds| (0.0..=3600.0).contains(seconds))
        .ok_or_else(|| format!("{s:?} is not a number of seconds from 0 to 3600"))
}

pub(crate) fn parse_limit(s: &str) -> Result<Limit, String> {
    if s == "none" { Ok(Limit(None)) } else { units::parse_bytes(s).map(|n| Limit(Some(n))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn blocks_are_read() {
        assert_eq!(parse_block("64x32"), Ok(Block { rows: 64, cols: 32 }));
        assert_eq!(parse_block("16"), Ok(Block { rows: 16, cols: 16 }));
        for text in ["", "x", "0x4", "4x0", "4x4x4", "-4", "4294967296"] {
            assert!(parse_block(text).is_err(), "{text}");
        }
    }
}
