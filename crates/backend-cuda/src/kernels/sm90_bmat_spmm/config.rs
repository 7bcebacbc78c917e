//! The configurations of `sm90_bmat_spmm.cu`, and which of them a product runs.

use girih_planner::kernels::KernelConfig;

use super::arithmetic::Arithmetic;
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
    /// By 16 bytes of each lane.
    Vectors,
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
    /// Warps that share the columns of a row of B: all of them, or one where they share the rows of a window.
    across: u32,
    /// Units of 128 bytes of a row of B for each of those.
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
    pub(super) fn columns(&self, arithmetic: Arithmetic) -> u64 {
        u64::from(self.row_bytes() / arithmetic.size())
    }

    /// Columns that a block computes at a time where there are `n`: as many in every tile, but for whole
    /// units.
    pub(super) fn tile_columns(&self, arithmetic: Arithmetic, n: u64) -> u32 {
        let (unit, most) = (u64::from(UNIT_BYTES / arithmetic.size()), self.columns(arithmetic));
        let tiles = n.div_ceil(most).max(1);
        n.div_ceil(tiles).next_multiple_of(unit).clamp(unit, most) as u32
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        (self.warps + self.producers) * WARP
    }

    /// Bytes of dynamic shared memory: stages of headers, values and rows of B, and two barriers for each.
    pub(super) fn shared_bytes(&self, arithmetic: Arithmetic, pattern_only: bool) -> u32 {
        // Values begin anywhere in a chunk of 16 bytes, and whole chunks are copied.
        let values = self.tiles * TILE_VALUES * arithmetic.size() + 16;
        let values = if pattern_only { 0 } else { values };
        // 16 bytes more to a row put rows that are read together into different banks.
        let rows = self.tiles * TILE_COLS * (self.row_bytes() + 16);
        self.stages * (self.tiles * HEADER_BYTES + values + rows + 16)
    }

    fn row_bytes(&self) -> u32 {
        self.across * self.units * UNIT_BYTES
    }

    /// Why [`choose`] takes this for a product of `n` columns.
    pub(super) fn why(&self, arithmetic: Arithmetic, n: u64) -> String {
        if self.gather == Gather::Elements {
            "rows of B are not contiguous on 16 bytes".to_owned()
        } else if n <= self.columns(arithmetic) {
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
    pub(crate) fn described(&self, arithmetic: Arithmetic, pattern_only: bool) -> KernelConfig {
        KernelConfig::new(self.entry)
            .block_cols(self.columns(arithmetic) as u32)
            .threads(self.threads())
            .stages(self.stages)
            .stage_tiles(self.tiles)
            .shared_bytes(u64::from(self.shared_bytes(arithmetic, pattern_only)))
            .blocks_per_worker(self.ctas)
    }

    /// The line that makes the entry point in CUDA.
    fn definition(&self, arithmetic: Arithmetic, pattern_only: bool) -> String {
        let gather = match self.gather {
            Gather::Rows => "Gather::kRows",
            Gather::Vectors => "Gather::kVectors",
            Gather::Elements => "Gather::kElements",
        };
        let Self { entry, warps, across, units, producers, tiles, stages, ctas, .. } = self;
        let shared = self.shared_bytes(arithmetic, pattern_only);
        let sizes = [warps, across, units, producers, tiles, stages, ctas];
        let sizes = sizes.map(u32::to_string).join(",");
        format!("ENTRY({entry},{shared},{gather},{sizes})")
    }
}

const fn config(
    entry: &'static str,
    gather: Gather,
    [warps, across, units, producers, tiles, stages, ctas]: [u32; 7],
) -> Config {
    Config { entry, gather, warps, across, units, producers, tiles, stages, ctas }
}

const LEAST: &str = "bmat_spmm_least";
const SMALL: &str = "bmat_spmm_small";
const NARROW: &str = "bmat_spmm_narrow";
const MIDDLE: &str = "bmat_spmm_middle";
const WIDE: &str = "bmat_spmm_wide";
const ELEMENTS: &str = "bmat_spmm_elements";

/// The configurations for an arithmetic, the narrowest first and the one for B of any strides last.
///
/// They keep 64 to 170 KiB of B on its way to each multiprocessor. On tensor cores narrow products are faster by narrow
/// tiles, of which more blocks run at once, and wide products by wide ones (`bench/records/windows-16-bit-h100.md`). Where
/// warps take rows, as many lanes take a row as have 16 bytes of it, up to 32. Those were chosen by reckoning.
pub(super) const fn configs(arithmetic: Arithmetic) -> &'static [Config] {
    const LEAST_OF_TENSOR_CORES: Config = config(LEAST, Gather::Vectors, [1, 1, 1, 1, 4, 4, 8]);
    const SMALL_OF_TENSOR_CORES: Config = config(SMALL, Gather::Vectors, [2, 2, 1, 2, 4, 5, 4]);
    const SINGLE: [Config; 6] = [
        LEAST_OF_TENSOR_CORES,
        SMALL_OF_TENSOR_CORES,
        config(NARROW, Gather::Rows, [2, 2, 2, 2, 4, 3, 3]),
        config(MIDDLE, Gather::Rows, [4, 4, 2, 2, 4, 3, 2]),
        config(WIDE, Gather::Rows, [4, 4, 4, 2, 2, 3, 2]),
        config(ELEMENTS, Gather::Elements, [2, 2, 2, 2, 4, 3, 3]),
    ];
    // A lane has twice as many registers of A.
    const THREE: [Config; 6] = [
        LEAST_OF_TENSOR_CORES,
        SMALL_OF_TENSOR_CORES,
        config(NARROW, Gather::Rows, [2, 2, 2, 2, 4, 3, 3]),
        config(MIDDLE, Gather::Rows, [4, 4, 2, 2, 4, 3, 2]),
        config(WIDE, Gather::Rows, [8, 8, 2, 2, 4, 3, 1]),
        config(ELEMENTS, Gather::Elements, [2, 2, 2, 2, 4, 3, 3]),
    ];
    const HALF: [Config; 5] = [
        LEAST_OF_TENSOR_CORES,
        SMALL_OF_TENSOR_CORES,
        config(NARROW, Gather::Rows, [2, 2, 2, 2, 4, 3, 3]),
        config(WIDE, Gather::Rows, [4, 4, 2, 2, 4, 3, 2]),
        config(ELEMENTS, Gather::Elements, [2, 2, 2, 2, 4, 3, 3]),
    ];
    const BY_ROWS: [Config; 6] = [
        config(LEAST, Gather::Rows, [4, 1, 1, 2, 4, 5, 5]),
        config(SMALL, Gather::Rows, [4, 1, 2, 2, 4, 4, 4]),
        config(NARROW, Gather::Rows, [8, 1, 4, 1, 4, 3, 3]),
        config(MIDDLE, Gather::Rows, [4, 1, 8, 1, 2, 4, 3]),
        config(WIDE, Gather::Rows, [4, 1, 16, 2, 2, 3, 2]),
        config(ELEMENTS, Gather::Elements, [8, 1, 4, 2, 4, 4, 2]),
    ];
    match arithmetic {
        Arithmetic::F16 | Arithmetic::Bf16 => &HALF,
        Arithmetic::Tf32 => &SINGLE,
        Arithmetic::ThreeTf32 => &THREE,
        Arithmetic::F32 => &BY_ROWS,
    }
}

