//! The configurations of `sm90_two_four_spmm.cu`, and which of them a product runs.

use girih_formats::DType;
use girih_planner::kernels::KernelConfig;

use crate::error::Arch;
use crate::kernels::{Budget, Kernel};

/// Slots of a CTA.
pub(crate) const ROWS: usize = 128;
/// Columns of A in a step, of 16-bit values.
pub(crate) const DEPTH: usize = 64;
/// The same of e4m3: as many bytes.
pub(crate) const NARROW_DEPTH: usize = 128;
/// Bytes of a swizzled row of B in shared memory.
const ROW_BYTES: u32 = 128;
/// Bytes of a stage's values of A, and of its metadata: of e4m3 twice as many.
const BYTES_A: u32 = (ROWS * DEPTH) as u32;
const BYTES_METADATA: u32 = 1024;
/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;
/// Most blocks of a grid in y.
const MAX_GRID_Y: u64 = 65535;

/// Reads B by tensor copies of rows.
pub(crate) const BY_ROWS: &str = "sm90_two_four_spmm_rows";
/// Reads B by tensor copies of columns.
pub(crate) const BY_COLUMNS: &str = "sm90_two_four_spmm_columns";
/// Reads B element by element.
pub(crate) const BY_ELEMENTS: &str = "sm90_two_four_spmm_elements";

/// What the machine code must have; the last where producers hand registers over.
const INSTRUCTIONS: [&str; 6] = ["HGMMA.SP", "UTMALDG", "UBLKCP", "UTMASTG", "SYNCS", "USETMAXREG"];
/// The same of e4m3.
const NARROW_INSTRUCTIONS: [&str; 6] =
    ["QGMMA.SP", "UTMALDG", "UBLKCP", "UTMASTG", "SYNCS", "USETMAXREG"];

/// How a product is cut into CTAs, and what a CTA is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Columns of a CTA, a multiple of 64 up to 256.
    columns: u32,
    /// Stages of the ring.
    stages: u32,
    /// CTAs that one multiprocessor holds at once.
    ctas: u32,
    /// CTAs below each other that copy B together: 1, or for an ablation 2 or 4.
    cluster: u32,
    /// Threads that fill the ring.
    producers: u32,
    /// Whether metadata are loaded when the operands are there, not before: for an ablation.
    late_metadata: bool,
    /// Whether values are in e4m3, and how they are summed.
    narrow: Option<Narrow>,
}

/// How products of e4m3 are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Narrow {
    /// Two steps by tensor cores, and such sums in f32.
    InF32,
    /// All by tensor cores, which keep 14 bits: for an ablation.
    Fast,
}

/// Columns of A whose products tensor cores sum in [`Narrow::InF32`].
pub(crate) const TOGETHER: usize = 2 * NARROW_DEPTH;

/// The configurations, for f16 and bf16.
///
/// Sparse tensor cores multiply a step of 256 columns in 512 cycles, and shared memory all but keeps up. For
/// it a CTA reads 41 KiB from the second-level cache. CTAs that share B would read less, but wait for each
/// other, and are slower: `girih ablation croqtile-f16` has them. Several small CTAs on a multiprocessor hide
/// the store of C behind the products of others.
const CONFIGS: [Config; 3] = [
    Config {
        columns: 64,
        stages: 6,
        ctas: 2,
        cluster: 1,
        producers: 32,
        late_metadata: false,
        narrow: None,
    },
    Config {
        columns: 128,
        stages: 4,
        ctas: 2,
        cluster: 1,
        producers: 32,
        late_metadata: false,
        narrow: None,
    },
    Config {
        columns: 256,
        stages: 5,
        ctas: 1,
        cluster: 1,
        producers: 128,
        late_metadata: false,
        narrow: None,
    },
];

/// The configurations, for e4m3. A thread has each sum twice: in what tensor cores add to, and in f32. So there are
/// no registers for tiles of 256 columns, and one CTA with tiles of 128 takes them all.
const NARROW_CONFIGS: [Config; 2] = [
    Config {
        columns: 64,
        stages: 6,
        ctas: 2,
        cluster: 1,
        producers: 32,
        late_metadata: false,
        narrow: Some(Narrow::InF32),
    },
    Config {
        columns: 128,
        stages: 8,
        ctas: 1,
        cluster: 1,
        producers: 128,
        late_metadata: false,
        narrow: Some(Narrow::InF32),
    },
];

/// Bytes that a multiprocessor reads from the second-level cache in a cycle, when all do: 8 TB/s on an H200.
const CACHE_BYTES_PER_CYCLE: f64 = 36.0;

/// The configurations for a value type; none for f32 and f64, of which tensor cores store one value of two or
/// none.
pub(crate) fn configs(dtype: DType) -> &'static [Config] {
    match dtype {
        DType::F16 | DType::Bf16 => &CONFIGS,
        DType::F32 | DType::F64 | DType::C32 | DType::C64 => &[],
    }
}

