//! The configurations of `sm90_bcsr_spmm.cu`, and which of them a product runs.

use girih_formats::DType;
use girih_planner::kernels::KernelConfig;

use super::params::GROUP_ROWS;
use crate::error::Arch;
use crate::kernels::{Budget, Kernel};

/// Rows and columns of a block.
pub(crate) const BLOCK: usize = 64;
/// Bytes of a swizzled row in shared memory.
pub(crate) const ROW_BYTES: u32 = 128;
/// Bytes of a block in a stage, or of half a block of f32.
const BLOCK_BYTES: u32 = BLOCK as u32 * ROW_BYTES;
/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;
/// Most blocks of a grid in y.
pub(super) const MAX_GRID_Y: u64 = 65535;
/// What the machine code must have; the last where producers hand registers over.
const INSTRUCTIONS: [&str; 5] = ["HGMMA", "UTMALDG", "UTMASTG", "SYNCS", "USETMAXREG"];

/// Reads B by tensor copies of rows.
pub(crate) const ROWS: &str = "sm90_bcsr_spmm_rows";
/// Reads B by tensor copies of columns.
pub(crate) const COLUMNS: &str = "sm90_bcsr_spmm_columns";
/// Reads B element by element.
pub(crate) const ELEMENTS: &str = "sm90_bcsr_spmm_elements";

/// How a product is cut into CTAs, and what a CTA is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Block rows of a CTA.
    rows: u32,
    /// Warpgroups that share a block row.
    split: u32,
    /// Columns of each, a multiple of 64.
    columns: u32,
    /// Stages of the ring.
    stages: u32,
    /// CTAs that one multiprocessor holds at once.
    ctas: u32,
    /// Threads that fill the ring.
    producers: u32,
    /// What an ablation changes.
    switches: &'static [Switch],
}

/// What an ablation takes from the kernel or adds to it: `ablation.cuh`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    /// B is read element by element, by threads, whatever its layout.
    Elements,
    /// There are no producers: a thread of those that multiply copies.
    Alone,
    /// Every thread gives a stage back.
    AllArrive,
    /// Sums are cleared before the first product.
    Clears,
    /// Two CTAs beside each other share what they copy of A.
    SharesA,
    /// CTAs take one item after the other.
    Persistent,
}

impl Switch {
    /// The macro that it defines, if it is one of the source's.
    fn define(self) -> Option<(&'static str, u32)> {
        match self {
            Self::Elements => None,
            Self::Alone => Some(("ALONE", 1)),
            Self::AllArrive => Some(("ALL_ARRIVE", 1)),
            Self::Clears => Some(("CLEARS", 1)),
            Self::SharesA => Some(("SHARES_A", 2)),
            Self::Persistent => Some(("PERSISTENT", 1)),
        }
    }
}

/// The configurations for f16 and bf16. The first two take block rows one by one, the last three at a time.
///
/// What bounds all of them is the second-level cache, which reads some 9 TB/s on an H200: blocks of A,
/// tiles of B, and C twice, on its way in and out. Several small CTAs on a multiprocessor hide the store
/// of C behind the products of others. Three block rows that share columns read less of B, but leave space
/// for one CTA only.
const CONFIGS: [Config; 3] = [
    Config { rows: 1, split: 1, columns: 64, stages: 4, ctas: 3, producers: 32, switches: &[] },
    Config { rows: 1, split: 1, columns: 128, stages: 3, ctas: 3, producers: 32, switches: &[] },
    Config {
        rows: GROUP_ROWS as u32,
        split: 1,
        columns: 256,
        stages: 4,
        ctas: 1,
        producers: 128,
        switches: &[],
    },
];

/// The configuration for f32, multiplied as TF32.
const TF32_CONFIGS: [Config; 1] =
    [Config { rows: 1, split: 1, columns: 128, stages: 3, ctas: 3, producers: 32, switches: &[] }];

/// The configurations for a value type; none for f64.
pub(crate) fn configs(dtype: DType) -> &'static [Config] {
    match dtype {
        DType::F16 | DType::Bf16 => &CONFIGS,
        DType::F32 => &TF32_CONFIGS,
        DType::F64 | DType::C32 | DType::C64 => &[],
    }
}