/// Numbers of blocks that share a partition, each once.
pub(super) fn sharers(configs: &[Config]) -> Vec<u32> {
    let mut ctas: Vec<_> = configs.iter().map(|config| config.ctas).collect();
    ctas.sort_unstable();
    ctas.dedup();
    ctas
}

/// The configuration for a product of `n` columns, where rows of B can be copied if `in_rows`: the narrowest
/// that takes all of them at a time, else the widest.
pub(crate) fn choose(arithmetic: Arithmetic, n: u64, in_rows: bool) -> Config {
    let (elements, rows) = configs(arithmetic).split_last().expect("there are configurations");
    if !in_rows {
        return *elements;
    }
    *rows.iter().find(|config| n <= config.columns(arithmetic)).unwrap_or(&rows[rows.len() - 1])
}

impl Config {
    /// A configuration of an ablation, whose warps share the columns of a row of B.
    pub(crate) const fn ablated([warps, units, producers, tiles, stages, ctas]: [u32; 6]) -> Self {
        config(MIDDLE, Gather::Rows, [warps, warps, units, producers, tiles, stages, ctas])
    }

    /// The kernel that has this configuration of an [ablation](Self::ablated) alone.
    pub(crate) fn kernel(&self, arithmetic: Arithmetic, pattern_only: bool) -> Kernel {
        let mut kernel = kernel_of(&[*self], arithmetic, pattern_only);
        kernel.budget.entries = &[MIDDLE, COMBINE, SCALE];
        kernel
    }
}

