//! Plans in CSR, for `csr_spmm`.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{DType, RowCsr, Scalar};
use girih_planner::schedule::Task;

use super::limits::resident_warps;
use super::work::{Limits, Work};
use super::{
    ELEMENT_THREADS, ItemCounts, Layout, Params, Problem, SCALE, THREADS, WARP, element_grid,
    kernel,
};
use crate::CudaError;
use crate::prepared::launch::{Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands};
use crate::prepared::panel::panel;
use crate::prepared::tensor_map::MapEncoder;

/// The parts of the device plan.
const ITEMS: usize = 0;
const SPLITS: usize = 1;
const SPLIT_OF: usize = 2;
const ARRIVED: usize = 3;
const COL_IDX: usize = 4;
const VALUES: usize = 5;

#[derive(Debug)]
struct CsrLaunches {
    problem: Problem,
    m: u64,
    n_pieces: u64,
    /// Rows in pieces.
    n_splits: u64,
    /// Columns whose sums of pieces the workspace holds at a time, if there are pieces.
    panel: u64,
}

/// A matrix with its work, for a device with so many multiprocessors; `n` columns are expected.
pub(crate) fn device_plan<T: Scalar>(
    a: &RowCsr<T>,
    tasks: &[Task],
    n: usize,
    multiprocessors: u32,
) -> DevicePlan {
    let csr = a.csr();
    let warps = resident_warps(multiprocessors);
    let limits = Limits::new(csr.nnz() as u64, n, T::DTYPE, warps);
    let work = Work::new(csr.row_ptr(), a.layout(), tasks, limits);
    let m = a.layout().nrows();
    let per_column = work.n_pieces * size_of::<T::Acc>() as u64;
    let panel = panel(per_column, n as u64, a.bytes());
    let arrived = work.splits.len() as u64 * counted_tiles(T::DTYPE, panel);
    DevicePlan {
        shape: ProductShape { m, k: csr.ncols(), dtype: T::DTYPE },
        kernels: vec![kernel(T::DTYPE)],
        sequence: Box::new(CsrLaunches {
            problem: Problem {
                dtype: T::DTYPE,
                k: csr.ncols() as u64,
                items: work.counts,
                rest_entries: work.rest_entries,
                warps,
            },
            m: m as u64,
            n_pieces: work.n_pieces,
            n_splits: work.splits.len() as u64,
            panel,
        }),
        parts: vec![
            Box::new(work.items),
            Box::new(work.splits),
            Box::new(work.split_of),
            Box::new(vec![0u32; arrived as usize]),
            Box::new(csr.col_idx().clone()),
            Box::new(csr.values().clone()),
        ],
        maps: Vec::new(),
        workspace: panel * per_column,
    }
}

/// Tiles of columns in a panel, which is a whole number of the smallest that there may be several of.
fn counted_tiles(dtype: DType, panel: u64) -> u64 {
    panel / (u64::from(WARP) * 16 / dtype.size() as u64)
}

impl LaunchSequence for CsrLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.n_pieces > 0 && !self.is_scaling(operands)
    }

    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        _: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let &Operands { alpha, beta, b, c } = operands;
        let n = b.cols as u64;
        let Problem { dtype, items, .. } = self.problem;
        let (size, acc) = (dtype.size() as u64, dtype.accumulator().size() as u64);
        let mut params = Params {
            items: at.parts[ITEMS],
            splits: at.parts[SPLITS],
            split_of: at.parts[SPLIT_OF],
            arrived: at.parts[ARRIVED],
            col_idx: at.parts[COL_IDX],
            values: at.parts[VALUES],
            partials: at.workspace,
            partial_stride: self.panel,
            n_items: items.by_block + items.by_warp + items.rest,
            n_pieces: self.n_pieces,
            n_by_block: items.by_block,
            n_by_warp: items.by_warp,
            m: self.m,
            b_row_stride: b.row_stride,
            b_col_stride: b.col_stride,
            c_row_stride: c.row_stride,
            c_col_stride: c.col_stride,
            alpha,
            beta,
            c_in_vectors: u32::from(c.writes_in_vectors(16 / acc)),
            counted_tiles: counted_tiles(dtype, self.panel),
            ..Params::default()
        };
        let mut launch = |entry: &str, (x, y): (u32, u32), block, params: &Params| {
            let (grid, params) = ([x, y, 1], bytes_of(params));
            each(&Launch { kernel: 0, entry, grid, block, cluster: 1, dynamic_shared: 0, params })
        };
        if self.is_scaling(operands) {
            (params.c, params.n) = (c.address, n);
            let grid = element_grid(self.m.saturating_mul(n));
            return launch(SCALE, (grid, 1), ELEMENT_THREADS, &params);
        }
        let layout = self.layout(operands);
        let entry = layout.entry();
        params.team = layout.team;
        let panel = if self.n_pieces > 0 { self.panel } else { n };
        let mut first = 0;
        while first < n {
            let width = panel.min(n - first);
            params.n = width;
            params.b = b.address + first * b.col_stride * size;
            params.c = c.address + first * c.col_stride * acc;
            let Some(grid) = layout.grid(width) else {
                let reason = "is cut into more items than a grid has blocks".to_owned();
                return Err(CudaError::Operand { operand: "A", reason });
            };
            launch(entry, grid, THREADS, &params)?;
            first += width;
        }
        Ok(())
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let layout = self.layout(operands);
        let ItemCounts { by_block, by_warp, rest } = self.problem.items;
        let by_block = by_block - self.n_pieces;
        let rows = format!(
            "{by_block} by a block of threads each, {by_warp} by a warp each, {rest} {}",
            layout.team_in_words()
        );
        let lowering = lowering.with("tile", layout.tile_in_words(), "").with(
            "rows",
            rows,
            "by their lengths, the longest first",
        );
        if self.n_splits == 0 {
            return lowering.with("reduction", "none", "no row is split");
        }
        let split = format!("{} cut into {} pieces", self.n_splits, self.n_pieces);
        let why = "the schedule cuts them, or a block would take too long";
        lowering.with("split rows", split, why).with(
            "reduction",
            "in order",
            "the block that finishes last adds a row's pieces, so C has the same bits",
        )
    }
}

impl CsrLaunches {
    /// How a product is laid over lanes.
    fn layout(&self, operands: &Operands) -> Layout {
        let &Operands { b, c, .. } = operands;
        let (n, dtype) = (b.cols as u64, self.problem.dtype);
        let (size, acc) = (dtype.size() as u64, dtype.accumulator().size() as u64);
        let whole = c.writes_in_vectors(16 / acc) && n.is_multiple_of(16 / acc);
        Layout::new(&self.problem, n).stored(b.reads_in_vectors(16 / size), whole)
    }

    /// Whether α is zero as the kernels see it, in the accumulation type: nothing is multiplied then.
    fn is_scaling(&self, operands: &Operands) -> bool {
        match self.problem.dtype {
            DType::F64 => operands.alpha == 0.0,
            _ => operands.alpha as f32 == 0.0,
        }
    }
}
