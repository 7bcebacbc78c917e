//! Layouts for operands as they lie in memory: how rows of B are read, and by which entry point.

use super::super::entries;
use super::super::teams::{DEEP, most_warps};
use super::{CsrTeams, Layout, MAX_GRID_Y, Panel, RUN, Way};

/// What layouts need to know of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The most bytes, up to 16, that every load of rows of B may have; 0 where neighbouring columns lie apart.
    pub(crate) b_load_bytes: u64,
    /// Whether rows of C are whole vectors.
    pub(crate) c_whole: bool,
    /// Bytes from one row of B to the next.
    pub(crate) b_row_bytes: u64,
    /// Whether rows of C begin on 16 bytes.
    pub(crate) c_in_vectors: bool,
}

/// How rows of B are read. A lane's columns depend on it; how they are summed does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// In vectors of 16 bytes.
    Vectors,
    /// A whole row in one load: it has at most half a vector.
    Whole,
    /// In two words of 4 bytes.
    WordPairs,
    /// In words of 4 bytes; value by value where a value has as many or more.
    Words,
    /// 16-bit values one by one, where neighbours are adjacent.
    Halves,
    /// Value by value, however far neighbours are apart.
    Elements,
}

impl Layout {
    /// The layout for operands as they lie in memory.
    pub(crate) fn stored(self, operation: Operation) -> Self {
        let Operation { b_load_bytes, c_whole, b_row_bytes, c_in_vectors } = operation;
        // Addresses of rows are reckoned with 32 bits, but for elements one by one.
        let load = match u32::try_from(b_row_bytes) {
            Ok(_) => self.load_of(b_load_bytes),
            Err(_) => Load::Elements,
        };
        // Loads of less than a vector leave neighbouring columns to neighbouring lanes.
        let exchanges = load == Load::Vectors && self.lanes > 1 && !c_in_vectors;
        let layout = Self { load, exchanges, ..self };
        match self.way {
            Way::Runs if load == Load::Vectors && c_whole => Self { team: RUN, ..layout },
            // Teams take one tile.
            Way::Rows(_) if load != Load::Elements => {
                let rows = layout.by_single_vectors();
                if rows.takes_all_tiles() { rows } else { Self { way: Way::Items, ..layout } }
            }
            _ => Self { way: Way::Items, ..layout },
        }
    }

    /// How rows of B are read whose loads have at most `bytes`.
    fn load_of(&self, bytes: u64) -> Load {
        let size = u64::from(16 / self.per_vector);
        match bytes {
            0 => Load::Elements,
            _ if self.narrow_columns().is_some_and(|columns| bytes >= columns * size) => {
                Load::Whole
            }
            16.. => Load::Vectors,
            8.. if size <= 4 => Load::WordPairs,
            _ if bytes >= size.max(4) => Load::Words,
            _ => Load::Halves,
        }
    }

    /// The columns, rounded up to a power of two, where these have at most half a vector.
    fn narrow_columns(&self) -> Option<u64> {
        let columns = self.n.checked_next_power_of_two()?;
        (2 * columns <= u64::from(self.per_vector)).then_some(columns)
    }

    /// Teams as the kernels take them that read parts of vectors: one vector to a lane, at most eight warps to a block.
    /// Panels stay as wide.
    fn by_single_vectors(self) -> Self {
        let Way::Rows(teams) = self.way else { return self };
        if self.load == Load::Vectors {
            return self;
        }
        let panel = Panel { tiles: self.panel.tiles.saturating_mul(self.vectors), ..self.panel };
        let warps = teams.warps.min(most_warps(teams.lanes, DEEP, 1));
        let teams = CsrTeams { vectors: 1, warps, panel_tiles: panel.tiles, ..teams };
        Self { vectors: 1, way: Way::Rows(teams), panel, ..self }
    }

    /// Whether there is a block for every tile.
    fn takes_all_tiles(&self) -> bool {
        self.tiles(self.n) <= MAX_GRID_Y * u64::from(self.panel.tiles)
    }

    /// The entry point, and which of the [two kernels](super::super::kernels) has it.
    pub(crate) fn entry(&self) -> (usize, &'static str) {
        let by_lanes = self.lanes.ilog2() as usize;
        let narrow = self.narrow_columns().map(|columns| columns.ilog2() as usize);
        let kernel = usize::from(self.load != Load::Vectors);
        let entry = match (self.way, self.load) {
            (Way::Runs, _) => entries::RUNS[self.vectors as usize - 1],
            (Way::Rows(CsrTeams { vectors: 2, .. }), Load::Vectors) => entries::ROWS_IN_PAIRS,
            (Way::Rows(CsrTeams { depth: DEEP, .. }), Load::Vectors) => {
                entries::ROWS_DEEP[by_lanes - 3]
            }
            (Way::Rows(_), Load::Vectors) => entries::ROWS[by_lanes],
            (Way::Rows(_), Load::Whole) => entries::ROWS_NARROW[narrow.unwrap_or(0)],
            (Way::Rows(_), Load::WordPairs) => entries::ROWS_WORD_PAIRS[by_lanes],
            (Way::Rows(_), Load::Words) => entries::ROWS_WORDS[by_lanes],
            (Way::Rows(_), _) if narrow == Some(2) => entries::ROWS_HALVES_QUAD,
            (Way::Rows(_), _) => entries::ROWS_HALVES[by_lanes],
            (Way::Items, load) => self.entry_of_items(load, narrow),
        };
        (kernel, entry)
    }

    /// That of items; `narrow` is the binary logarithm of narrow columns.
    fn entry_of_items(&self, load: Load, narrow: Option<usize>) -> &'static str {
        let by_lanes = if self.vectors == 2 { 6 } else { self.lanes.ilog2() as usize };
        match (load, narrow) {
            (Load::Vectors, _) => entries::VECTORS[by_lanes],
            (Load::Whole, Some(columns @ 1..)) => entries::NARROW[columns - 1],
            (_, Some(columns)) => entries::ELEMENTS_NARROW[columns],
            (Load::WordPairs, None) => entries::WORD_PAIRS[by_lanes],
            // A few columns of a lane are no faster in words.
            (Load::Words, None) if self.per_vector == 8 && by_lanes > 0 => {
                entries::WORDS[by_lanes - 1]
            }
            _ => entries::ELEMENTS[by_lanes],
        }
    }

    /// Columns of a lane.
    pub(super) fn columns(&self) -> u32 {
        match (self.way, self.load, self.narrow_columns()) {
            (_, Load::Whole, Some(columns)) => columns as u32,
            (Way::Rows(_), Load::Halves, Some(4)) => 4,
            (Way::Items, load, Some(columns)) if load != Load::Vectors => columns as u32,
            _ => self.vectors * self.per_vector,
        }
    }
}
