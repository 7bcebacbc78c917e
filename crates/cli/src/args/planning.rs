//! The flags of commands that make a plan.

use clap::Args;
use girih::formats::{DType, FormatKind, FormatSpec, ScalesPer};
use girih::planner::Precision;
use girih_measure::bench::{Block, TileSizes, parse_block};

use super::read::ReadArgs;
use super::value::{
    FormatArg, Limit, ReorderArg, dtype_parser, format_parser, parse_limit, parse_seconds,
    precision_parser, scales_parser,
};
use crate::error::CliError;

/// The most bytes that a plan's tiles may take, unless `--memory-limit` says otherwise.
pub(crate) const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

/// How tiles are sized.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Tiles")]
pub(crate) struct TileArgs {
    /// Value type the matrix is stored and multiplied in; c32 and c64 are complex numbers of two f32 or two f64, 8 and
    /// 16 bytes [default: f32, or c32 for complex files]
    #[arg(long, value_parser = dtype_parser())]
    pub(crate) dtype: Option<DType>,
    /// Block size of bcsr, such as 64x32, or of blocked-ell, whose blocks are square [default: 64x64]
    #[arg(long, value_name = "RxC", value_parser = parse_block)]
    pub(crate) block: Option<Block>,
    /// Rows of a window of wcsr or hybrid [default: 64]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) window: Option<u32>,
    /// The fewest entries, on average, of the tiles of a window that hybrid packs, each of them 8 columns wide, or 16
    /// in 16 bits [default: 1.5 a column]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tile_entries: Option<u32>,
}

impl TileArgs {
    pub(crate) fn dtype(&self) -> DType {
        self.dtype.unwrap_or(DType::F32)
    }

    /// The format of a kind, with the sizes that were given.
    ///
    /// # Errors
    /// If a size does not suit the format.
    pub(crate) fn spec(&self, kind: FormatKind) -> Result<FormatSpec, CliError> {
        let sizes = TileSizes {
            dtype: self.dtype(),
            block: self.block,
            window: self.window,
            tile_entries: self.tile_entries,
        };
        sizes.spec(kind).map_err(CliError::usage)
    }
}

/// How a plan is made from a matrix.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlannerArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) tiles: TileArgs,
    #[command(flatten)]
    pub(crate) planning: PlanningArgs,
}

