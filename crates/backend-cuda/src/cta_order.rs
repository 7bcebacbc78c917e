//! In which order CTAs go through rows of A and columns of C.

use std::fmt;

use girih_backend::Lowering;

/// What of a lowering says the order.
pub(crate) const ORDER: &str = "order of blocks";

/// Why a panel has one tile.
pub(crate) const OF_TILES: &str =
    "a tile of B stays in the second-level cache longer than whole rows of it";

/// All rows are multiplied by a panel of columns before the next, and what is in a panel lies side by side: of a
/// block of rows, CTAs take one tile of columns after the other.
///
/// While a panel is multiplied, its columns of B are what the second-level cache is to hold; A is read again for
/// every panel. So a panel of one tile keeps the least of B, and one of all tiles reads A once.
///
/// [`CudaOptions::cta_order`](crate::CudaOptions::cta_order) takes one in place of the backend's own choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CtaOrder {
    /// Columns of C that a CTA multiplies at a time.
    pub tile_columns: u32,
    /// Tiles of a panel, at least 1.
    pub panel_tiles: u32,
}

impl CtaOrder {
    /// All rows for one tile of columns, then the next tile.
    #[must_use]
    pub const fn by_tiles(tile_columns: u32) -> Self {
        Self { tile_columns, panel_tiles: 1 }
    }

    /// Tiles that `n` columns are cut into.
    #[must_use]
    pub fn tiles(&self, n: u64) -> u64 {
        n.div_ceil(u64::from(self.tile_columns.max(1)))
    }

    /// Passes over all rows that `n` columns take, hence how often A is read.
    #[must_use]
    pub fn panels(&self, n: u64) -> u64 {
        self.tiles(n).div_ceil(u64::from(self.panel_tiles.max(1)))
    }

    /// Adds the order for `n` columns to a lowering, and why it is that.
    pub(crate) fn explain(&self, n: u64, why: &'static str, lowering: Lowering) -> Lowering {
        let why = if self.tiles(n) <= 1 { "there is one tile of columns" } else { why };
        lowering.with(ORDER, self.in_words(n), why)
    }

    /// The order for `n` columns, for people.
    pub(crate) fn in_words(&self, n: u64) -> String {
        let (tiles, panels) = (self.tiles(n), self.panels(n));
        match (tiles, panels) {
            (0 | 1, _) => "rows".to_owned(),
            (_, 1) => format!("all {tiles} tiles of columns for each block of rows"),
            _ if self.panel_tiles <= 1 => {
                format!("all rows for each of {tiles} tiles of columns")
            }
            _ => {
                let panel = self.panel_tiles;
                format!("all rows for each panel of {panel} of {tiles} tiles of columns")
            }
        }
    }
}

impl fmt::Display for CtaOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tile_columns, panel_tiles } = self;
        write!(f, "tiles of {tile_columns} columns, panels of {panel_tiles}")
    }
}
