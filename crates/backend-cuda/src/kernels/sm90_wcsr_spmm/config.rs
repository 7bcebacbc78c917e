//! What a block of `sm90_wcsr_spmm.cu` is made of.

use girih_formats::DType;
use girih_planner::kernels::KernelConfig;

/// The most rows of a window; heights are multiples of [`ROW_UNIT`].
pub(crate) const MAX_WINDOW_ROWS: usize = 64;
/// Rows of a core matrix.
pub(crate) const ROW_UNIT: usize = 8;
/// Most blocks of a grid in y.
const MAX_GRID_Y: u64 = 65535;
/// Threads of a block of the kernels that work element by element.
pub(crate) const ELEMENT_THREADS: u32 = 256;
/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;
/// Columns of B that a warpgroup multiplies at a time.
const UNIT_COLUMNS: u32 = 128;

/// Adds up the parts of split windows.
pub(crate) const COMBINE: &str = "wcsr_combine";
/// Multiplies the rows of split windows by β, for parts to be added to them, and applies the epilogue after that.
pub(crate) const SPLIT_ROWS: &str = "wcsr_split_rows";
/// Multiplies C by β.
pub(crate) const SCALE: &str = "wcsr_scale";

/// How rows of B come to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gather {
    /// Each by one bulk copy.
    Rows,
    /// By 16 bytes of each lane.
    Vectors,
    /// Element by element, whatever the strides.
    Elements,
}

/// What a block of threads is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// The entry point.
    pub(crate) entry: &'static str,
    pub(super) gather: Gather,
    /// Warpgroups that multiply.
    pub(super) warpgroups: u32,
    /// Units of 128 columns for each of them.
    pub(super) units: u32,
    /// Rows of B in a stage.
    pub(super) rows: u32,
    pub(super) stages: u32,
    /// Blocks that one multiprocessor holds at once.
    pub(super) ctas: u32,
}

/// Packed columns that one wgmma multiplies.
pub(crate) const fn step(dtype: DType) -> usize {
    32 / dtype.size()
}

/// Bytes of a step's values.
pub(crate) const fn step_bytes(window_rows: usize) -> usize {
    32 * window_rows
}

impl Config {
    /// Columns of B that a block multiplies.
    pub(crate) fn columns(&self) -> u64 {
        u64::from(self.warpgroups * self.units * UNIT_COLUMNS)
    }

    /// Whether B is gathered element by element, which takes tiles one by one.
    pub(crate) fn gathers_elements(&self) -> bool {
        self.gather == Gather::Elements
    }

    /// Columns that one launch takes at most.
    pub(crate) fn max_columns(&self) -> u64 {
        MAX_GRID_Y * self.columns()
    }

    /// Threads of a block: those that multiply, and a warpgroup that fills the ring.
    pub(crate) fn threads(&self) -> u32 {
        (self.warpgroups + 1) * WARPGROUP
    }

    /// Bytes of dynamic shared memory: stages of rows of B and of values, and two barriers for each.
    pub(crate) fn shared_bytes(&self, dtype: DType, window_rows: usize) -> u32 {
        let steps = self.rows / step(dtype) as u32;
        let values = steps * step_bytes(window_rows) as u32;
        // 32 bytes more to a row put rows that are read together into different banks.
        let rows = self.rows * (self.columns() as u32 * dtype.size() as u32 + 32);
        self.stages * (values + rows + 16)
    }

    /// The ring, for people.
    pub(crate) fn stages_in_words(&self) -> String {
        format!("{} of {} rows of B", self.stages, self.rows)
    }

    /// Columns × window rows of a block, its stages, and blocks to a multiprocessor, for a planner.
    pub(crate) fn described(&self, dtype: DType, window_rows: usize) -> KernelConfig {
        KernelConfig::new(self.entry)
            .block_cols(self.columns() as u32)
            .threads(self.threads())
            .stages(self.stages)
            .stage_tiles(self.rows / step(dtype) as u32)
            .shared_bytes(u64::from(self.shared_bytes(dtype, window_rows)))
            .blocks_per_worker(self.ctas)
    }

    /// The line that makes the entry point in CUDA.
    pub(super) fn definition(&self, dtype: DType, window_rows: usize) -> String {
        let gather = match self.gather {
            Gather::Rows => "Gather::kRows",
            Gather::Vectors => "Gather::kVectors",
            Gather::Elements => "Gather::kElements",
        };
        let Self { entry, warpgroups, units, rows, stages, ctas, .. } = self;
        let steps = rows / step(dtype) as u32;
        let shared = self.shared_bytes(dtype, window_rows);
        format!("ENTRY({entry},{shared},{gather},{warpgroups},{units},{steps},{stages},{ctas})")
    }
}

/// The grid of a kernel that goes through `elements` one by one, in turns where there are too many.
pub(crate) fn element_grid(elements: u64) -> u32 {
    elements.div_ceil(u64::from(ELEMENT_THREADS)).clamp(1, 1 << 20) as u32
}