/// The configurations for values in e4m3.
pub(crate) fn narrow_configs() -> &'static [Config] {
    &NARROW_CONFIGS
}

/// What decides between configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Tiles of [`ROWS`] slots.
    pub(crate) row_tiles: u64,
    /// Columns of B and C.
    pub(crate) n: u64,
    /// Multiprocessors of the device.
    pub(crate) multiprocessors: u32,
}

impl Config {
    /// The best of some [`configs`] where B is read by this entry point: its index.
    pub(crate) fn index(configs: &[Self], entry: &str, work: Work) -> usize {
        let candidates = configs.iter().enumerate();
        let candidates = candidates.filter(|(_, config)| config.entries().contains(&entry));
        let cycles = candidates.map(|(index, config)| (index, config.cycles(work)));
        cycles.min_by(|(_, x), (_, y)| x.total_cmp(y)).map_or(0, |(index, _)| index)
    }

    /// A configuration of an ablation: 256 columns of each of the `cluster` CTAs.
    pub(crate) const fn ablated(stages: u32, cluster: u32, late_metadata: bool) -> Self {
        let (columns, producers, narrow) = (256, WARPGROUP, None);
        Self { columns, stages, ctas: 1, cluster, producers, late_metadata, narrow }
    }

    /// A configuration of an ablation in e4m3.
    pub(crate) const fn ablated_narrow(
        (columns, stages): (u32, u32),
        late_metadata: bool,
        sums: Narrow,
    ) -> Self {
        let (cluster, producers, narrow) = (1, WARPGROUP, Some(sums));
        Self { columns, stages, ctas: 1, cluster, producers, late_metadata, narrow }
    }

    /// Whether it multiplies values in e4m3.
    pub(crate) fn is_narrow(&self) -> bool {
        self.narrow.is_some()
    }

    /// Whether tensor cores sum no more than [`TOGETHER`] columns of A in e4m3.
    pub(crate) fn sums_in_f32(&self) -> bool {
        self.narrow == Some(Narrow::InF32)
    }

    /// Columns of A in a step.
    pub(crate) fn depth(&self) -> usize {
        if self.is_narrow() { NARROW_DEPTH } else { DEPTH }
    }

    /// Bytes of a stage's metadata.
    fn bytes_metadata(&self) -> u32 {
        if self.is_narrow() { 2 * BYTES_METADATA } else { BYTES_METADATA }
    }

    /// Cycles that a step takes of all CTAs, in turns of as many as run at once: the larger of what the cache
    /// takes and what shared memory takes to give tensor cores B and A, for each 64 slots and 32 columns of A.
    fn cycles(&self, work: Work) -> f64 {
        let Work { row_tiles, n, multiprocessors, .. } = work;
        let ctas = row_tiles.saturating_mul(n.div_ceil(u64::from(self.columns)).max(1));
        let multiprocessors = u64::from(multiprocessors.max(1));
        let at_once = ctas.div_ceil(multiprocessors).clamp(1, u64::from(self.ctas));
        let turns = ctas.div_ceil(multiprocessors * at_once);
        let multiplied = f64::from(2 * self.columns + 64);
        let read = BYTES_A + self.bytes_metadata() + ROW_BYTES * self.columns;
        turns as f64 * at_once as f64 * multiplied.max(f64::from(read) / CACHE_BYTES_PER_CYCLE)
    }

