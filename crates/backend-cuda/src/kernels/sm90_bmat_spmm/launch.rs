//! Plans in BMat, for `sm90_bmat_spmm`.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{BMat, Buffer, DType, Scalar};
use girih_planner::{Precision, Schedule};

use super::arithmetic::Arithmetic;
use super::config::{
    COMBINE, Config, ELEMENT_THREADS, MAX_GRID_Y, SCALE, choose, configs, element_grid, kernel,
    sharers,
};
use super::packing::{headers, values};
use super::params::Params;
use super::work::{List, Work};
use crate::cta_order::{OF_TILES, ORDER};
use crate::epilogue::PlacedEpilogue;
use crate::launch::panel::panel;
use crate::launch::tensor_map::MapEncoder;
use crate::launch::{Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart};
use crate::operand::Place;
use crate::{CtaOrder, CudaError};

/// The parts of the device plan.
const BLOCKS: usize = 0;
const RUNS: usize = 1;
const SEGMENTS: usize = 2;
const SPLITS: usize = 3;
const HEADERS: usize = 4;
const COL_IDX: usize = 5;
const VALUES: usize = 6;
const ROWS: usize = 7;

#[derive(Debug)]
struct BmatLaunches {
    arithmetic: Arithmetic,
    pattern_only: bool,
    m: u64,
    lists: Vec<List>,
    n_splits: u64,
    /// Parts of split windows.
    n_pieces: u64,
    /// Partitions, if the schedule has any.
    partitions: Option<usize>,
    /// Whether slots are not rows.
    scatters: bool,
    /// Whether ranges of columns begin on 16 columns.
    cuts_are_aligned: bool,
    /// Columns whose sums of parts the workspace holds at a time, if there are any.
    panel: u64,
    /// In place of what would be chosen, for an ablation.
    ablated: Option<Config>,
}

/// Why there is no kernel for a value type, if there is none.
pub(crate) fn check(dtype: DType) -> Result<(), String> {
    match dtype {
        DType::F64 | DType::C32 | DType::C64 => {
            Err(format!("its kernels multiply f16, bf16 and f32, not {dtype}"))
        }
        _ => Ok(()),
    }
}

/// A matrix with its work; `n` columns are expected. `ablated` runs in place of what would be chosen.
pub(crate) fn device_plan<T: Scalar>(
    a: &BMat<T>,
    schedule: &Schedule,
    n: usize,
    precision: Precision,
    ablated: Option<Config>,
) -> DevicePlan {
    let arithmetic = Arithmetic::of(T::DTYPE, precision);
    let sharers = sharers(ablated.as_ref().map_or(configs(arithmetic), std::slice::from_ref));
    let work = Work::new(a.window_ptr(), schedule, &sharers);
    let slots = a.layout().slots().cloned().unwrap_or_else(|| Buffer::from(Vec::new()));
    // Sums of a part: those of all rows of a window.
    let per_piece = (BMat::<T>::WINDOW_ROWS * size_of::<f32>()) as u64;
    let per_column = u64::from(work.n_pieces) * per_piece;
    let panel = panel(per_column, n as u64, a.bytes());
    let pattern_only = a.values().is_none();
    DevicePlan {
        shape: ProductShape { m: a.nrows(), k: a.ncols(), dtype: T::DTYPE },
        kernels: vec![match ablated {
            Some(config) => config.kernel(arithmetic, pattern_only),
            None => kernel(arithmetic, pattern_only),
        }],
        sequence: Box::new(BmatLaunches {
            arithmetic,
            pattern_only,
            m: a.nrows() as u64,
            n_splits: work.splits.len() as u64,
            n_pieces: u64::from(work.n_pieces),
            partitions: schedule.columns().map(girih_planner::schedule::Columns::n_partitions),
            scatters: !a.layout().is_natural(),
            cuts_are_aligned: work.cuts_are_aligned,
            panel,
            ablated,
            lists: work.lists,
        }),
        values: vec![ValuesPart::exact(VALUES)],
        parts: vec![
            Box::new(work.blocks),
            Box::new(work.runs),
            Box::new(work.segments),
            Box::new(work.splits),
            Box::new(headers(a)),
            Box::new(a.tile_col_idx().clone()),
            values(a),
            Box::new(slots),
        ],
        maps: Vec::new(),
        workspace: panel * per_column,
    }
}

