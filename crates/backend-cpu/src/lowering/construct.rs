//! How decisions and their making interlock.

use super::{PanelConfig, SortConfig, SortCounts, TileConfig, TileCounts};
use crate::analyze::MatrixNumbers;

/// A matrix that makes what was decided, or only counts it.
pub(crate) trait Construct: MatrixNumbers {
    /// Copies the matrix in tiles; `None` if there is no memory for it.
    fn build_tiles(&mut self, config: &TileConfig) -> Option<TileCounts>;
    /// Copies the matrix with its rows sorted; `None` if there is no memory for it.
    fn build_sorted(&mut self, config: &SortConfig) -> Option<SortCounts>;
    /// Allocates scratch for packed panels; `false` if there is no memory for it.
    fn allocate_panels(&mut self, config: &PanelConfig) -> bool;
}
