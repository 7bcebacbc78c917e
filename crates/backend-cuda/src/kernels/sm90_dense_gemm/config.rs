//! The configurations of `sm90_dense_gemm.cu`: those that products run, and the ladder up to them.

use std::fmt;

use girih_formats::DType;
use girih_planner::kernels::KernelConfig;

use crate::error::Arch;
use crate::kernels::sm90_bcsr_spmm::{BLOCK, ROW_BYTES};
use crate::kernels::{Budget, Kernel};

/// Reads B by tensor copies of rows.
pub(crate) const ROWS: &str = "sm90_dense_gemm_rows";
/// Reads B by tensor copies of columns.
pub(crate) const COLUMNS: &str = "sm90_dense_gemm_columns";
/// Reads B element by element.
pub(crate) const ELEMENTS: &str = "sm90_dense_gemm_elements";

/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;
/// Warps of a consumer.
const WARPS: u32 = 4;
/// Rows and columns of what a warp writes of C at a time.
pub(crate) const PATCH: [u32; 2] = [16, 32];
/// Tiles of a warp's patches in shared memory.
const PATCHES: u32 = 2;
/// Most shared memory of a block.
#[cfg(test)]
const MOST_SHARED: u32 = 227 << 10;

/// How a dense product is cut into tiles, who computes them, and in which order.
///
/// One table holds those that products run, another one the [ladder](Self::ladder), whose rungs each add
/// one thing to the rung before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DenseConfig {
    /// Rows of a tile of C.
    pub(crate) rows: u32,
    /// Columns of a tile.
    pub(crate) columns: u32,
    /// Warpgroups that multiply it.
    pub(crate) consumers: u32,
    /// Stages of the ring. With one, copies and products take turns.
    pub(crate) stages: u32,
    /// CTAs that share what they copy of B.
    pub(crate) cluster: u32,
    /// CTAs that one multiprocessor holds at once.
    pub(crate) ctas: u32,
    /// Tiles below each other, a cluster's counted once, that are walked through before the next beside
    /// them; with 1, C is computed row by row of tiles.
    pub(crate) walk: u32,
    /// Whether CTAs take one tile after the other, as many CTAs as there is space for.
    pub(crate) persistent: bool,
    /// Whether C is written by tensor copies, which nobody waits for, where they can write it.
    pub(crate) async_stores: bool,
}

/// A rung of the [ladder](DenseConfig::ladder).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// What it adds to the rung before.
    pub adds: &'static str,
    /// The configuration.
    pub config: DenseConfig,
}

/// The configurations for f16 and bf16. The first is for large products, the others give small ones more CTAs.
///
/// Measured on an H100 beside cuBLASLt: the first reached 1.03 to 1.09 of it at 4096³ and 8192³ in bf16 and
/// f16. Clusters that share what they copy of B, and stores that do not wait, gained nothing over it.
const CONFIGS: [DenseConfig; 3] = [
    LARGE,
    DenseConfig { columns: 128, stages: 6, async_stores: true, ..LARGE },
    DenseConfig { columns: 64, stages: 3, ctas: 2, async_stores: true, ..LARGE },
];

/// The configurations for f32, multiplied as TF32: a consumer has 128 columns.
const TF32_CONFIGS: [DenseConfig; 2] = [
    LARGE,
    DenseConfig { columns: 128, consumers: 1, stages: 3, ctas: 2, async_stores: true, ..LARGE },
];

pub(super) const LARGE: DenseConfig = DenseConfig {
    rows: 128,
    columns: 256,
    consumers: 2,
    stages: 4,
    cluster: 1,
    ctas: 1,
    walk: 16,
    persistent: true,
    async_stores: false,
};

/// The first rung: 64×64, one consumer, one stage, and nothing else.
const FIRST: DenseConfig = DenseConfig {
    rows: 64,
    columns: 64,
    consumers: 1,
    stages: 1,
    cluster: 1,
    ctas: 2,
    walk: 1,
    persistent: false,
    async_stores: false,
};

/// The rungs for f16 and bf16 that have other tiles than the last.
const WIDE: DenseConfig = DenseConfig { columns: 256, ctas: 1, ..FIRST };
const RING: DenseConfig = DenseConfig { stages: 4, ..WIDE };
/// The same for TF32.
const TF32_FIRST: DenseConfig = DenseConfig { columns: 128, ..FIRST };
const TF32_WIDE: DenseConfig = DenseConfig { rows: 128, ctas: 1, ..TF32_FIRST };
const TF32_RING: DenseConfig = DenseConfig { stages: 6, ..TF32_WIDE };
/// The rungs that both have.
const TWO: DenseConfig = DenseConfig { walk: 1, persistent: false, ..LARGE };
const PERSISTENT: DenseConfig = DenseConfig { persistent: true, ..TWO };
const CLUSTER: DenseConfig = DenseConfig { cluster: 2, walk: 8, ..LARGE };
const STORES: DenseConfig = DenseConfig { async_stores: true, ..CLUSTER };

