//! The linear core of the cost model.

use serde::{Deserialize, Serialize};

/// Voltrix's cost of a product (§3.2.2, eq. 1), with what crossing a window boundary costs:
///
/// ```text
/// C = Σ over windows of tiles(w) · tile_col · D + windows · window_col · D + fixed
/// ```
///
/// D is the number of columns of C. All are in seconds of one worker; only their ratios decide how
/// work is partitioned.
///
/// ```
/// use girih_planner::cost::LinearCost;
///
/// let cost = LinearCost { tile_col: 2.0, window_col: 1.0, fixed: 5.0, tile_again: 0.0 };
/// assert_eq!(cost.total(10, 3, 4.0), 2.0 * 10.0 * 4.0 + 1.0 * 3.0 * 4.0 + 5.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearCost {
    /// Seconds per tile and column of C: Voltrix's cf₁, loading and multiplying.
    pub tile_col: f64,
    /// Seconds per window and column of C: cf₂, writing back.
    pub window_col: f64,
    /// Seconds per product: cf₃.
    pub fixed: f64,
    /// Seconds to load a tile of A once more, which every further worker on the columns of one
    /// window takes.
    pub tile_again: f64,
}

impl LinearCost {
    /// Seconds of a product with `cols` columns, by its numbers of tiles and windows.
    #[must_use]
    pub fn total(&self, tiles: u64, windows: u64, cols: f64) -> f64 {
        self.work(tiles, windows, cols) + self.fixed
    }

    /// The same without what is paid once.
    #[must_use]
    pub fn work(&self, tiles: u64, windows: u64, cols: f64) -> f64 {
        (tiles as f64 * self.tile_col + windows as f64 * self.window_col) * cols
    }
}