impl LaunchSequence for BmatLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.panel > 0 && operands.alpha.re as f32 != 0.0
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        b.reads_in_vectors(u64::from(16 / self.arithmetic.size()))
    }

    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        epilogue: &PlacedEpilogue,
        _: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let (&Operands { b, c, .. }, (alpha, beta)) = (operands, operands.real_factors());
        let n = b.cols as u64;
        let config = self.config(&b);
        let list = Work::list(&self.lists, config.ctas);
        let mut params = Params {
            blocks: at.parts[BLOCKS] + u64::from(list.first) * 8,
            runs: at.parts[RUNS],
            segments: at.parts[SEGMENTS],
            splits: at.parts[SPLITS],
            headers: at.parts[HEADERS],
            col_idx: at.parts[COL_IDX],
            values: at.parts[VALUES],
            rows: if self.scatters { at.parts[ROWS] } else { 0 },
            b: b.address,
            c: c.address,
            partials: at.workspace,
            m: self.m,
            n,
            begin: 0,
            end: n,
            b_row_stride: b.row_stride,
            b_col_stride: b.col_stride,
            c_row_stride: c.row_stride,
            c_col_stride: c.col_stride,
            partial_stride: self.panel,
            n_splits: self.n_splits,
            tile_columns: 0,
            alpha: alpha as f32,
            beta: beta as f32,
            c_in_vectors: u32::from(
                c.writes_in_vectors(4, epilogue.size_of_c(4)) && self.cuts_are_aligned,
            ),
            epilogue: *epilogue,
        };
        let mut launch = |entry: &str, grid, block, dynamic_shared, params: &Params| {
            let params = bytes_of(params);
            each(&Launch {
                kernel: 0,
                entry,
                grid,
                block,
                dynamic_shared,
                params,
                ..Launch::default()
            })
        };
        if params.alpha == 0.0 {
            let grid = [element_grid(self.m.saturating_mul(n)), 1, 1];
            return launch(SCALE, grid, ELEMENT_THREADS, 0, &params);
        }
        let shared = config.shared_bytes(self.arithmetic, self.pattern_only);
        let most = if self.panel > 0 { self.panel } else { n };
        while params.begin < n {
            params.end = n.min(params.begin + most);
            let width = params.end - params.begin;
            params.tile_columns = config.tile_columns(self.arithmetic, width);
            // Blocks of a partition take all of their columns; others share them.
            let tiles = match self.partitions {
                Some(_) => 1,
                None => width.div_ceil(u64::from(params.tile_columns)).min(MAX_GRID_Y) as u32,
            };
            // Nothing is launched for a matrix without windows, and m would be 0.
            let grid = [list.n_blocks, tiles, 1];
            launch(config.entry, grid, config.threads(), shared, &params)?;
            if self.n_splits > 0 {
                let elements = self.n_splits * BMat::<f32>::WINDOW_ROWS as u64 * width;
                launch(COMBINE, [element_grid(elements), 1, 1], ELEMENT_THREADS, 0, &params)?;
            }
            params.begin = params.end;
        }
        Ok(())
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let n = operands.b.cols as u64;
        let config = self.config(&operands.b);
        let list = Work::list(&self.lists, config.ctas);
        let lowering = match self.arithmetic.explained() {
            Some((precision, why)) => lowering.with("precision", precision, why),
            None => lowering,
        };
        let shape = format!("16 rows × {} columns", config.tile_columns(self.arithmetic, n));
        let lowering = lowering.with("tile", shape, config.why(self.arithmetic, n));
        let order = CtaOrder::by_tiles(config.tile_columns(self.arithmetic, n));
        let lowering = match self.partitions {
            Some(_) if order.tiles(n) > 1 => {
                let walk = format!(
                    "in each block, its windows for each of {} tiles of columns",
                    order.tiles(n)
                );
                lowering.with(
                    ORDER,
                    walk,
                    "what neighbouring windows share of B is read again soon",
                )
            }
            _ => order.explain(n, OF_TILES, lowering),
        };
        let lowering = lowering.with("stages", config.stages_in_words(), "");
        let lowering = match self.partitions {
            Some(partitions) => lowering.with(
                "partitions",
                format!("{partitions}, each for {} blocks", list.sharers),
                "the schedule cuts them; as many blocks as a multiprocessor holds share one",
            ),
            None => {
                let why = "each task of the schedule is a block of threads";
                lowering.with("tasks", list.n_blocks.to_string(), why)
            }
        };
        if self.n_splits == 0 {
            return lowering.with("reduction", "none", "no window is split");
        }
        let split = format!("{} cut into {} parts", self.n_splits, self.n_pieces);
        lowering.with("split windows", split, "the schedule cuts them").with(
            "reduction",
            "two-pass",
            "parts are kept and added in order, so C has the same bits",
        )
    }
}

impl BmatLaunches {
    /// What a product of this B runs.
    fn config(&self, b: &Place) -> Config {
        let per_vector = u64::from(16 / self.arithmetic.size());
        let in_rows = b.reads_in_vectors(per_vector) && self.cuts_are_aligned;
        match self.ablated {
            Some(config) if in_rows => config,
            _ => choose(self.arithmetic, b.cols as u64, in_rows),
        }
    }
}
