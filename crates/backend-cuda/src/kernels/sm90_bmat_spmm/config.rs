//! The configurations of `sm90_bmat_spmm.cu`, and which of them a product runs.

use girih_formats::DType;
use girih_planner::kernels::KernelConfig;

use crate::error::Arch;
use crate::kernels::{Budget, Kernel};

/// Most blocks of a grid in y.
pub(super) const MAX_GRID_Y: u64 = 65535;
/// Threads of a block of the kernels that work element by element.
pub(super) const ELEMENT_THREADS: u32 = 256;
const WARP: u32 = 32;
/// Bytes of a row of B that a warp multiplies at a time.
const UNIT_BYTES: u32 = 128;
/// Entries and packed columns of a tile, at most.
const TILE_VALUES: u32 = 128;
const TILE_COLS: u32 = 8;
/// Bytes of a tile's masks and of what goes with them.
const HEADER_BYTES: u32 = 32;

/// Adds up the parts of split windows.
pub(super) const COMBINE: &str = "bmat_combine";
/// Multiplies C by β.
pub(super) const SCALE: &str = "bmat_scale";

/// How rows of B come to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gather {
    /// Each by one bulk copy.
    Rows,
    /// Element by element, whatever the strides.
    Elements,
}

/// What a block of threads is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// The entry point.
    pub(super) entry: &'static str,
    gather: Gather,
    /// Warps that multiply.
    warps: u32,
    /// Units of 128 bytes of a row of B for each of them.
    units: u32,
    /// Warps that bring what is multiplied, each as many tiles of a stage as the others.
    producers: u32,
    /// Tiles of a stage.
    tiles: u32,
    stages: u32,
    /// Blocks that one multiprocessor holds at once, which share a partition.
    pub(super) ctas: u32,
}

impl Config {
    /// Columns that a block computes at a time, at most.
    pub(super) fn columns(&self, dtype: DType) -> u64 {
        u64::from(self.row_bytes()) / dtype.size() as u64
    }

    /// Columns that a block computes at a time where there are `n`: as many in every tile, but for whole
    /// units.
    pub(super) fn tile_columns(&self, dtype: DType, n: u64) -> u32 {
        let unit = u64::from(UNIT_BYTES) / dtype.size() as u64;
        let tiles = n.div_ceil(self.columns(dtype)).max(1);
        n.div_ceil(tiles).next_multiple_of(unit).clamp(unit, self.columns(dtype)) as u32
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        (self.warps + self.producers) * WARP
    }

    /// Bytes of dynamic shared memory: stages of headers, values and rows of B, and two barriers for each.
    pub(super) fn shared_bytes(&self, dtype: DType, pattern_only: bool) -> u32 {
        // Values begin anywhere in a chunk of 16 bytes, and whole chunks are copied.
        let values = self.tiles * TILE_VALUES * dtype.size() as u32 + 16;
        let values = if pattern_only { 0 } else { values };
        // 16 bytes more to a row put rows that are read together into different banks.
        let rows = self.tiles * TILE_COLS * (self.row_bytes() + 16);
        self.stages * (self.tiles * HEADER_BYTES + values + rows + 16)
    }

    fn row_bytes(&self) -> u32 {
        self.warps * self.units * UNIT_BYTES
    }

    /// Why [`choose`] takes this for a product of `n` columns.
    pub(super) fn why(&self, dtype: DType, n: u64) -> String {
        if self.gather == Gather::Elements {
            "rows of B are not contiguous on 16 bytes".to_owned()
        } else if n <= self.columns(dtype) {
            format!("it is the narrowest that takes {n} columns at a time")
        } else {
            format!("no wider tile is there for {n} columns")
        }
    }

    /// The ring, for people.
    pub(super) fn stages_in_words(&self) -> String {
        format!("{} of {} tiles, {} rows of B", self.stages, self.tiles, self.tiles * TILE_COLS)
    }

    /// Columns × rows of a block, its stages, and blocks to a multiprocessor, for a planner.
    pub(crate) fn described(&self, dtype: DType, pattern_only: bool) -> KernelConfig {
        KernelConfig::new(self.entry)
            .block_cols(self.columns(dtype) as u32)
            .threads(self.threads())
            .stages(self.stages)
            .stage_tiles(self.tiles)
            .shared_bytes(u64::from(self.shared_bytes(dtype, pattern_only)))
            .blocks_per_worker(self.ctas)
    }