/// The configurations for a value type; none for f64.
pub(crate) fn configs(dtype: DType) -> &'static [DenseConfig] {
    match dtype {
        DType::F16 | DType::Bf16 => &CONFIGS,
        DType::F32 => &TF32_CONFIGS,
        DType::F64 | DType::C32 | DType::C64 => &[],
    }
}

impl DenseConfig {
    /// The ladder of "WGMMA & warp specialization" for a value type, from tensor cores that wait for each
    /// copy to what large products run, and two rungs beyond that; empty for f64.
    ///
    /// ```
    /// use girih_backend_cuda::DenseConfig;
    /// use girih_formats::DType;
    ///
    /// let ladder = DenseConfig::ladder(DType::Bf16);
    /// let large = DenseConfig::products(DType::Bf16)[0];
    /// assert!(ladder.iter().any(|rung| rung.config == large));
    /// ```
    #[must_use]
    pub fn ladder(dtype: DType) -> Vec<Rung> {
        let (first, wide, ring) = match dtype {
            DType::F16 | DType::Bf16 => (FIRST, WIDE, RING),
            DType::F32 => (TF32_FIRST, TF32_WIDE, TF32_RING),
            DType::F64 | DType::C32 | DType::C64 => return Vec::new(),
        };
        let rung = |adds, config| Rung { adds, config };
        vec![
            rung("tensor cores, which wait for each copy", first),
            rung("larger tiles", wide),
            rung("a ring of stages, so that copies and products overlap", ring),
            rung("two consumers for a tile twice as large, with the producer's registers", TWO),
            rung("persistent CTAs, so that the ring is filled while C is written", PERSISTENT),
            rung("an order of tiles that the second-level cache serves", LARGE),
            rung("clusters of two that share what they copy of B", CLUSTER),
            rung("asynchronous stores of C", STORES),
        ]
    }

    /// The configurations that products of a value type may run, large ones the first.
    #[must_use]
    pub fn products(dtype: DType) -> &'static [Self] {
        configs(dtype)
    }

    /// The entry points: clusters share copies, so that none reads elements.
    pub(crate) fn entries(&self) -> &'static [&'static str] {
        if self.cluster == 1 { &[ROWS, COLUMNS, ELEMENTS] } else { &[ROWS, COLUMNS] }
    }

    /// Threads of a CTA: the consumers' and the producer's.
    pub(crate) fn threads(&self) -> u32 {
        (self.consumers + 1) * WARPGROUP
    }

    /// Bytes of dynamic shared memory: the stages, what is on its way out, and the barriers.
    pub(crate) fn shared_bytes(&self) -> u32 {
        let patch = PATCH[0] * PATCH[1] * 4;
        self.stages * ((self.rows + self.columns) * ROW_BYTES + 16)
            + self.consumers * WARPS * PATCHES * patch
    }

    /// Rows of C that a cluster has at a time.
    pub(crate) fn cluster_rows(&self) -> u32 {
        self.rows * self.cluster
    }

    /// What a block of threads is made of, for a planner.
    pub(crate) fn described(&self, entry: &str) -> KernelConfig {
        KernelConfig::new(entry)
            .block_cols(self.columns)
            .threads(self.threads())
            .stages(self.stages)
            .stage_tiles(self.rows / BLOCK as u32)
            .shared_bytes(u64::from(self.shared_bytes()))
            .blocks_per_worker(self.ctas)
            .rows_together(self.cluster_rows())
    }

    /// The kernel for a value type that has this configuration.
    pub(crate) fn kernel(&self, dtype: DType) -> Kernel {
        let value = match dtype {
            DType::F16 => "F16",
            DType::Bf16 => "Bf16",
            DType::F32 | DType::F64 | DType::C32 | DType::C64 => "Tf32",
        };
        let &Self { rows, columns, consumers, stages, cluster, ctas, .. } = self;
        let defines = [
            ("ROWS", rows),
            ("COLUMNS", columns),
            ("CONSUMERS", consumers),
            ("STAGES", stages),
            ("CLUSTER", cluster),
            ("CTAS", ctas),
            ("SHARED", self.shared_bytes()),
        ];
        let defines = defines.map(|(name, number)| (name, number.to_string()));
        Kernel {
            stem: "sm90_dense_gemm",
            config: format!("{dtype} {rows}x{columns} stages {stages} cluster {cluster}"),
            source: include_str!("sm90_dense_gemm.cu"),
            defines: [("VALUE", value.to_owned())].into_iter().chain(defines).collect(),
            only: Some(Arch::SM_90A),
            budget: Budget {
                registers: if self.hands_over() { 168 } else { 255 },
                shared: 0,
                dynamic_shared: self.shared_bytes(),
                entries: self.entries(),
                instructions: match (cluster, self.hands_over()) {
                    (1, false) => &["HGMMA", "UTMALDG.2D", "UTMASTG.2D", "SYNCS"],
                    (1, true) => &["HGMMA", "UTMALDG.2D", "UTMASTG.2D", "SYNCS", "USETMAXREG"],
                    _ => &[
                        "HGMMA",
                        "UTMALDG.2D",
                        "UTMALDG.2D.MULTICAST",
                        "UTMASTG.2D",
                        "SYNCS",
                        "USETMAXREG",
                        "UCGABAR_ARV",
                    ],
                },
            },
        }
    }

    /// Whether the producer hands registers to the consumers: where there are fewer than a thread can have.
    fn hands_over(&self) -> bool {
        65536 / (self.ctas * self.threads()) / 8 * 8 <= 240
    }
}