/// What the planner may choose, and for which machine.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Planning")]
pub(crate) struct PlanningArgs {
    /// Number of columns of B that the plan is tuned for. A plan multiplies any number of columns
    /// [default: 256, or the columns of B if B is given]
    #[arg(long, value_name = "COLS")]
    pub(crate) n: Option<usize>,
    /// Format of the tiles. With auto, the planner takes the format with the least estimated time
    /// [default: auto]
    #[arg(long, value_parser = format_parser())]
    pub(crate) format: Option<FormatArg>,
    /// Store the values of two-four in e4m3, a byte each, with one scale (tensor) or one for each row (row). CUDA
    /// kernels round B to e4m3 too, by a scale for each column; a CPU does not multiply such plans [default: values
    /// of --dtype]
    #[arg(long, value_name = "SCALES", value_parser = scales_parser())]
    pub(crate) e4m3: Option<ScalesPer>,
    /// Most bytes the tiles may take, as 512MiB, 4GiB or none [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_limit)]
    pub(crate) memory_limit: Option<Limit>,
    /// Let NaN and Inf in B reach only the rows of C that they reach in CSR. This excludes formats that
    /// store fill-in zeros
    #[arg(long)]
    pub(crate) exact: bool,
    /// How far products in f32 may be rounded on a GPU. With tf32, tensor cores round operands to 11 of 24
    /// bits, which is fastest. With 3xtf32, they multiply three times, by operands of 22 bits or more. With
    /// f32, nothing is rounded before it is multiplied; CUDA cores do that, with less arithmetic per second.
    /// Formats without such kernels are left out: csr and bmat have them, and auto takes csr, which is faster. A
    /// CPU multiplies f32 as it is, and every other value type is multiplied as it is too [default: tf32]
    #[arg(long, value_name = "PRECISION", value_parser = precision_parser())]
    pub(crate) precision: Option<Precision>,
    /// Order of the rows in the tiles: none, auto, rcm, window, degree, reverse, random, random:SEED, or
    /// an .npy file of row indices in their new order. With auto, rows are ordered if that saves time
    /// by estimate. C is always in the order of A [default: none]
    #[arg(long, value_name = "ORDER")]
    pub(crate) reorder: Option<ReorderArg>,
    /// Take B and give C in the plan's order of rows and columns, for vectors that stay permuted.
    /// `girih reorder` writes the order
    #[arg(long)]
    pub(crate) permuted: bool,
    /// Prune the matrix to 2:4 first: of every four columns of a row, keep the two largest magnitudes
    #[arg(long)]
    pub(crate) prune_two_four: bool,
    /// The machine to plan for: this CPU as the system describes it (this), this CPU as measured
    /// (this-measured), a generic CPU (cpu), zen3, zen4, zen5, emerald-rapids, h100-sxm, h100-pcie, h200, a100, or a
    /// device file. A plan for a named device has the same bytes wherever it is made [default: this]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Allow additions in any order. The last bits of C may then differ from one product to the next
    #[arg(long)]
    pub(crate) nondeterministic: bool,
    /// Most seconds for choosing an order, a format and a schedule, by estimate. Steps that would take
    /// longer are left out, and --explain names them. Steps that every plan needs are always done
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) planning_time: Option<f64>,
    /// Show every format that was considered, its cost and why it lost. Show also what this machine
    /// executes
    #[arg(long)]
    pub(crate) explain: bool,
}

impl PlannerArgs {
    /// The requested format with its sizes; `None` for the planner's choice.
    ///
    /// # Errors
    /// If sizes were given that the format does not have.
    pub(crate) fn format(&self) -> Result<Option<FormatSpec>, CliError> {
        let (block, window) = (self.tiles.block.is_some(), self.tiles.window.is_some());
        let entries = self.tiles.tile_entries.is_some();
        if let Some(scales) = self.planning.e4m3 {
            return match self.planning.format {
                Some(FormatArg::Kind(FormatKind::TwoFour)) if !block && !window && !entries => {
                    Ok(Some(FormatSpec::TwoFourE4m3 { scales }))
                }
                _ => {
                    Err(CliError::usage("--e4m3 needs --format two-four, and tiles have no sizes"))
                }
            };
        }
        let kind = match self.planning.format {
            None | Some(FormatArg::Auto) => {
                if block || window || entries {
                    return Err(CliError::usage(
                        "--block needs --format bcsr or blocked-ell, and --window needs --format \
                         wcsr or hybrid, and --tile-entries needs --format hybrid",
                    ));
                }
                return Ok(None);
            }
            Some(FormatArg::Kind(kind)) => kind,
        };
        if block && !matches!(kind, FormatKind::Bcsr | FormatKind::BlockedEll) {
            return Err(CliError::usage(format!("--block does not apply to {kind}")));
        }
        if window && !matches!(kind, FormatKind::Wcsr | FormatKind::Hybrid) {
            return Err(CliError::usage(format!("--window does not apply to {kind}")));
        }
        if self.tiles.tile_entries.is_some() && kind != FormatKind::Hybrid {
            return Err(CliError::usage(format!("--tile-entries does not apply to {kind}")));
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
            ("--tile-entries", tiles.tile_entries.is_some()),
            ("--n", planning.n.is_some()),
            ("--format", planning.format.is_some()),
            ("--e4m3", planning.e4m3.is_some()),
            ("--memory-limit", planning.memory_limit.is_some()),
            ("--exact", planning.exact),
            ("--precision", planning.precision.is_some()),
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
