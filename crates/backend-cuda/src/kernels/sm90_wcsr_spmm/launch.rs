//! Plans in WCSR, for `sm90_wcsr_spmm`.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{Csr, DType, PAD_COL, Scalar};
use girih_planner::schedule::{Reduction, Task};
use half::f16;

use super::choice::{at_once, choose, of_order};
use super::config::{
    COMBINE, Config, ELEMENT_THREADS, MAX_WINDOW_ROWS, ROW_UNIT, SCALE, SPLIT_ROWS, element_grid,
    step,
};
use super::kernel::kernel;
use super::packing::{pack_columns, pack_values};
use super::params::Params;
use super::windows::Windows;
use super::work::Work;
use crate::cta_order::OF_TILES;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::locality::{Locality, held};
use crate::launch::Machine;
use crate::launch::PackedValues;
use crate::launch::panel::panel;
use crate::launch::tensor_map::MapEncoder;
use crate::launch::{Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart};
use crate::operand::Place;
use crate::{CtaOrder, CudaError};

/// The parts of the device plan.
const TASKS: usize = 0;
const SEGMENTS: usize = 1;
const SPLITS: usize = 2;
const COL_IDX: usize = 3;
const VALUES: usize = 4;
const ROWS: usize = 5;

#[derive(Debug)]
struct WcsrLaunches {
    dtype: DType,
    window_rows: usize,
    m: u64,
    n_tasks: u64,
    n_splits: u64,
    /// Parts of split windows.
    n_pieces: u64,
    /// Whether slots are not rows.
    scatters: bool,
    reduction: Reduction,
    /// Columns whose sums of parts the workspace holds at a time, if parts are kept.
    panel: u64,
    multiprocessors: u32,
    /// What prices panels of several tiles, where A does not stay in the second-level cache.
    locality: Option<Locality>,
    /// In place of what would be chosen.
    cta_order: Option<CtaOrder>,
}

/// Why there is no kernel for a tiling, if there is none.
pub(crate) fn check(dtype: DType, window_rows: usize) -> Result<(), String> {
    if dtype == DType::F64 {
        return Err("its kernels multiply f16, bf16 and f32 (as TF32), not f64".to_owned());
    }
    let fits = (ROW_UNIT..=MAX_WINDOW_ROWS).contains(&window_rows);
    if !fits || !window_rows.is_multiple_of(ROW_UNIT) {
        return Err(format!(
            "its kernels take windows of {ROW_UNIT} rows, or a multiple of that up to \
             {MAX_WINDOW_ROWS}, not {window_rows}"
        ));
    }
    Ok(())
}

/// Windows with their work, which `tasks` cut; `n` columns are expected.
pub(crate) fn device_plan<T: Scalar>(
    a: &Windows<'_, T>,
    (tasks, reduction): (&[Task], Reduction),
    n: usize,
    machine: Machine,
) -> DevicePlan {
    let (m, k) = a.shape;
    let work = Work::new(
        &a.window_ptr,
        a.window_col_idx,
        (a.window_rows, a.pad_cols),
        (step(T::DTYPE), at_once((T::DTYPE, a.window_rows), machine.multiprocessors)),
        tasks,
    );
    let col_idx = pack_columns(a, &work);
    let values = pack_values(a, &work);
    // Sums of a part: those of all rows of a window.
    let kept = match reduction {
        Reduction::TwoPass => u64::from(work.n_pieces),
        Reduction::Atomic => 0,
    };
    let per_column = kept * (a.window_rows * size_of::<f32>()) as u64;
    let panel = panel(per_column, n as u64, a.bytes);
    let work_bytes = (values.len() + col_idx.len()) as u64 * 4;
    let packed = PackedValues::for_tensor_cores(T::DTYPE);
    DevicePlan {
        shape: ProductShape { m, k, dtype: T::DTYPE },
        kernels: vec![kernel(T::DTYPE, a.window_rows)],
        sequence: Box::new(WcsrLaunches {
            dtype: T::DTYPE,
            window_rows: a.window_rows,
            m: m as u64,
            n_tasks: work.tasks.len() as u64,
            n_splits: work.splits.len() as u64,
            n_pieces: u64::from(work.n_pieces),
            scatters: !a.rows.is_empty(),
            reduction,
            panel,
            multiprocessors: machine.multiprocessors,
            locality: locality(a, work_bytes, n as u64, &machine),
            cta_order: machine.cta_order,
        }),
        values: vec![ValuesPart { part: VALUES, packed }],
        parts: vec![
            Box::new(work.tasks),
            Box::new(work.segments),
            Box::new(work.splits),
            Box::new(col_idx),
            Box::new(values),
            Box::new(a.rows.clone()),
        ],
        maps: Vec::new(),
        workspace: panel * per_column,
    }
}