    /// The line that makes the entry point in CUDA.
    fn definition(&self, dtype: DType, pattern_only: bool) -> String {
        let gather = match self.gather {
            Gather::Rows => "Gather::kRows",
            Gather::Elements => "Gather::kElements",
        };
        let Self { entry, warps, units, producers, tiles, stages, ctas, .. } = self;
        let shared = self.shared_bytes(dtype, pattern_only);
        let sizes = [warps, units, producers, tiles, stages, ctas].map(u32::to_string).join(",");
        format!("ENTRY({entry},{shared},{gather},{sizes})")
    }
}

const NARROW: &str = "bmat_spmm_narrow";
const MIDDLE: &str = "bmat_spmm_middle";
const WIDE: &str = "bmat_spmm_wide";
const ELEMENTS: &str = "bmat_spmm_elements";

/// The configurations for a value type, the narrowest first and the one for B of any strides last.
///
/// They keep 130 to 170 KiB of B on its way to each multiprocessor. That is by reckoning: none has been
/// timed. A warp that multiplies has 64 columns of f32 or more for every tile that it decodes, as counting
/// the bits of a mask takes as long as 8 other instructions. Rows of B are 512 bytes to 2 KiB long.
const fn configs(dtype: DType) -> &'static [Config] {
    const fn config(
        entry: &'static str,
        gather: Gather,
        [warps, units, producers, tiles, stages, ctas]: [u32; 6],
    ) -> Config {
        Config { entry, gather, warps, units, producers, tiles, stages, ctas }
    }
    const SINGLE: [Config; 4] = [
        config(NARROW, Gather::Rows, [2, 2, 2, 4, 3, 3]),
        config(MIDDLE, Gather::Rows, [4, 2, 2, 4, 3, 2]),
        config(WIDE, Gather::Rows, [4, 4, 2, 2, 3, 2]),
        config(ELEMENTS, Gather::Elements, [2, 2, 2, 4, 3, 3]),
    ];
    const HALF: [Config; 3] = [
        config(NARROW, Gather::Rows, [2, 2, 2, 4, 3, 3]),
        config(WIDE, Gather::Rows, [4, 2, 2, 4, 3, 2]),
        config(ELEMENTS, Gather::Elements, [2, 2, 2, 4, 3, 3]),
    ];
    match dtype {
        DType::F32 => &SINGLE,
        _ => &HALF,
    }
}

/// Numbers of blocks that share a partition, each once.
pub(super) fn sharers(dtype: DType) -> Vec<u32> {
    let mut ctas: Vec<_> = configs(dtype).iter().map(|config| config.ctas).collect();
    ctas.sort_unstable();
    ctas.dedup();
    ctas
}

/// The configuration for a product of `n` columns, where rows of B can be copied if `in_rows`: the narrowest
/// that takes all of them at a time, else the widest.
pub(crate) fn choose(dtype: DType, n: u64, in_rows: bool) -> Config {
    let (elements, rows) = configs(dtype).split_last().expect("there are configurations");
    if !in_rows {
        return *elements;
    }
    *rows.iter().find(|config| n <= config.columns(dtype)).unwrap_or(&rows[rows.len() - 1])
}

