//! Plans in CSR, for `csr_spmm`.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{DType, Scalar};
use girih_planner::schedule::Task;

use super::layout::Order;
use super::limits::{Limits, resident_warps};
use super::rows::Rows;
use super::work::Work;
use super::{
    ELEMENT_THREADS, ItemCounts, Last, Layout, Operation, Params, Problem, SCALE, Statistics, WARP,
    copies, element_grid, kernels,
};
use crate::epilogue::PlacedEpilogue;
use crate::kernels::locality::{Locality, held};
use crate::launch::Machine;
use crate::launch::panel::panel;
use crate::launch::tensor_map::MapEncoder;
use crate::launch::{Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart};
use crate::operand::Place;
use crate::{CtaOrder, CudaError};

/// The parts of the device plan.
const ITEMS: usize = 0;
const SPLITS: usize = 1;
const SPLIT_OF: usize = 2;
const ARRIVED: usize = 3;
const COL_IDX: usize = 4;
const VALUES: usize = 5;
const ROW_PTR: usize = 6;
const ROWS: usize = 7;
const SPLIT_ENTRIES: usize = 8;
const EMPTY_ROWS: usize = 9;

#[derive(Debug)]
struct CsrLaunches {
    problem: Problem,
    m: u64,
    n_pieces: u64,
    /// Rows in pieces.
    n_splits: u64,
    /// Whether the rows of slots are listed.
    has_rows: bool,
    /// Columns whose sums of pieces the workspace holds at a time, if there are pieces.
    panel: u64,
}

/// Rows with their work, for a device; `n` columns are expected.
pub(crate) fn device_plan<T: Scalar>(
    a: &Rows<'_, T>,
    tasks: &[Task],
    n: usize,
    machine: Machine,
) -> DevicePlan {
    let warps = resident_warps(machine.multiprocessors);
    let statistics = Statistics::of(&a.row_ptr);
    let order = Order::new(machine.csr_layout, &statistics, n as u64, T::DTYPE, warps);
    let (work, row_ptr, rows) = if order.has_items() {
        let limits = Limits::new(a.col_idx.len() as u64, n, T::DTYPE, warps);
        (Work::new(&a.row_ptr, a.order(), tasks, limits), Vec::new(), Vec::new())
    } else {
        // No matrix with 2³¹ entries or more is.
        let row_ptr: Vec<u32> = a.row_ptr.iter().map(|&end| end as u32).collect();
        (Work::alike(statistics.rows, statistics.entries), row_ptr, a.listed())
    };
    let (m, k) = a.shape;
    let locality = locality(a, order, &statistics, n as u64, &machine);
    let per_column = work.n_pieces * size_of::<T::Acc>() as u64;
    let panel = panel(per_column, n as u64, a.bytes);
    let split_entries = work.split_entries();
    let cta_order = machine.cta_order;
    let arrived = work.splits.len() as u64 * counted_tiles(T::DTYPE, panel, cta_order);
    DevicePlan {
        shape: ProductShape { m, k, dtype: T::DTYPE },
        kernels: kernels(T::DTYPE).into(),
        sequence: Box::new(CsrLaunches {
            problem: Problem {
                dtype: T::DTYPE,
                k: k as u64,
                items: work.counts,
                rest_entries: work.rest_entries,
                warps,
                cache: machine.cache_bytes,
                statistics,
                order,
                locality,
                cta_order,
            },
            m: m as u64,
            n_pieces: work.n_pieces,
            n_splits: work.splits.len() as u64,
            has_rows: !rows.is_empty(),
            panel,
        }),
        values: vec![ValuesPart::exact(VALUES)],
        parts: vec![
            Box::new(work.items),
            Box::new(work.splits),
            Box::new(work.split_of),
            Box::new(vec![0u32; arrived as usize]),
            Box::new(a.col_idx.clone()),
            Box::new(a.values.clone()),
            Box::new(row_ptr),
            Box::new(rows),
            Box::new(split_entries),
            Box::new(work.empty_rows),
        ],
        maps: Vec::new(),
        workspace: panel * per_column,
    }
}

