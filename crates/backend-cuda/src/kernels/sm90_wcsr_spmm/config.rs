//! What a block of `sm90_wcsr_spmm.cu` is made of, and the kernel of all its configurations.

use girih_formats::DType;
use girih_planner::kernels::KernelConfig;

use super::choice::{Configs, ELEMENTS, MIDDLE, NARROW, WIDE};
use crate::error::Arch;
use crate::kernels::{Budget, Kernel};

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
    fn definition(&self, dtype: DType, window_rows: usize) -> String {
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

/// The kernel for a value type, f16, bf16 or f32 (as TF32), and a height of windows, a multiple of
/// [`ROW_UNIT`] up to [`MAX_WINDOW_ROWS`].
pub(crate) fn kernel(dtype: DType, window_rows: usize) -> Kernel {
    let value = match dtype {
        DType::F16 => "F16",
        DType::Bf16 => "Bf16",
        _ => "Tf32",
    };
    let configs = Configs::of(dtype, window_rows);
    let definitions = configs.all().map(|config| config.definition(dtype, window_rows));
    let dynamic_shared = configs.all().map(|config| config.shared_bytes(dtype, window_rows)).max();
    let entries: &[&str] = match configs.middle {
        Some(_) => &[NARROW, MIDDLE, WIDE, ELEMENTS, COMBINE, SPLIT_ROWS, SCALE],
        None => &[NARROW, WIDE, ELEMENTS, COMBINE, SPLIT_ROWS, SCALE],
    };
    let instructions: &[&str] = match dtype {
        DType::F32 => &["HGMMA", "UBLKCP", "SYNCS", "USETMAXREG", "LDS.128", "STG.E.128"],
        _ => &["HGMMA", "UBLKCP", "LDGSTS", "SYNCS", "USETMAXREG", "LDS.64", "STG.E.128"],
    };
    Kernel {
        stem: "sm90_wcsr_spmm",
        config: format!("{dtype} {window_rows}"),
        source: include_str!("sm90_wcsr_spmm.cu"),
        defines: vec![
            ("VALUE", value.to_owned()),
            ("WINDOW_ROWS", window_rows.to_string()),
            ("ENTRIES", definitions.collect::<Vec<_>>().join(" ")),
        ],
        only: Some(Arch::SM_90A),
        budget: Budget {
            registers: 168,
            shared: 0,
            dynamic_shared: dynamic_shared.unwrap_or(0),
            entries,
            instructions,
        },
    }
}

/// The kernels for all value types and heights.
pub(crate) fn kernels() -> impl Iterator<Item = Kernel> {
    let heights = (ROW_UNIT..=MAX_WINDOW_ROWS).step_by(ROW_UNIT);
    heights.flat_map(|height| [DType::F16, DType::Bf16, DType::F32].map(|d| kernel(d, height)))
}

/// The grid of a kernel that goes through `elements` one by one, in turns where there are too many.
pub(crate) fn element_grid(elements: u64) -> u32 {
    elements.div_ceil(u64::from(ELEMENT_THREADS)).clamp(1, 1 << 20) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a block of a multiprocessor may take, and what all of them may.
    const SHARED_OF_BLOCK: u32 = 227 << 10;
    const SHARED: u32 = 228 << 10;
    const REGISTERS: u32 = 65536;

    fn all() -> impl Iterator<Item = (DType, usize, Config)> {
        let heights = (8..=64).step_by(8);
        heights.flat_map(|height| {
            [DType::F16, DType::F32].into_iter().flat_map(move |dtype| {
                let all: Vec<_> = Configs::of(dtype, height).all().copied().collect();
                all.into_iter().map(move |config| (dtype, height, config))
            })
        })
    }

    #[test]
    fn every_configuration_fits_a_multiprocessor() {
        for (dtype, height, config) in all() {
            let shared = config.shared_bytes(dtype, height);
            assert!(shared <= SHARED_OF_BLOCK, "{dtype} {height} {config:?}: {shared}");
            assert!(
                config.ctas * (shared + 1024) <= SHARED,
                "{dtype} {height} {config:?}: {shared}"
            );
            let registers = REGISTERS / (config.threads() * config.ctas) / 8 * 8;
            assert!(registers >= 64, "{config:?}: {registers}");
            // Two sets of fragments take turns, and lanes hold the columns of several stages.
            assert!((config.rows as usize).is_multiple_of(2 * step(dtype)) && config.rows <= 64);
        }
    }

    #[test]
    fn every_kernel_has_its_entry_points() {
        assert_eq!(kernels().count(), 24);
        for kernel in kernels() {
            for entry in kernel.budget.entries.iter().filter(|entry| entry.contains("spmm")) {
                assert!(kernel.defines[2].1.contains(entry), "{kernel}: {entry}");
            }
        }
    }
}
