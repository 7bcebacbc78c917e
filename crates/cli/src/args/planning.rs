//! How a plan is made.

use clap::Args;
use girih::formats::{DType, FormatKind, FormatSpec};

use super::ReadArgs;
use super::value::{
    Block, FormatArg, Limit, ReorderArg, dtype_parser, format_parser, parse_block, parse_limit,
    parse_seconds,
};
use crate::error::CliError;

/// Bytes a plan's tiles may take unless `--memory-limit` says otherwise.
pub(crate) const DEFAULT_MEMORY_LIMIT: u64 = 4 << 30;

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
    /// The machine to plan for: this CPU by what the system says of it (this) or measured
    /// (this-measured), a generic one (cpu), zen5, emerald-rapids, h100-sxm, h100-pcie, h200, a100, or a device file. Plans for
    /// a named device are the same wherever they are made [default: this]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Allow additions in any order, so that results may differ in their last bits from one product to
    /// the next
    #[arg(long)]
    pub(crate) nondeterministic: bool,
    /// Most seconds that choosing an order, a format and a schedule may take in all, by estimate: what
    /// would take longer is left out, and --explain says what. What there is no plan without is done in
    /// any case
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) planning_time: Option<f64>,
    /// Show every format that was considered, what it would cost and why it lost, and what the backend
    /// of this machine executes
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