/// What narrower tiles are priced by, of rows that go to warps whose tiles of B do not stay in the second-level cache.
fn locality<T: Scalar>(
    a: &Rows<'_, T>,
    order: Order,
    statistics: &Statistics,
    n: u64,
    machine: &Machine,
) -> Option<Locality> {
    let Order::Alike(wide) = order else { return None };
    let (m, k) = (a.shape.0 as u64, a.shape.1 as u64);
    let teams = wide.teams(statistics, n, T::DTYPE, resident_warps(machine.multiprocessors));
    teams.narrower(T::DTYPE).next()?;
    let sizes = (size_of::<T>() as u64, size_of::<T::Acc>() as u64);
    let tile = n.min(u64::from(teams.order(T::DTYPE).tile_columns)) * sizes.0;
    if k.saturating_mul(tile) <= held(machine) {
        return None;
    }
    Locality::new(a.pattern?, None, (a.bytes, m), sizes, machine)
}

/// Tiles of columns in a panel, which is a whole number of the smallest that there may be several of.
fn counted_tiles(dtype: DType, panel: u64, order: Option<CtaOrder>) -> u64 {
    let tile = u64::from(WARP) * 16 / dtype.size() as u64;
    panel / order.map_or(tile, |order| tile.min(u64::from(order.tile_columns)))
}

