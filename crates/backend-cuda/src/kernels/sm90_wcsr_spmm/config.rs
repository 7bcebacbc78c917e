//! The configurations of `sm90_wcsr_spmm.cu`, and which of them a product runs.

use girih_formats::DType;
use girih_planner::kernels::KernelConfig;

use crate::CtaOrder;
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
    pub(crate) entry: &'static str,
    gather: Gather,
    /// Warpgroups that multiply.
    warpgroups: u32,
    /// Units of 128 columns for each of them.
    units: u32,
    /// Rows of B in a stage.
    rows: u32,
    stages: u32,
    /// Blocks that one multiprocessor holds at once.
    ctas: u32,
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

    /// Why [`choose`] takes this for a product of `tasks` tasks and `n` columns.
    pub(crate) fn why(
        &self,
        (dtype, window_rows): (DType, usize),
        (tasks, n): (u64, u64),
        multiprocessors: u32,
    ) -> String {
        let Configs { narrow, narrow_to, .. } = Configs::of(dtype, window_rows);
        let blocks = tasks.saturating_mul(n.div_ceil(self.columns()));
        let at_once = u64::from(multiprocessors) * u64::from(self.ctas);
        if self.gathers_elements() {
            "rows of B are not contiguous on 16 bytes".to_owned()
        } else if n <= self.columns() {
            format!("it is the narrowest that takes {n} columns at a time")
        } else if self.entry == NARROW && n <= narrow_to {
            format!("narrow tiles are faster for up to {narrow_to} columns of windows so high")
        } else if blocks <= at_once {
            format!("it is the narrowest whose {blocks} blocks run at once")
        } else {
            let blocks = tasks.saturating_mul(n.div_ceil(narrow.columns()));
            format!("narrow tiles would be {blocks} blocks, more than run at once")
        }
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

const NARROW: &str = "wcsr_spmm_narrow";
const MIDDLE: &str = "wcsr_spmm_middle";
const WIDE: &str = "wcsr_spmm_wide";
const ELEMENTS: &str = "wcsr_spmm_elements";

/// The configurations for a value type and a height of windows.
struct Configs {
    narrow: Config,
    /// Where a narrow tile is a quarter of a wide one.
    middle: Option<Config>,
    wide: Config,
    /// Reads B element by element.
    elements: Config,
    /// Columns up to which narrow tiles are faster than wider ones, in any number.
    narrow_to: u64,
}

impl Configs {
    /// They were chosen by measuring. The lower windows are, the more registers and shared memory are left for more
    /// blocks. Rows of 256 bytes come faster by vectors, since a bulk copy takes as long for them as for 512; longer rows
    /// come faster by bulk copies. (See `bench/records/windows-16-bit-h100.md`.)
    fn of(dtype: DType, window_rows: usize) -> Self {
        use Gather::{Elements, Rows, Vectors};
        // How rows of B come, warpgroups and their units; rows in a stage, stages, and blocks.
        let (narrow, middle, wide) = match (dtype, window_rows) {
            (DType::F32, 33..) => (
                ((Rows, 1, 1), (32, 4, 2)),
                Some(((Rows, 1, 2), (16, 5, 2))),
                ((Rows, 2, 2), (32, 3, 1)),
            ),
            (DType::F32, 17..) => (
                ((Rows, 1, 1), (32, 3, 3)),
                Some(((Rows, 1, 2), (32, 3, 2))),
                ((Rows, 2, 2), (32, 3, 1)),
            ),
            (DType::F32, _) => (((Rows, 1, 1), (32, 3, 3)), None, ((Rows, 1, 2), (16, 4, 3))),
            (_, 33..) => (((Vectors, 1, 1), (32, 4, 3)), None, ((Rows, 1, 2), (32, 5, 2))),
            (_, 17..) => (((Vectors, 1, 1), (32, 4, 4)), None, ((Rows, 1, 2), (32, 5, 2))),
            _ => (((Vectors, 1, 1), (32, 4, 4)), None, ((Rows, 1, 2), (32, 3, 3))),
        };
        // Rows of 512 bytes, whatever the type.
        let most = if dtype == DType::F32 { 32 } else { 24 };
        let elements = (
            (Elements, 1, 4 / dtype.size() as u32),
            if window_rows > most { (32, 4, 2) } else { (32, 3, 3) },
        );
        // Where a narrow tile leaves registers for more blocks at once.
        let narrow_to = match (dtype, window_rows) {
            (DType::F32, _) | (_, ..=16) => 128,
            (_, 17..=32) => 1024,
            (_, 33..) => 256,
        };
        let of = |entry, ((gather, warpgroups, units), (rows, stages, ctas))| Config {
            entry,
            gather,
            warpgroups,
            units,
            rows,
            stages,
            ctas,
        };
        Self {
            narrow: of(NARROW, narrow),
            middle: middle.map(|config| of(MIDDLE, config)),
            wide: of(WIDE, wide),
            elements: of(ELEMENTS, elements),
            narrow_to,
        }
    }

    fn all(&self) -> impl Iterator<Item = &Config> {
        [Some(&self.narrow), self.middle.as_ref(), Some(&self.wide), Some(&self.elements)]
            .into_iter()
            .flatten()
    }
}

/// The configuration for a product of `tasks` tasks and `n` columns, where rows of B can be copied if
/// `in_rows`: the narrowest whose blocks all run at once on the device, else the widest.
pub(crate) fn choose(
    (dtype, window_rows): (DType, usize),
    (tasks, n): (u64, u64),
    in_rows: bool,
    multiprocessors: u32,
) -> Config {
    let Configs { narrow, middle, wide, elements, narrow_to } = Configs::of(dtype, window_rows);
    if !in_rows {
        return elements;
    }
    let is_enough = |config: &Config| {
        let blocks = tasks.saturating_mul(n.div_ceil(config.columns()));
        n <= config.columns() || blocks <= u64::from(multiprocessors * config.ctas)
    };
    if n <= narrow_to {
        return narrow;
    }
    [Some(narrow), middle].into_iter().flatten().find(is_enough).unwrap_or(wide)
}

/// The configuration whose tiles an order has, and that reads rows of B whole: the narrowest also for half of its tiles,
/// of which it then multiplies as much more.
pub(crate) fn of_order((dtype, window_rows): (DType, usize), order: CtaOrder) -> Option<Config> {
    let Configs { narrow, middle, wide, .. } = Configs::of(dtype, window_rows);
    let columns = u64::from(order.tile_columns);
    if 2 * columns == narrow.columns() {
        return Some(narrow);
    }
    let all = [Some(narrow), middle, Some(wide)].into_iter().flatten();
    all.into_iter().find(|config| config.columns() == columns)
}

/// Whether there are tiles of as many columns.
pub(crate) fn has_tiles_of(of: (DType, usize), columns: u32) -> bool {
    of_order(of, CtaOrder::by_tiles(columns)).is_some()
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
    fn small_products_take_narrow_tiles_and_large_ones_wide() {
        let of = |dtype, tasks, n| choose((dtype, 64), (tasks, n), true, 132).entry;
        assert_eq!(of(DType::F32, 32, 1024), NARROW);
        assert_eq!(of(DType::F32, 60, 1024), MIDDLE);
        assert_eq!(of(DType::F32, 500, 1024), WIDE);
        assert_eq!(of(DType::F32, 5000, 128), NARROW);
        assert_eq!(of(DType::F32, 5000, 129), MIDDLE);
        assert_eq!(of(DType::F32, 5000, 257), WIDE);
        assert_eq!(of(DType::Bf16, 5000, 256), NARROW);
        assert_eq!(of(DType::Bf16, u64::MAX, u64::MAX), WIDE);
        assert_eq!(choose((DType::F32, 8), (1, 1), false, 132).entry, ELEMENTS);
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