/// The last configuration is taken if it reads at most this part of what the others would: measured on an H200,
/// between 0.71, where it wins, and 0.76, where it loses.
const DISCOUNT: f64 = 0.73;

/// What decides between configurations, of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Blocks of A.
    pub(crate) blocks: u64,
    /// Steps of all groups of [`GROUP_ROWS`] block rows, if they are short enough of `blocks`.
    pub(crate) grouped_steps: Option<u64>,
}

impl Config {
    /// The best of [`configs`] for `n` columns, B read by this entry point: its index.
    ///
    /// What all CTAs read decides: a block of A for each tile of columns, and a tile of B for each step.
    pub(crate) fn index(dtype: DType, n: u64, entry: &str, load: Load) -> usize {
        let read = |config: &Config| {
            let steps = if config.rows == 1 { Some(load.blocks) } else { load.grouped_steps };
            let (block, tile) = (BLOCK as f64, f64::from(config.tile()));
            let bytes = load.blocks.max(1) as f64 * block + steps?.max(1) as f64 * tile;
            let discount = if config.rows == 1 { 1.0 } else { DISCOUNT };
            Some(n.div_ceil(u64::from(config.tile())) as f64 * bytes / discount)
        };
        let candidates = configs(dtype).iter().enumerate().filter_map(|(index, config)| {
            let has = config.entries().contains(&entry);
            Some((index, read(config).filter(|_| has)?))
        });
        candidates.min_by(|(_, x), (_, y)| x.total_cmp(y)).map_or(0, |(index, _)| index)
    }

    /// A configuration of an ablation: `split` warpgroups of as many columns.
    pub(crate) const fn ablated(
        [split, columns, stages, ctas, producers]: [u32; 5],
        switches: &'static [Switch],
    ) -> Self {
        Self { rows: 1, split, columns, stages, ctas, producers, switches }
    }