/// What panels are priced by, of windows that do not stay in the second-level cache and more columns than the widest
/// tile has.
fn locality<T: Scalar>(
    a: &Windows<'_, T>,
    a_bytes: u64,
    n: u64,
    machine: &Machine,
) -> Option<Locality> {
    let widest =
        choose((T::DTYPE, a.window_rows), (u64::MAX, u64::MAX), true, machine.multiprocessors);
    if a_bytes <= held(machine) || n <= widest.columns() {
        return None;
    }
    // Packed columns without their padding, as rows of a matrix.
    let col_idx = a.window_col_idx.iter().copied().filter(|&col| col != PAD_COL);
    let col_idx: Vec<u32> = col_idx.collect();
    let columns = |bounds: &[u64]| {
        let of_window = &a.window_col_idx[bounds[0] as usize..bounds[1] as usize];
        of_window.partition_point(|&col| col != PAD_COL) as u64
    };
    let ends = a.window_ptr.windows(2).map(columns).scan(0, |end, more| {
        *end += more;
        Some(*end)
    });
    let row_ptr: Vec<u64> = std::iter::once(0).chain(ends).collect();
    let (windows, gathered) = (row_ptr.len() - 1, col_idx.len() as u64);
    let values = vec![f16::ZERO; col_idx.len()];
    let pattern = Csr::try_new(windows, a.shape.1, row_ptr, col_idx, values).ok()?;
    let (m, sizes) = (a.shape.0 as u64, (size_of::<T>() as u64, size_of::<f32>() as u64));
    Locality::new(pattern.pattern(), Some(gathered), (a_bytes, m), sizes, machine)
}

/// Bytes of a sum.
const SIZE_OF_SUMS: u64 = size_of::<f32>() as u64;

impl LaunchSequence for WcsrLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.panel > 0 && operands.alpha.re as f32 != 0.0
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        b.reads_in_vectors(16 / self.dtype.size() as u64)
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
        let (n, size) = (b.cols as u64, self.dtype.size() as u64);
        let is_atomic = self.reduction == Reduction::Atomic;
        let size_of_c = epilogue.size_of_c(SIZE_OF_SUMS);
        let mut params = Params {
            tasks: at.parts[TASKS],
            segments: at.parts[SEGMENTS],
            splits: at.parts[SPLITS],
            col_idx: at.parts[COL_IDX],
            values: at.parts[VALUES],
            rows: if self.scatters { at.parts[ROWS] } else { 0 },
            b: b.address,
            c: c.address,
            partials: at.workspace,
            m: self.m,
            n,
            b_row_stride: b.row_stride,
            b_col_stride: b.col_stride,
            c_row_stride: c.row_stride,
            c_col_stride: c.col_stride,
            partial_stride: self.panel,
            n_splits: self.n_splits,
            alpha: alpha as f32,
            beta: beta as f32,
            c_in_vectors: u32::from(c.writes_in_vectors(4, size_of_c)),
            atomic: u32::from(is_atomic),
            panel_tiles: 1,
            n_tiles: 0,
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
        let config = self.config(&b);
        let threads = config.threads();
        let shared = config.shared_bytes(self.dtype, self.window_rows);
        let most = config.max_columns();
        let most = if self.panel > 0 { most.min(self.panel) } else { most };
        let most = match self.cta_order {
            Some(order) if u64::from(order.tile_columns) < config.columns() => {
                u64::from(order.tile_columns)
            }
            _ => most,
        };
        let mut first = 0;
        while first < n {
            let width = most.min(n - first);
            params.n = width;
            params.b = b.address + first * b.col_stride * size;
            params.c = c.address + first * c.col_stride * size_of_c;
            params.epilogue = epilogue.columns(first, SIZE_OF_SUMS);
            let groups = self.n_splits * self.window_rows as u64 * width.div_ceil(4);
            let of_splits = [element_grid(groups), 1, 1];
            if self.n_splits > 0 && is_atomic {
                let begun = Params { epilogue: PlacedEpilogue::default(), ..params };
                launch(SPLIT_ROWS, of_splits, ELEMENT_THREADS, 0, &begun)?;
            }
            let (order, _) = self.order(&config, width);
            params.panel_tiles = order.panel_tiles;
            params.n_tiles = order.tiles(width) as u32;
            let blocks = self.n_tasks as u32 * order.panel_tiles;
            let grid = [blocks, order.panels(width) as u32, 1];
            launch(config.entry, grid, threads, shared, &params)?;
            if self.n_splits > 0 && !is_atomic {
                launch(COMBINE, of_splits, ELEMENT_THREADS, 0, &params)?;
            } else if self.n_splits > 0 && !epilogue.is_none() {
                let added = Params { beta: 1.0, ..params };
                launch(SPLIT_ROWS, of_splits, ELEMENT_THREADS, 0, &added)?;
            }
            first += width;
        }
        Ok(())
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let config = self.config(&operands.b);
        let of = (self.dtype, self.window_rows);
        let n = operands.b.cols as u64;
        let work = (self.n_tasks, n);
        let shape = format!("{} rows × {} columns", self.window_rows, config.columns());
        let why = config.why(of, work, self.multiprocessors);
        let lowering = lowering.with("tile", shape, why);
        let (order, why) = self.order(&config, n);
        let lowering =
            order.explain(n, why, lowering).with("stages", config.stages_in_words(), "").with(
                "tasks",
                self.n_tasks.to_string(),
                "small windows share one if more than run at once",
            );
        if self.n_splits == 0 {
            return lowering.with("reduction", "none", "no window is split");
        }
        let split = format!("{} cut into {} parts", self.n_splits, self.n_pieces);
        lowering.with("split windows", split, "the schedule cuts them").with(
            "reduction",
            self.reduction.name(),
            match self.reduction {
                Reduction::TwoPass => "parts are kept and added in order, so C has the same bits",
                Reduction::Atomic => "the schedule allows parts to be added in any order",
            },
        )
    }
}