impl fmt::Display for DenseConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, consumers, stages, cluster, walk, .. } = self;
        write!(
            f,
            "{rows}×{columns}, {consumers} consumers, {stages} stages, clusters of {cluster}, "
        )?;
        let persistent = if self.persistent { "persistent" } else { "a CTA for each tile" };
        let stores = if self.async_stores { "asynchronous" } else { "plain" };
        write!(f, "{persistent}, {walk} tiles down at a time, {stores} stores")
    }
}

/// The kernels of the ladder that no product runs otherwise.
pub(crate) fn ladder_kernels() -> Vec<Kernel> {
    let mut found: Vec<Kernel> = Vec::new();
    for dtype in DType::REAL {
        for Rung { config, .. } in DenseConfig::ladder(dtype) {
            let kernel = config.kernel(dtype);
            let of_products = configs(dtype).iter().any(|config| config.kernel(dtype) == kernel);
            if !of_products && !found.contains(&kernel) {
                found.push(kernel);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> impl Iterator<Item = (DType, DenseConfig)> {
        DType::REAL.into_iter().flat_map(|dtype| {
            let rungs = DenseConfig::ladder(dtype).into_iter().map(|rung| rung.config);
            let all = configs(dtype).iter().copied().chain(rungs);
            all.map(move |config| (dtype, config))
        })
    }

    #[test]
    fn configurations_fit_a_multiprocessor() {
        for (_, config) in tables() {
            assert!(config.shared_bytes() <= MOST_SHARED, "{config:?}");
            assert!(config.ctas * (config.shared_bytes() + 1024) <= 228 << 10, "{config:?}");
            assert!(config.ctas * config.threads() <= 2048, "{config:?}");
        }
    }

    #[test]
    fn a_name_is_one_kernel() {
        let all: Vec<Kernel> = tables().map(|(dtype, config)| config.kernel(dtype)).collect();
        for (x, y) in all.iter().flat_map(|x| all.iter().map(move |y| (x, y))) {
            assert_eq!(x.config == y.config, x == y, "{x}");
        }
    }

    #[test]
    fn a_rung_changes_one_thing() {
        for dtype in [DType::F16, DType::F32] {
            let ladder = DenseConfig::ladder(dtype);
            for rungs in ladder.windows(2) {
                let (x, y) = (rungs[0].config, rungs[1].config);
                let changed = [
                    (x.rows, x.columns, x.consumers) != (y.rows, y.columns, y.consumers),
                    x.stages != y.stages,
                    x.persistent != y.persistent,
                    // The walk is as high with clusters: 2048 rows.
                    x.walk * x.cluster != y.walk * y.cluster,
                    x.cluster != y.cluster,
                    x.async_stores != y.async_stores,
                ];
                // The tile of TF32 that has a longer ring is half as large as the next.
                let stages = usize::from(changed[0] && changed[1]);
                let n = changed.iter().filter(|&&changed| changed).count() - stages;
                assert_eq!(n, 1, "{}", rungs[1].adds);
            }
            assert_eq!(ladder[ladder.len() - 3].config, configs(dtype)[0]);
        }
        assert!(DenseConfig::ladder(DType::F64).is_empty());
    }

    #[test]
    fn only_kernels_of_rungs_are_the_ladders_own() {
        let own = ladder_kernels();
        let names: Vec<_> = own.iter().map(|kernel| &kernel.config).collect();
        assert_eq!(own.len(), 12, "{names:?}");
        assert!(own.iter().all(|kernel| !crate::kernels::all().contains(kernel)));
    }
}