    /// The entry points.
    fn entries(&self) -> &'static [&'static str] {
        let is_single = |switch: &Switch| {
            matches!(switch, Switch::Elements | Switch::AllArrive | Switch::Clears)
        };
        match self.rows == 1 && self.switches.iter().all(is_single) {
            true => &[ROWS, COLUMNS, ELEMENTS],
            false => &[ROWS, COLUMNS],
        }
    }

    /// Whether an ablation changes this.
    pub(crate) fn has(&self, switch: Switch) -> bool {
        self.switches.contains(&switch)
    }

    /// CTAs beside each other that share A.
    pub(crate) fn cluster(&self) -> u32 {
        if self.has(Switch::SharesA) { 2 } else { 1 }
    }

    /// CTAs that one multiprocessor holds at once.
    pub(crate) fn ctas(&self) -> u32 {
        self.ctas
    }

    /// Rows of a CTA.
    pub(crate) fn height(&self) -> u32 {
        self.rows * BLOCK as u32
    }

    /// Columns of a CTA.
    pub(crate) fn tile(&self) -> u32 {
        self.split * self.columns
    }

    /// Whether a CTA takes [`GROUP_ROWS`] block rows.
    pub(crate) fn groups_rows(&self) -> bool {
        self.rows > 1
    }

    /// Threads of a CTA of this entry point.
    pub(crate) fn threads(&self, entry: &str) -> u32 {
        let producers = if entry == ELEMENTS { WARPGROUP } else { self.producers };
        self.rows * self.split * WARPGROUP + producers
    }

    /// Bytes of dynamic shared memory: stages, their barriers, and which rows have a block in them.
    pub(crate) fn shared_bytes(&self) -> u32 {
        let stages = self.stages * (self.rows * BLOCK_BYTES + self.tile() * ROW_BYTES);
        // Sums leave by where the stages were.
        let sums = if self.has(Switch::Persistent) { 0 } else { self.height() * self.tile() * 4 };
        stages.max(sums) + self.stages * (16 + 4)
    }

    /// The ring, for people.
    pub(crate) fn stages_in_words(&self) -> String {
        let blocks =
            if self.rows == 1 { "a block".to_owned() } else { format!("{} blocks", self.rows) };
        format!("{} of {blocks} of A and {BLOCK} rows of B", self.stages)
    }

    /// What a block of threads is made of, for a planner.
    pub(crate) fn described(&self, entry: &str) -> KernelConfig {
        KernelConfig::new(entry)
            .block_cols(self.tile())
            .threads(self.threads(entry))
            .stages(self.stages)
            .stage_tiles(1)
            .shared_bytes(u64::from(self.shared_bytes()))
            .blocks_per_worker(self.ctas)
    }

    /// Columns that one launch takes at most.
    pub(crate) fn max_columns(&self) -> u64 {
        MAX_GRID_Y * u64::from(self.tile())
    }

    /// The kernel for a value type that has this configuration.
    pub(crate) fn kernel(&self, dtype: DType) -> Kernel {
        let value = match dtype {
            DType::F16 => "F16",
            DType::Bf16 => "Bf16",
            DType::F32 | DType::F64 | DType::C32 | DType::C64 => "Tf32",
        };
        let Self { rows, split, columns, stages, ctas, producers, switches } = *self;
        let ablated = switches.iter().filter_map(|switch| switch.define());
        let defines = [
            ("ROWS", rows),
            ("SPLIT", split),
            ("COLUMNS", columns),
            ("STAGES", stages),
            ("CTAS", ctas),
            ("PRODUCERS", producers),
            ("SHARED", self.shared_bytes()),
        ];
        let defines = defines.into_iter().chain(ablated);
        let defines = defines.map(|(name, number)| (name, number.to_string()));
        let hands_over = producers == WARPGROUP || self.entries().contains(&ELEMENTS);
        Kernel {
            stem: "sm90_bcsr_spmm",
            config: format!("{dtype} {}x{}", rows * BLOCK as u32, self.tile()),
            source: include_str!("sm90_bcsr_spmm.cu"),
            defines: [("VALUE", value.to_owned())].into_iter().chain(defines).collect(),
            only: Some(Arch::SM_90A),
            budget: Budget {
                registers: 240,
                shared: 0,
                dynamic_shared: self.shared_bytes(),
                entries: self.entries(),
                instructions: match (self.has(Switch::Persistent), hands_over) {
                    (true, _) => &["HGMMA", "UTMALDG", "SYNCS"],
                    (false, true) => &INSTRUCTIONS,
                    (false, false) => &INSTRUCTIONS[..4],
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_products_take_wide_tiles() {
        let load = Load { blocks: 1000, grouped_steps: None };
        let tile = |n| CONFIGS[Config::index(DType::Bf16, n, ROWS, load)].tile();
        assert_eq!(
            [1, 64, 65, 128, 192, 256, u64::MAX].map(tile),
            [64, 64, 128, 128, 64, 128, 128]
        );
    }

    #[test]
    fn rows_that_share_columns_are_taken_together() {
        let rows = |n, entry, grouped_steps| {
            let load = Load { blocks: 1000, grouped_steps };
            CONFIGS[Config::index(DType::Bf16, n, entry, load)].rows
        };
        assert_eq!(rows(1024, ROWS, Some(700)), 3);
        assert_eq!(rows(1024, COLUMNS, Some(700)), 3);
        assert_eq!(rows(1024, ROWS, Some(900)), 1);
        assert_eq!(rows(128, ROWS, Some(700)), 1, "half of the tile would be empty");
        assert_eq!(rows(1024, ELEMENTS, Some(700)), 1);
        assert_eq!(rows(1024, ROWS, None), 1);
    }

    #[test]
    fn configurations_fit_a_multiprocessor() {
        for config in CONFIGS.into_iter().chain(TF32_CONFIGS) {
            assert!(config.ctas * (config.shared_bytes() + 1024) <= 228 << 10, "{config:?}");
            for entry in config.entries() {
                assert!(config.threads(entry) <= 1024);
            }
            // Sums leave by where the stages were, and take no more.
            let sums = BLOCK as u32 * config.rows * config.tile() * 4;
            assert!(
                sums <= config.stages * (config.rows * BLOCK_BYTES + config.tile() * ROW_BYTES)
            );
        }
    }
}
