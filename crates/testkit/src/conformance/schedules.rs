//! Rows in any order, windows in any number of parts.

use super::problem::{Planned, Run};
use super::rows::RowOrder;
use super::{Suite, specs};
use crate::operands::Layout;
use girih_backend::DenseScalar;

const CASES: [&str; 7] = [
    "many windows",
    "one dense row",
    "one dense column",
    "all dense",
    "long rows",
    "empty rows and windows at the end",
    "no entries",
];

impl Suite<'_> {
    /// Explicit row orders: C's rows are scattered, empty slots are not stored.
    pub(super) fn row_orders<T: DenseScalar>(&mut self) {
        let col_major = Run { beta: -1.0, c: Layout::ColMajor, ..Run::plain(7) };
        let runs = [Run::plain(33), Run { alpha: -2.5, beta: 0.5, ..Run::plain(1) }, col_major];
        for case in self.named(&CASES) {
            for spec in specs(self.kind) {
                for rows in RowOrder::ALL {
                    self.check_runs::<T>(&case, Planned { rows, ..Planned::natural(spec) }, &runs);
                }
            }
        }
    }

    /// Windows cut into single tiles, a few, or not at all: the parts must be summed, and β·C counted
    /// once.
    pub(super) fn schedules<T: DenseScalar>(&mut self) {
        let col_major = Run { beta: 1.0, c: Layout::ColMajor, ..Run::plain(7) };
        let runs = [Run::plain(33), Run { alpha: -2.5, beta: 0.5, ..Run::plain(70) }, col_major];
        for case in self.named(&CASES) {
            for spec in specs(self.kind) {
                for rows in [RowOrder::Natural, RowOrder::Shuffled] {
                    for tiles in [1, 3, 4096] {
                        let planned =
                            Planned { rows, tiles_per_task: Some(tiles), ..Planned::natural(spec) };
                        self.check_runs::<T>(&case, planned, &runs);
                    }
                }
            }
        }
    }
}
