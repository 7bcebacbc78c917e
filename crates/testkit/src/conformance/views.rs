//! Operands in every layout.

use super::problem::{Planned, Run};
use super::{Suite, specs};
use crate::operands::Layout;
use girih_backend::DenseScalar;

impl Suite<'_> {
    /// Every layout of B with every layout of C; between C's elements nothing may change.
    pub(super) fn views<T: DenseScalar>(&mut self) {
        let names = ["sparse", "1×1", "empty rows and windows at the end"];
        for (i, case) in self.named(&names).into_iter().enumerate() {
            for (j, spec) in specs(self.kind).into_iter().enumerate() {
                let mut runs = Vec::new();
                for b in Layout::ALL {
                    for c in Layout::WRITABLE {
                        let turn = i + j + b as usize + c as usize;
                        let n = [1, 7, 65][turn % 3];
                        // What was there before must be read through the same view.
                        let beta = [0.0, 0.5][turn % 2];
                        runs.push(Run { b, c, beta, ..Run::plain(n) });
                    }
                }
                self.check_runs::<T>(&case, Planned::natural(spec), &runs);
            }
        }
    }
}