/// The kernel for an arithmetic, with values or without.
pub(crate) fn kernel(arithmetic: Arithmetic, pattern_only: bool) -> Kernel {
    kernel_of(configs(arithmetic), arithmetic, pattern_only)
}

fn kernel_of(configs: &[Config], arithmetic: Arithmetic, pattern_only: bool) -> Kernel {
    let definitions = configs.iter().map(|config| config.definition(arithmetic, pattern_only));
    let shared = configs.iter().map(|config| config.shared_bytes(arithmetic, pattern_only)).max();
    let by_vectors = configs.iter().any(|config| config.gather == Gather::Vectors);
    let (entries, instructions): (&[&str], &[&str]) = match (arithmetic, pattern_only) {
        (Arithmetic::F32, false) => (
            &[LEAST, SMALL, NARROW, MIDDLE, WIDE, ELEMENTS, COMBINE, SCALE],
            &["FFMA", "UBLKCP", "SYNCS", "POPC", "LDS.128", "LDG.E.128", "STG.E.128"],
        ),
        (Arithmetic::F32, true) => (
            &[LEAST, SMALL, NARROW, MIDDLE, WIDE, ELEMENTS, COMBINE, SCALE],
            &["FFMA", "UBLKCP", "SYNCS", "LDS.128", "LDG.E.128", "STG.E.128"],
        ),
        (Arithmetic::F16 | Arithmetic::Bf16, _) => (
            &[LEAST, SMALL, NARROW, WIDE, ELEMENTS, COMBINE, SCALE],
            of_tensor_cores(pattern_only, by_vectors),
        ),
        (Arithmetic::Tf32 | Arithmetic::ThreeTf32, _) => (
            &[LEAST, SMALL, NARROW, MIDDLE, WIDE, ELEMENTS, COMBINE, SCALE],
            of_tensor_cores(pattern_only, by_vectors),
        ),
    };
    Kernel {
        stem: "sm90_bmat_spmm",
        config: format!("{}{}", arithmetic.name(), if pattern_only { " pattern" } else { "" }),
        source: include_str!("sm90_bmat_spmm.cu"),
        defines: vec![
            ("VALUE", arithmetic.value().to_owned()),
            ("PATTERN", u32::from(pattern_only).to_string()),
            ("BY_ROWS", u32::from(arithmetic.is_by_rows()).to_string()),
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

/// Instructions of kernels on tensor cores: with the first of all where rows come by vectors, and with the last, which
/// counts bits of masks, where there are values.
fn of_tensor_cores(pattern_only: bool, by_vectors: bool) -> &'static [&'static str] {
    const ALL: &[&str] =
        &["LDGSTS", "HMMA", "UBLKCP", "SYNCS", "LDS.128", "LDG.E.128", "STG.E.128", "POPC"];
    let (first, end) = (usize::from(!by_vectors), ALL.len() - usize::from(pattern_only));
    &ALL[first..end]
}

/// The kernels for everything.
pub(crate) fn kernels() -> impl Iterator<Item = Kernel> {
    Arithmetic::ALL
        .into_iter()
        .flat_map(|arithmetic| [false, true].map(|pattern_only| kernel(arithmetic, pattern_only)))
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
        for arithmetic in Arithmetic::ALL {
            for config in configs(arithmetic) {
                let shared = config.shared_bytes(arithmetic, false);
                assert!(shared <= SHARED_OF_BLOCK, "{arithmetic:?} {config:?}: {shared}");
                assert!(config.ctas * (shared + 1024) <= SHARED, "{arithmetic:?} {config:?}");
                // What is on its way: all stages but one, where latency times bandwidth is some 35 KiB.
                let rows = config.tiles * TILE_COLS * config.row_bytes();
                let ahead = (config.stages - 1) * config.ctas * rows;
                assert!(ahead >= 64 << 10, "{arithmetic:?} {config:?}: {ahead}");
                assert!(config.ctas * config.threads() <= 2048, "{arithmetic:?} {config:?}");
            }
        }
    }

    #[test]
    fn the_narrowest_tile_that_takes_all_columns_is_chosen() {
        let of = |arithmetic, n| choose(arithmetic, n, true).entry;
        for tensor_cores in [Arithmetic::Tf32, Arithmetic::ThreeTf32] {
            assert_eq!([1, 32, 33].map(|n| of(tensor_cores, n)), [LEAST, LEAST, SMALL]);
            assert_eq!([64, 65, 128].map(|n| of(tensor_cores, n)), [SMALL, NARROW, NARROW]);
            assert_eq!(
                [129, 256, 257, 4096].map(|n| of(tensor_cores, n)),
                [MIDDLE, MIDDLE, WIDE, WIDE]
            );
        }
        assert_eq!([1, 32, 33].map(|n| of(Arithmetic::F32, n)), [LEAST, LEAST, SMALL]);
        assert_eq!([64, 65, 128].map(|n| of(Arithmetic::F32, n)), [SMALL, NARROW, NARROW]);
        assert_eq!([129, 256, 257].map(|n| of(Arithmetic::F32, n)), [MIDDLE, MIDDLE, WIDE]);
        assert_eq!([1, 64, 65].map(|n| of(Arithmetic::Bf16, n)), [LEAST, LEAST, SMALL]);
        assert_eq!([128, 129, 256].map(|n| of(Arithmetic::Bf16, n)), [SMALL, NARROW, NARROW]);
        assert_eq!([257, u64::MAX].map(|n| of(Arithmetic::Bf16, n)), [WIDE, WIDE]);
        assert_eq!(choose(Arithmetic::F16, 8, false).entry, ELEMENTS);
        assert_eq!(choose(Arithmetic::F32, 8, false).entry, ELEMENTS);
    }

    #[test]
    fn columns_are_shared_out_among_tiles() {
        let of = |n| choose(Arithmetic::Tf32, n, true).tile_columns(Arithmetic::Tf32, n);
        assert_eq!([1, 32, 33, 128, 200].map(of), [32, 32, 64, 128, 224]);
        assert_eq!([512, 513, 640, 1024, 1536].map(of), [512, 288, 320, 512, 512]);
        for arithmetic in [Arithmetic::Tf32, Arithmetic::F32] {
            for n in 1..3000u64 {
                let config = choose(arithmetic, n, true);
                let tiles = n.div_ceil(u64::from(config.tile_columns(arithmetic, n)));
                assert_eq!(tiles, n.div_ceil(config.columns(arithmetic)), "{n} columns");
            }
        }
    }

    #[test]
    fn every_kernel_has_its_entry_points() {
        assert_eq!(kernels().count(), 10);
        for kernel in kernels() {
            let (_, defined) = kernel.defines.iter().find(|(name, _)| *name == "ENTRIES").unwrap();
            for entry in kernel.budget.entries.iter().filter(|entry| entry.contains("spmm")) {
                assert!(defined.contains(&format!("ENTRY({entry},")), "{kernel}: {entry}");
            }
        }
    }
}
