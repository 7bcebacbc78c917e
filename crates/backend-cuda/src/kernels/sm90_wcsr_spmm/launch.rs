//! Plans in WCSR, for `sm90_wcsr_spmm`.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{DType, Scalar};
use girih_planner::schedule::{Reduction, Task};

use super::config::{
    COMBINE, Config, ELEMENT_THREADS, MAX_WINDOW_ROWS, ROW_UNIT, SCALE, SPLIT_ROWS, choose,
    element_grid, kernel, step,
};
use super::packing::{pack_columns, pack_values};
use super::params::Params;
use super::windows::Windows;
use super::work::Work;
use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::operand::Place;
use crate::prepared::launch::{
    Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart,
};
use crate::prepared::panel::panel;
use crate::prepared::tensor_map::MapEncoder;

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
    multiprocessors: u32,
) -> DevicePlan {
    let (m, k) = a.shape;
    let work = Work::new(
        &a.window_ptr,
        a.window_col_idx,
        (a.window_rows, a.pad_cols),
        step(T::DTYPE),
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
            multiprocessors,
        }),
        values: vec![ValuesPart::exact(VALUES)],
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

impl LaunchSequence for WcsrLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.panel > 0 && operands.alpha.re as f32 != 0.0
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
            c_in_vectors: u32::from(c.writes_in_vectors(4)),
            atomic: u32::from(is_atomic),
            epilogue: *epilogue,
        };
        let mut launch = |entry: &str, grid, block, dynamic_shared, params: &Params| {
            let params = bytes_of(params);
            each(&Launch { kernel: 0, entry, grid, block, cluster: 1, dynamic_shared, params })
        };
        if params.alpha == 0.0 {
            let grid = [element_grid(self.m.saturating_mul(n)), 1, 1];
            return launch(SCALE, grid, ELEMENT_THREADS, 0, &params);
        }
        let config = self.config(&b);
        let threads = config.threads();
        let shared = config.shared_bytes(self.dtype, self.window_rows);
        let most = config.max_columns(self.dtype);
        let most = if self.panel > 0 { most.min(self.panel) } else { most };
        let mut first = 0;
        while first < n {
            let width = most.min(n - first);
            params.n = width;
            params.b = b.address + first * b.col_stride * size;
            params.c = c.address + first * c.col_stride * size_of::<f32>() as u64;
            params.epilogue = epilogue.columns(first, size_of::<f32>() as u64);
            let groups = self.n_splits * self.window_rows as u64 * width.div_ceil(4);
            let of_splits = [element_grid(groups), 1, 1];
            if self.n_splits > 0 && is_atomic {
                let begun = Params { epilogue: PlacedEpilogue::default(), ..params };
                launch(SPLIT_ROWS, of_splits, ELEMENT_THREADS, 0, &begun)?;
            }
            let tiles = width.div_ceil(config.columns(self.dtype));
            let grid = [self.n_tasks as u32, tiles as u32, 1];
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
        let work = (self.n_tasks, operands.b.cols as u64);
        let shape = format!("{} rows × {} columns", self.window_rows, config.columns(self.dtype));
        let why = config.why(of, work, self.multiprocessors);
        let lowering = lowering
            .with("tile", shape, why)
            .with("stages", config.stages_in_words(), "")
            .with("tasks", self.n_tasks.to_string(), "small windows share a block of threads");
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
    /// What a product of this B runs.
    fn config(&self, b: &Place) -> Config {
        let in_rows = b.reads_in_vectors(16 / self.dtype.size() as u64);
        let of = (self.dtype, self.window_rows);
        choose(of, (self.n_tasks, b.cols as u64), in_rows, self.multiprocessors)
    }
}
