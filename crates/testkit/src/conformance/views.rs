//! Operands in every layout.

use super::problem::{Planned, Run};
use super::{Suite, specs};
use crate::Element;
use crate::operands::Layout;

impl Suite<'_> {
    /// Every layout of B with every layout of C; between C's elements nothing may change.
    pub(super) fn views<T: Element>(&mut self) {
        let mut runs = Vec::new();
        for n in [1, 7, 65] {
            for b in Layout::ALL {
                for c in Layout::WRITABLE {
                    // What was there before must be read through the same view.
                    let beta = [0.0, 0.5][(n + b as usize + c as usize) % 2];
                    runs.push(Run { b, c, beta, ..Run::plain(n) });
                }
            }
        }
        for case in self.named(&["sparse", "1×1", "empty rows and windows at the end"]) {
            for spec in specs(self.kind) {
                self.check_runs::<T>(&case, Planned::natural(spec), &runs);
            }
        }
    }
}
