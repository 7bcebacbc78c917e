//! Every matrix with every number of columns, every α and β.

use super::problem::{Planned, Run};
use super::{Suite, specs};
use girih_backend::DenseScalar;

/// Numbers of columns: none, one, and what divides by nothing or lies just past a power of two.
const COLUMNS: [usize; 4] = [0, 1, 7, 33];
/// Wide products, which take the time: every case and every size of a format take both in turn.
const MANY_COLUMNS: [usize; 2] = [129, 300];

impl Suite<'_> {
    /// All cases, in every size of the format, with every number of columns, into NaN-filled C.
    pub(super) fn shapes<T: DenseScalar>(&mut self) {
        for (i, case) in self.cases.clone().into_iter().enumerate() {
            for (j, spec) in specs(self.kind).into_iter().enumerate() {
                let columns = COLUMNS.into_iter().chain([MANY_COLUMNS[(i + j) % 2]]);
                let runs: Vec<_> = columns.map(Run::plain).collect();
                self.check_runs::<T>(&case, Planned::natural(spec), &runs);
            }
        }
    }

    /// α and β of 0, ±1 and others, exact in f32 and not.
    pub(super) fn scaling<T: DenseScalar>(&mut self) {
        let mut runs = Vec::new();
        for n in [1, 33] {
            for alpha in [0.0, 1.0, -2.5, 0.1] {
                for beta in [0.0, 1.0, -1.0, 0.5, 0.3] {
                    runs.push(Run { alpha, beta, ..Run::plain(n) });
                }
            }
        }
        let names = ["no entries", "no columns", "many windows", "one dense row", "explicit zeros"];
        for case in self.named(&names) {
            for spec in specs(self.kind) {
                self.check_runs::<T>(&case, Planned::natural(spec), &runs);
            }
        }
    }
}
