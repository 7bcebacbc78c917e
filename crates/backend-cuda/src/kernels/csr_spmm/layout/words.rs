//! Layouts for people.

use super::super::{CsrTeams, WARP};
use super::{Layout, Way};
use crate::CtaOrder;

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

    /// In which order blocks go through rows and columns, and why.
    pub(crate) fn order(&self) -> (CtaOrder, &'static str) {
        let tile_columns = self.lanes * self.vectors * self.per_vector;
        (CtaOrder { tile_columns, panel_tiles: self.panel.tiles }, self.panel.why)
    }
}
