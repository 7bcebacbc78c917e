//! Which configurations there are for a value type and a height of windows, and which a product runs.

use girih_formats::DType;

use super::config::{Config, Gather};
use crate::CtaOrder;

pub(super) const NARROW: &str = "wcsr_spmm_narrow";
pub(super) const MIDDLE: &str = "wcsr_spmm_middle";
pub(super) const WIDE: &str = "wcsr_spmm_wide";
pub(super) const ELEMENTS: &str = "wcsr_spmm_elements";

/// The configurations for a value type and a height of windows.
pub(super) struct Configs {
    narrow: Config,
    /// Where a narrow tile is a quarter of a wide one.
    pub(super) middle: Option<Config>,
    wide: Config,
    /// Reads B element by element.
    elements: Config,
    /// Columns up to which narrow tiles are faster than wider ones, however many blocks that makes.
    narrow_to: u64,
}

impl Configs {
    /// They were chosen by measuring (`bench/records/windows-16-bit-h100.md`). Low windows leave registers and shared
    /// memory for more blocks. A bulk copy takes as long for 256 bytes as for 512, so rows of 256 bytes come by vectors.
    /// Longer rows come faster by bulk copies.
    pub(super) fn of(dtype: DType, window_rows: usize) -> Self {
        use Gather::{Elements, Rows, Vectors};
        // How rows of B come, warpgroups and their units; rows in a stage, stages, and blocks.
        let (narrow, middle, wide) = match (dtype, window_rows) {
            (DType::F32, 33..) => (
                ((Rows, 1, 1), (32, 4, 2)),
                Some(((Rows, 1, 2), (16, 5, 2))),
                ((Rows, 2, 2), (32, 3, 1)),
            ),
            (DType::F32, _) => (((Rows, 1, 1), (32, 3, 3)), None, ((Rows, 1, 2), (16, 4, 3))),
            (_, 33..) => (((Vectors, 1, 1), (32, 4, 3)), None, ((Rows, 1, 2), (32, 5, 2))),
            (_, 17..) => (((Vectors, 1, 1), (32, 4, 4)), None, ((Rows, 1, 2), (32, 3, 3))),
            _ => (((Vectors, 1, 1), (32, 4, 4)), None, ((Rows, 1, 2), (32, 3, 4))),
        };
        // Tiles that read B element by element have 512 bytes of its rows in every type.
        let most = if dtype == DType::F32 { 32 } else { 24 };
        let elements = (
            (Elements, 1, 4 / dtype.size() as u32),
            if window_rows > most { (32, 4, 2) } else { (32, 3, 3) },
        );
        // Columns up to which narrow tiles were faster.
        let narrow_to = match (dtype, window_rows) {
            (DType::F32, _) | (_, ..=16) => 128,
            (_, 17..) => 256,
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

    pub(super) fn all(&self) -> impl Iterator<Item = &Config> {
        [Some(&self.narrow), self.middle.as_ref(), Some(&self.wide), Some(&self.elements)]
            .into_iter()
            .flatten()
    }
}

impl Config {
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
}

/// Blocks of the narrowest tiles that run at once on this number of multiprocessors.
pub(crate) fn at_once((dtype, window_rows): (DType, usize), multiprocessors: u32) -> u64 {
    let Configs { narrow, .. } = Configs::of(dtype, window_rows);
    u64::from(multiprocessors) * u64::from(narrow.ctas)
}

/// The configuration for a product of `tasks` tasks and `n` columns, where rows of B can be copied if `in_rows`.
///
/// Narrow tiles take as many columns as they are faster for. More columns have the narrowest tiles whose blocks all run
/// at once on the device, or else the widest.
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(of(DType::Bf16, 5000, 257), WIDE);
        assert_eq!(of(DType::Bf16, u64::MAX, u64::MAX), WIDE);
        let of = |height, tasks, n| choose((DType::F16, height), (tasks, n), true, 132).entry;
        assert_eq!((of(16, 5000, 128), of(16, 5000, 129)), (NARROW, WIDE));
        assert_eq!((of(16, 264, 256), of(16, 265, 256)), (NARROW, WIDE));
        assert_eq!((of(32, 5000, 256), of(32, 5000, 257)), (NARROW, WIDE));
        assert_eq!(choose((DType::F32, 8), (1, 1), false, 132).entry, ELEMENTS);
    }
}
