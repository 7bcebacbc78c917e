//! How large a task should be.

use std::fmt::{self, Display};

use girih_formats::{AnyTiling, FormatSpec, for_any_tiling};

use super::Windows;
use crate::device::DeviceKind;

/// The most that a task holds, unless a single window is more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskSize {
    /// Tiles.
    pub tiles: u64,
    /// Windows.
    pub windows: u64,
    /// Neighbouring windows that are multiplied together: a task of less than four times as many has a
    /// multiple of them, though it exceeds the size.
    pub together: u64,
}

/// What tasks are for.
struct Grain {
    /// Tasks a product is cut into, if it is large enough.
    tasks: u64,
    /// The fewest multiply-adds for which handing a task to another worker saves time (some microseconds).
    least: u64,
    /// Columns that a product with fewer counts as having, since finding a value takes time too. A quarter of
    /// the entries in a task for one column, as for 8, took up to a tenth longer on one thread of a Zen 4.
    narrow: u64,
}

impl Grain {
    /// A few tasks for each of a hundred cores, or of as many multiprocessors that each run several at once.
    ///
    /// A core multiplies rows of a task together where they share columns, so that larger ones are faster:
    /// against what a multiprocessor has, CSR gains 1.01 to 1.03 times in geomean on one and two threads of a
    /// Zen 4 and on two of a Xeon, and loses nothing on 16 (n from 8 to 512, up to 32 matrices).
    const fn of(kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Cpu => Self { tasks: 256, least: 1 << 16, narrow: 2 },
            DeviceKind::Cuda => Self { tasks: 1024, least: 1 << 15, narrow: 1 },
        }
    }
}

/// The most multiply-adds of a task (some tens of microseconds): beyond it tasks gain nothing and
/// the last one to finish is waited for.
const MAX_WORK: u64 = 1 << 20;
/// The fewest columns of A that a part of a split window covers: every part costs one more pass
/// over the window's rows of C, which this many multiply-adds per element of C outweigh.
const MIN_PART_COLS: u64 = 512;
/// The fewest rows of CSR, of average length, in a task: neighbours that share columns are multiplied
/// together, which tasks of a row or two would rule out.
const MIN_ROWS: u64 = 8;
/// Rows of CSR that a core multiplies together, if they share columns.
const ROWS_TOGETHER: u64 = 4;

impl TaskSize {
    /// A size that balances a product with `n` columns of B on many workers of a kind. It depends on
    /// nothing else of a machine, least of all the one that plans, so that plans are reproducible.
    ///
    /// The work, in multiply-adds, is a tile's stored values times `n`, or 2 if that is more on a CPU, and
    /// one pass over C for every row of a window. A task gets a 256th of it on a CPU, within 2¹⁶ to 2²⁰
    /// multiply-adds, and a 1024th on a GPU, within 2¹⁵ to 2²⁰; and at least enough tiles that a part of a
    /// split window covers 512 columns of A; of CSR at least 8 rows of average length. On a CPU a task of few rows
    /// of CSR has a multiple of four: a core multiplies these together where they share columns. A dense corner of
    /// 1500 rows among short ones was cut into tasks of two, and took 1.75 times as long.
    #[must_use]
    pub fn balanced(tiling: &AnyTiling, n: usize, kind: DeviceKind) -> Self {
        let nnz = for_any_tiling!(tiling, t => t.nnz()) as u64;
        Self::balanced_for(tiling.spec(), nnz, tiling, n, kind)
    }

    /// The same of a tiling that was only counted.
    #[must_use]
    pub fn balanced_for(
        spec: FormatSpec,
        nnz: u64,
        windows: &(impl Windows + ?Sized),
        n: usize,
        kind: DeviceKind,
    ) -> Self {
        let grain = Grain::of(kind);
        let n = (n as u64).max(grain.narrow);
        let window_rows = spec.window_rows() as u64;
        let n_tiles = windows.n_tiles();
        let (values, cols) = per_tile(spec, nnz, n_tiles);
        let rows = (windows.n_windows() as u64).saturating_mul(window_rows);
        let work = n_tiles.saturating_mul(values).saturating_add(rows).saturating_mul(n);
        let target = (work / grain.tasks).clamp(grain.least, MAX_WORK);
        let per_task = |unit: u64| target / unit.saturating_mul(n).max(1);
        let neighbours = match spec {
            FormatSpec::Csr => MIN_ROWS.saturating_mul(n_tiles / rows.max(1)),
            _ => 0,
        };
        Self {
            tiles: per_task(values).max(MIN_PART_COLS.div_ceil(cols)).max(neighbours),
            windows: per_task(window_rows).max(1),
            together: match (spec, kind) {
                (FormatSpec::Csr, DeviceKind::Cpu) => ROWS_TOGETHER,
                _ => 1,
            },
        }
    }
}

impl Display for TaskSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {} tiles or {} windows", self.tiles, self.windows)
    }
}

/// Values multiplied for a tile, on average, and columns of A it covers.
fn per_tile(spec: FormatSpec, nnz: u64, n_tiles: u64) -> (u64, u64) {
    let tile = spec.tile();
    let average = || nnz.div_ceil(n_tiles.max(1)).max(1);
    (tile.values.map_or_else(average, |values| values as u64), tile.cols as u64)
}
