//! Layouts for people.

use super::super::{CsrTeams, WARP};
use super::{Layout, Way};

impl Layout {
    /// Columns of a block, for people.
    pub(crate) fn tile_in_words(&self) -> String {
        let Self { lanes, vectors, per_vector, .. } = *self;
        let each = match vectors * per_vector {
            1 => "1 column".to_owned(),
            each => format!("{each} columns"),
        };
        let each = match self.way {
            Way::Elements => format!("{each} to a lane, element by element"),
            _ => format!("{each} to a lane, in vectors of 16 bytes"),
        };
        format!("{} columns: {lanes} lanes, {each}", lanes * vectors * per_vector)
    }

    /// Who takes the rows that neither a block nor a warp takes alone, for people.
    pub(crate) fn team_in_words(&self) -> String {
        match self.way {
            Way::Runs => format!("by a warp for every {}", self.team),
            Way::Rows(CsrTeams { depth, warps, turns, .. }) => format!(
                "by {} lanes each, {turns} one after the other, {depth} rows of B at a time; {} neighbours \
                 to a block",
                self.team,
                warps * WARP / self.team,
            ),
            _ => format!("by {} lanes each", self.team),
        }
    }

    /// In which order blocks go through rows and columns, for people, and why.
    pub(crate) fn order_in_words(&self) -> (String, &'static str) {
        let tiles = self.tiles(self.n);
        let panel = u64::from(self.panel.tiles).min(tiles);
        let order = match (tiles, panel) {
            (1, _) => return ("rows".to_owned(), "there is one tile of columns"),
            (_, 1) => format!("all rows for each of {tiles} tiles of columns"),
            (_, panel) if panel == tiles => {
                format!("all {tiles} tiles of columns for each block of rows")
            }
            (_, panel) => format!("all rows for each panel of {panel} of {tiles} tiles of columns"),
        };
        (order, self.panel.why)
    }
}