/// The kernel for a value type, f16, bf16 or f32 (as TF32), with values or without.
pub(crate) fn kernel(dtype: DType, pattern_only: bool) -> Kernel {
    let value = match dtype {
        DType::F16 => "F16",
        DType::Bf16 => "Bf16",
        _ => "Tf32",
    };
    let configs = configs(dtype);
    let definitions = configs.iter().map(|config| config.definition(dtype, pattern_only));
    let shared = configs.iter().map(|config| config.shared_bytes(dtype, pattern_only)).max();
    let entries: &[&str] = match dtype {
        DType::F32 => &[NARROW, MIDDLE, WIDE, ELEMENTS, COMBINE, SCALE],
        _ => &[NARROW, WIDE, ELEMENTS, COMBINE, SCALE],
    };
    let instructions: &[&str] = match pattern_only {
        false => &["HMMA", "UBLKCP", "SYNCS", "POPC", "LDS.128", "LDG.E.128", "STG.E.128"],
        true => &["HMMA", "UBLKCP", "SYNCS", "LDS.128", "LDG.E.128", "STG.E.128"],
    };
    Kernel {
        stem: "sm90_bmat_spmm",
        config: format!("{dtype}{}", if pattern_only { " pattern" } else { "" }),
        source: include_str!("sm90_bmat_spmm.cu"),
        defines: vec![
            ("VALUE", value.to_owned()),
            ("PATTERN", u32::from(pattern_only).to_string()),
            ("ENTRIES", definitions.collect::<Vec<_>>().join(" ")),
        ],
        only: Some(Arch::SM_90A),
        budget: Budget {
            registers: 168,
            shared: 0,
            dynamic_shared: shared.unwrap_or(0),
            entries,
            instructions,
        },
    }
}

/// The kernels for all value types.
pub(crate) fn kernels() -> impl Iterator<Item = Kernel> {
    [DType::F16, DType::Bf16, DType::F32]
        .into_iter()
        .flat_map(|dtype| [false, true].map(|pattern_only| kernel(dtype, pattern_only)))
}

/// The grid of a kernel that goes through `elements` one by one, in turns where there are too many.
pub(super) fn element_grid(elements: u64) -> u32 {
    elements.div_ceil(u64::from(ELEMENT_THREADS)).clamp(1, 1 << 20) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a block of a multiprocessor may take, and what all of them may.
    const SHARED_OF_BLOCK: u32 = 227 << 10;
    const SHARED: u32 = 228 << 10;

    #[test]
    fn every_configuration_fits_a_multiprocessor() {
        for dtype in [DType::F16, DType::Bf16, DType::F32] {
            for config in configs(dtype) {
                let shared = config.shared_bytes(dtype, false);
                assert!(shared <= SHARED_OF_BLOCK, "{dtype} {config:?}: {shared}");
                assert!(config.ctas * (shared + 1024) <= SHARED, "{dtype} {config:?}: {shared}");
                // What is on its way: all stages but one, where latency times bandwidth is some 35 KiB.
                let rows = config.tiles * TILE_COLS * config.row_bytes();
                let ahead = (config.stages - 1) * config.ctas * rows;
                assert!(ahead >= 64 << 10, "{dtype} {config:?}: {ahead}");
            }
        }
    }

    #[test]
    fn the_narrowest_tile_that_takes_all_columns_is_chosen() {
        let of = |dtype, n| choose(dtype, n, true).entry;
        assert_eq!([1, 128, 129].map(|n| of(DType::F32, n)), [NARROW, NARROW, MIDDLE]);
        assert_eq!([256, 257, 4096].map(|n| of(DType::F32, n)), [MIDDLE, WIDE, WIDE]);
        assert_eq!([256, 257, u64::MAX].map(|n| of(DType::Bf16, n)), [NARROW, WIDE, WIDE]);
        assert_eq!(choose(DType::F16, 8, false).entry, ELEMENTS);
    }

    #[test]
    fn columns_are_shared_out_among_tiles() {
        let of = |n| choose(DType::F32, n, true).tile_columns(DType::F32, n);
        assert_eq!([1, 32, 33, 128, 200].map(of), [32, 32, 64, 128, 224]);
        assert_eq!([512, 513, 640, 1024, 1536].map(of), [512, 288, 320, 512, 512]);
        for n in 1..3000u64 {
            let config = choose(DType::F32, n, true);
            let tiles = n.div_ceil(u64::from(config.tile_columns(DType::F32, n)));
            assert_eq!(tiles, n.div_ceil(config.columns(DType::F32)), "{n} columns");
        }
    }

    #[test]
    fn every_kernel_has_its_entry_points() {
        assert_eq!(kernels().count(), 6);
        for kernel in kernels() {
            for entry in kernel.budget.entries.iter().filter(|entry| entry.contains("spmm")) {
                assert!(kernel.defines[2].1.contains(entry), "{kernel}: {entry}");
            }
        }
    }
}