impl LaunchSequence for CsrLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.n_pieces > 0 && !self.is_scaling(operands)
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        let size = self.problem.dtype.size() as u64;
        let row_bytes = (b.cols as u64).saturating_mul(size);
        !copies::saves_time(&self.problem, row_bytes, b.load_bytes(size))
    }

    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        epilogue: &PlacedEpilogue,
        _: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        if !self.is_scaling(operands) {
            let last = self.last(operands, epilogue);
            let size_of_c = epilogue.size_of_c(self.size_of_sums());
            let layout = self.layout_of_rows(operands, true, size_of_c);
            return self.rows(at, operands, (last, size_of_c), layout, each);
        }
        let &Operands { beta, b, c, .. } = operands;
        check_alignment(self.problem.dtype, [("C", &c)])?;
        let n = b.cols as u64;
        let params = Params {
            c: c.address,
            c_row_stride: c.row_stride,
            c_col_stride: c.col_stride,
            m: self.m,
            n,
            beta: beta.re,
            last: self.last(operands, epilogue).words(0, 0),
            ..Params::default()
        };
        let grid = [element_grid(self.m.saturating_mul(n)), 1, 1];
        let (block, params) = (ELEMENT_THREADS, bytes_of(&params));
        each(&Launch { kernel: 0, entry: SCALE, grid, block, params, ..Launch::default() })
    }

    fn aggregations(
        &self,
        at: &Addresses,
        operands: &Operands,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let last = Last::SplitEntries(at.parts[SPLIT_ENTRIES]);
        let size_of_c = self.size_of_sums();
        let layout = self.layout_of_rows(operands, false, size_of_c);
        self.rows(at, operands, (last, size_of_c), layout, each)
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let layout = self.layout(operands);
        let ItemCounts { by_block, by_warp, rest, empty_rows } = self.problem.items;
        let by_block = by_block - self.n_pieces;
        let (order, why_order) = layout.order();
        let empty_rows = match empty_rows {
            0 => String::new(),
            _ => format!(", {empty_rows} without entries, which are only stored"),
        };
        let (rows, why) = match self.problem.order {
            Order::Items { .. } => (
                format!(
                    "{by_block} by a block of threads each, {by_warp} by a warp each, {rest} {}{empty_rows}",
                    layout.team_in_words()
                ),
                "by their lengths, the longest first",
            ),
            Order::Alike(_) => (
                format!("{rest} {}", layout.team_in_words()),
                "they are of much the same length, so none needs more",
            ),
            Order::Forced(_) => {
                (format!("{rest} {}", layout.team_in_words()), "the options say so")
            }
        };
        let lowering = lowering.with("tile", layout.tile_in_words(), "");
        let lowering = lowering.with("rows", rows, why);
        let lowering = order.explain(operands.b.cols as u64, why_order, lowering);
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
    /// Hands the launches to `each` that multiply rows of A, laid out so, into a C of elements of this size.
    fn rows(
        &self,
        at: &Addresses,
        operands: &Operands,
        (last, size_of_c): (Last, u64),
        layout: Layout,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let &Operands { alpha, beta, b, c } = operands;
        let n = b.cols as u64;
        let Problem { dtype, items, .. } = self.problem;
        check_alignment(dtype, [("B", &b), ("C", &c)])?;
        let (size, acc) = (dtype.size() as u64, self.size_of_sums());
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
            alpha: alpha.re,
            beta: beta.re,
            c_vector_bytes: c.vector_bytes(size_of_c, acc) as u32,
            counted_tiles: counted_tiles(dtype, self.panel, self.problem.cta_order),
            row_ptr: if self.problem.order.has_items() { 0 } else { at.parts[ROW_PTR] },
            rows: if self.has_rows { at.parts[ROWS] } else { 0 },
            turns: 1,
            panel_tiles: 1,
            empty_rows: at.parts[EMPTY_ROWS],
            n_empty_rows: items.empty_rows,
            first_empty_warp: layout.first_empty_warp(),
            ..Params::default()
        };
        let (kernel, entry) = layout.entry();
        params.team = layout.team;
        let panel = if self.n_pieces > 0 { self.panel } else { n };
        let mut first = 0;
        while first < n {
            let width = panel.min(n - first);
            params.n = width;
            params.b = b.address + first * b.col_stride * size;
            params.c = c.address + first * c.col_stride * size_of_c;
            params.last = last.words(first, acc);
            let Some(grid) = layout.grid(width, dtype) else {
                let reason = "is cut into more items than a grid has blocks".to_owned();
                return Err(CudaError::Operand { operand: "A", reason });
            };
            (params.turns, params.panel_tiles) = (grid.turns, grid.panel_tiles);
            let ((x, y), params) = (grid.blocks, bytes_of(&params));
            let (block, dynamic_shared) = (grid.threads, grid.shared);
            let grid = [x, y, 1];
            each(&Launch {
                kernel,
                entry,
                grid,
                block,
                dynamic_shared,
                params,
                ..Launch::default()
            })?;
            first += width;
        }
        Ok(())
    }

    /// What kernels of products are passed last. Complex values have no epilogue.
    fn last(&self, operands: &Operands, epilogue: &PlacedEpilogue) -> Last {
        match self.problem.dtype.is_complex() {
            true => Last::Imaginary(operands.alpha.im, operands.beta.im),
            false => Last::Epilogue(*epilogue),
        }
    }

    /// How a product whose C is not rounded is laid over lanes.
    fn layout(&self, operands: &Operands) -> Layout {
        self.layout_of_rows(operands, true, self.size_of_sums())
    }

    /// How rows are laid over lanes; warps take several only if they may. Elements of C have `size_of_c` bytes.
    fn layout_of_rows(&self, operands: &Operands, in_runs: bool, size_of_c: u64) -> Layout {
        let &Operands { b, c, .. } = operands;
        let (n, size) = (b.cols as u64, self.problem.dtype.size() as u64);
        let per_vector = 16 / self.size_of_sums();
        let c_in_vectors = c.writes_in_vectors(per_vector, size_of_c);
        Layout::new(&self.problem, n).stored(Operation {
            b_load_bytes: b.load_bytes(size),
            c_whole: in_runs && c_in_vectors && n.is_multiple_of(per_vector),
            b_row_bytes: b.row_stride.saturating_mul(size),
            c_in_vectors,
        })
    }

    /// Bytes of a sum.
    fn size_of_sums(&self) -> u64 {
        self.problem.dtype.accumulator().size() as u64
    }

    /// Whether α is zero as the kernels see it, in the accumulation type: nothing is multiplied then.
    fn is_scaling(&self, operands: &Operands) -> bool {
        let is_zero = |part: f64| match self.problem.dtype.part() {
            DType::F64 => part == 0.0,
            _ => part as f32 == 0.0,
        };
        is_zero(operands.alpha.re) && is_zero(operands.alpha.im)
    }
}

/// Refuses complex operands that begin anywhere but at a multiple of an element's size: the kernels move both parts of
/// an element at once.
fn check_alignment<const N: usize>(
    dtype: DType,
    operands: [(&'static str, &Place); N],
) -> Result<(), CudaError> {
    let size = dtype.size() as u64;
    for (operand, &Place { address, .. }) in operands {
        if dtype.is_complex() && !address.is_multiple_of(size) {
            let reason = format!(
                "elements of {dtype} lie on {size} bytes, and the first is at {address:#x}"
            );
            return Err(CudaError::Operand { operand, reason });
        }
    }
    Ok(())
}