impl WcsrLaunches {
    /// In which order CTAs of a configuration go through windows and `n` columns, and why.
    fn order(&self, config: &Config, n: u64) -> (CtaOrder, &'static str) {
        let by_tiles = CtaOrder::by_tiles(config.columns() as u32);
        if config.gathers_elements() {
            return (by_tiles, "elements of B are collected one by one, and so are tiles");
        }
        let of_tiles = |panel_tiles| CtaOrder { panel_tiles, ..by_tiles };
        // As many blocks as a grid has in x.
        let most = by_tiles.tiles(n).min(i32::MAX as u64 / self.n_tasks.max(1)).max(1) as u32;
        if let Some(forced) = self.cta_order {
            return (of_tiles(forced.panel_tiles.min(most)), "the options say so");
        }
        let several = [2, most].into_iter().filter(|&panel| 1 < panel && panel <= most);
        let better = |it: Locality| it.better(by_tiles, several.map(of_tiles), n);
        match self.locality.and_then(better) {
            Some(order) => {
                (order, "reading A again would cost more than what a wider panel of B misses")
            }
            None => (by_tiles, OF_TILES),
        }
    }

    /// What a product of this B runs.
    fn config(&self, b: &Place) -> Config {
        let in_rows = b.reads_in_vectors(16 / self.dtype.size() as u64);
        let of = (self.dtype, self.window_rows);
        if in_rows && let Some(config) = self.cta_order.and_then(|order| of_order(of, order)) {
            return config;
        }
        choose(of, (self.n_tasks, b.cols as u64), in_rows, self.multiprocessors)
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{RowLayout, Wcsr};
    use girih_generate::{banded, uniform};

    use super::*;

    /// The order of blocks for 1024 columns, two or four of the widest tiles, and the grid.
    fn order(a: &Csr<f32>, window_rows: usize) -> (String, String) {
        // Half of the cache is a megabyte: less than either A, and half of a tile of 1000 rows.
        let machine = Machine {
            multiprocessors: 1,
            cache_bytes: 1 << 21,
            memory_bandwidth: 28,
            cache_bandwidth: 68,
            csr_layout: None,
            cta_order: None,
            copies_b: false,
        };
        let layout = RowLayout::natural(a.nrows(), window_rows).unwrap();
        let a = Wcsr::from_csr(a, layout, 8).unwrap();
        let plan = device_plan(&Windows::of(&a), (&[], Reduction::TwoPass), 1024, machine);
        let lowering = plan.describe(Lowering::new("cuda", "an H100", 1024));
        let said = |what| lowering.choice(what).unwrap().to_owned();
        (said(crate::cta_order::ORDER), said("launch"))
    }

    #[test]
    fn windows_that_outgrow_the_cache_are_read_once_if_b_allows() {
        // Windows of 64 rows of a narrow band: 84 packed columns of 256 bytes, and B is used again at once.
        let (said, launch) = order(&banded(4096, 4096, 10, 10, 1).unwrap(), 64);
        assert!(said.contains("all 2 tiles of columns"), "{said}");
        assert!(launch.contains(" 128×1 blocks"), "{launch}");
        // Rows in no order would miss more of B.
        let (said, launch) = order(&uniform(4096, 1000, 6, 1).unwrap(), 16);
        assert!(said.contains("all rows for each of 4 tiles"), "{said}");
        assert!(launch.contains("×4 blocks"), "{launch}");
    }
}