    /// The entry points.
    fn entries(&self) -> &'static [&'static str] {
        match self.cluster {
            _ if self.is_narrow() => &[BY_COLUMNS],
            1 => &[BY_ROWS, BY_COLUMNS, BY_ELEMENTS],
            _ => &[BY_ROWS, BY_COLUMNS],
        }
    }

    /// Columns of a CTA.
    pub(crate) fn columns(&self) -> u32 {
        self.columns
    }

    /// CTAs of a cluster.
    pub(crate) fn cluster(&self) -> u32 {
        self.cluster
    }

    /// Threads of a CTA of this entry point.
    pub(crate) fn threads(&self, entry: &str) -> u32 {
        2 * WARPGROUP + if entry == BY_ELEMENTS { WARPGROUP } else { self.producers }
    }

    /// Bytes of dynamic shared memory: stages, their metadata and their barriers.
    pub(crate) fn shared_bytes(&self) -> u32 {
        let stages = self.stages * (BYTES_A + self.columns * ROW_BYTES);
        // Sums leave by where the stages were.
        stages.max(ROWS as u32 * self.columns * 4) + self.stages * (self.bytes_metadata() + 24)
    }

    /// The ring, for people.
    pub(crate) fn stages_in_words(&self) -> String {
        let Self { stages, cluster, .. } = self;
        let shared = match cluster {
            1 => String::new(),
            _ => format!(", copied by {cluster} blocks of threads for all of them"),
        };
        let depth = self.depth();
        format!("{stages} of {ROWS}×{depth} of A in 2:4 and {depth} rows of B{shared}")
    }

    /// Why this configuration, for people.
    pub(crate) fn why(&self) -> &'static str {
        "it takes the least by what tensor cores multiply and what the cache gives"
    }

    /// What a block of threads is made of, for a planner.
    pub(crate) fn described(&self, entry: &str) -> KernelConfig {
        KernelConfig::new(entry)
            .block_cols(self.columns)
            .threads(self.threads(entry))
            .stages(self.stages)
            // Tiles are groups of four columns of one row.
            .stage_tiles((ROWS * self.depth() / 4) as u32)
            .shared_bytes(u64::from(self.shared_bytes()))
            .blocks_per_worker(self.ctas)
            .rows_together(ROWS as u32)
    }

    /// Columns that one launch takes at most.
    pub(crate) fn max_columns(&self) -> u64 {
        MAX_GRID_Y * u64::from(self.columns)
    }

    /// The kernel for a value type that has this configuration; in e4m3 the value type does not matter.
    pub(crate) fn kernel(&self, dtype: DType) -> Kernel {
        let (value, name) = match (self.narrow, dtype) {
            (Some(_), _) => ("E4m3", "e4m3"),
            (None, DType::F16) => ("F16", dtype.name()),
            _ => ("Bf16", dtype.name()),
        };
        let Self { columns, stages, ctas, cluster, producers, late_metadata, narrow } = *self;
        let defines = [
            ("COLUMNS", columns),
            ("STAGES", stages),
            ("CTAS", ctas),
            ("CLUSTER", cluster),
            ("PRODUCERS", producers),
            ("SHARED", self.shared_bytes()),
            ("LATE_METADATA", u32::from(late_metadata)),
            ("NARROW", u32::from(narrow.is_some())),
            ("PROMOTES", u32::from(narrow == Some(Narrow::InF32))),
        ];
        let defines = defines.map(|(name, number)| (name, number.to_string()));
        let clustered = match cluster {
            1 => String::new(),
            _ => format!(" by {cluster}"),
        };
        // Producers of a warp have nothing to hand over.
        let hands_over = producers == WARPGROUP || self.entries().contains(&BY_ELEMENTS);
        let of_all = if narrow.is_some() { &NARROW_INSTRUCTIONS } else { &INSTRUCTIONS };
        Kernel {
            stem: "sm90_two_four_spmm",
            config: format!("{name} {ROWS}x{columns}{clustered}"),
            source: include_str!("sm90_two_four_spmm.cu"),
            defines: [("VALUE", value.to_owned())].into_iter().chain(defines).collect(),
            only: Some(Arch::SM_90A),
            budget: Budget {
                // One CTA of a multiprocessor has those of two.
                registers: if narrow.is_some() && ctas == 1 { 224 } else { 168 },
                shared: 0,
                dynamic_shared: self.shared_bytes(),
                entries: self.entries(),
                instructions: &of_all[..if hands_over { 6 } else { 5 }],
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(row_tiles: u64, n: u64, entry: &str) -> u32 {
        let work = Work { row_tiles, n, multiprocessors: 132 };
        CONFIGS[Config::index(&CONFIGS, entry, work)].columns
    }

    #[test]
    fn large_products_take_wide_tiles() {
        for entry in [BY_ROWS, BY_COLUMNS, BY_ELEMENTS] {
            assert_eq!(columns(32, 8192, entry), 256);
        }
        assert_eq!(columns(1, 1 << 20, BY_ROWS), 256);
    }

    #[test]
    fn small_products_take_narrow_tiles() {
        assert_eq!(columns(32, 256, BY_ROWS), 64, "all multiprocessors have work");
        assert_eq!(columns(1, 1, BY_ELEMENTS), 64);
        assert_eq!(columns(128, 128, BY_ROWS), 128);
        for n in [0, 1, u64::MAX] {
            assert!(columns(u64::MAX, n, BY_ROWS) >= 64);
        }
    }

    #[test]
    fn tiles_of_e4m3_are_chosen_too() {
        let columns = |row_tiles, n| {
            let work = Work { row_tiles, n, multiprocessors: 132 };
            NARROW_CONFIGS[Config::index(&NARROW_CONFIGS, BY_COLUMNS, work)].columns
        };
        assert_eq!((columns(32, 8192), columns(32, 256), columns(1, 1)), (128, 64, 64));
    }

    #[test]
    fn configurations_fit_a_multiprocessor() {
        for config in CONFIGS.into_iter().chain(NARROW_CONFIGS) {
            assert!(config.ctas * (config.shared_bytes() + 1024) <= 228 << 10, "{config:?}");
            assert!(config.shared_bytes() <= 227 << 10, "{config:?}");
            // Sums leave by where the stages were.
            let ring = config.stages * (BYTES_A + config.columns * ROW_BYTES);
            assert!(ROWS as u32 * config.columns * 4 <= ring, "{config:?}");
        }
    }
}
