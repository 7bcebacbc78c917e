//! Layouts for people.

use super::super::{CsrTeams, WARP};
use super::{Layout, Load, Way};
use crate::CtaOrder;

impl Layout {
    /// Columns of a block, for people.
    pub(crate) fn tile_in_words(&self) -> String {
        let Self { lanes, per_vector, .. } = *self;
        let columns = self.columns();
        let each = match columns {
            1 => "1 column".to_owned(),
            each => format!("{each} columns"),
        };
        let how = match self.load {
            Load::Vectors => "in vectors of 16 bytes",
            Load::Whole => "by one load",
            Load::WordPairs => "in two words of 4 bytes",
            Load::Words if per_vector == 8 && lanes > 1 => "in words of 4 bytes",
            Load::Words | Load::Halves | Load::Elements => "element by element",
        };
        format!("{} columns: {lanes} lanes, {each} to a lane, {how}", lanes * columns)
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
