//! The result as one line of units, and what lies between two places on it.

use crate::cost::LinearCost;
use crate::schedule::Windows;

/// Columns of C between two places where windows may be cut: those of one tensor-core step (Voltrix
/// §3.2.1).
pub const COLUMN_UNIT: u32 = 16;

/// Windows × columns, flattened, with costs as prefix sums over the windows.
pub(super) struct Flat {
    /// Units of a window.
    pub(super) units: u64,
    /// Columns of C; the last unit may be narrower than the others.
    cols: u32,
    /// Cost of all windows before each.
    before: Vec<f64>,
    /// Cost of a column of each window.
    rate: Vec<f64>,
    /// Cost of loading each window's tiles once more.
    again: Vec<f64>,
}

impl Flat {
    pub(super) fn new(windows: &(impl Windows + ?Sized), cols: u32, cost: &LinearCost) -> Self {
        let n_windows = windows.n_windows();
        let mut before = Vec::with_capacity(n_windows + 1);
        let (mut rate, mut again) = (Vec::with_capacity(n_windows), Vec::with_capacity(n_windows));
        let mut sum = 0.0;
        before.push(sum);
        for w in 0..n_windows {
            let tiles = windows.tiles(w);
            rate.push(cost.work(tiles, 1, 1.0));
            again.push(tiles as f64 * cost.tile_again);
            sum += rate[w] * f64::from(cols);
            before.push(sum);
        }
        Self { units: u64::from(cols.div_ceil(COLUMN_UNIT)), cols, before, rate, again }
    }

    /// The last place: units of all windows.
    pub(super) fn end(&self) -> u64 {
        self.units * self.rate.len() as u64
    }

    /// Cost of everything.
    pub(super) fn total(&self) -> f64 {
        self.before[self.rate.len()]
    }

    /// Cost of the dearest unit: no partition can be less than the one that has it.
    pub(super) fn dearest_unit(&self) -> f64 {
        let widest = f64::from(self.cols.min(COLUMN_UNIT));
        self.rate.iter().fold(0.0, |most: f64, &rate| most.max(rate * widest))
    }

    /// Cost of everything before `at`.
    pub(super) fn before(&self, at: u64) -> f64 {
        let (window, unit) = ((at / self.units) as usize, at % self.units);
        match unit {
            0 => self.before[window],
            _ => self.before[window] + self.rate[window] * self.cols_before(unit),
        }
    }

    /// Columns of a window before one of its units.
    fn cols_before(&self, unit: u64) -> f64 {
        (unit * u64::from(COLUMN_UNIT)).min(u64::from(self.cols)) as f64
    }

    /// The last place, not before `from`, with at most `cost` before it. O(log windows).
    pub(super) fn reach(&self, from: u64, cost: f64) -> u64 {
        let windows = self.before.partition_point(|&before| before <= cost);
        // Windows that cost nothing are reached too.
        let Some(window) = windows.checked_sub(1) else { return from };
        if window >= self.rate.len() {
            return self.end();
        }
        let (mut low, mut high) = (0, self.units);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.before(window as u64 * self.units + middle) <= cost {
                low = middle;
            } else {
                high = middle;
            }
        }
        from.max(window as u64 * self.units + low)
    }

    /// Cost of loading the tiles of the window that `at` cuts once more; 0 at a boundary.
    pub(super) fn crossing(&self, at: u64) -> f64 {
        match at % self.units {
            0 => 0.0,
            _ => self.again[(at / self.units) as usize],
        }
    }

    /// `at`, or the boundary of a window if that is within D/8 (Algorithm 1, lines 4–10).
    pub(super) fn snapped(&self, at: u64) -> u64 {
        let unit = at % self.units;
        let col = self.cols_before(unit) * 8.0;
        let cols = f64::from(self.cols);
        if col < cols {
            at - unit
        } else if col > 7.0 * cols {
            at - unit + self.units
        } else {
            at
        }
    }

    /// `at`, or the boundary before it if that is within D/8.
    pub(super) fn snapped_back(&self, at: u64) -> u64 {
        self.snapped(at).min(at)
    }
}
