//! Orders of a matrix, each computed once for all cases that take it.

use std::time::{Duration, Instant};

use girih::planner::ordering::FixedOrder;
use girih::planner::progress::Progress;
use girih::reorder::Reordering;
use girih::{Csr, ReorderError, Scalar};

use crate::team::Team;

/// The fixed orders of one matrix that were computed so far, with the time that each took.
#[derive(Debug, Default)]
pub(super) struct KnownOrders(Vec<KnownOrder>);

#[derive(Debug)]
struct KnownOrder {
    fixed: FixedOrder,
    /// The index of the team whose threads computed it.
    team: usize,
    order: Reordering,
    took: Duration,
}

impl KnownOrders {
    /// The order of `a`, and what computing it on the threads of the team takes.
    ///
    /// # Errors
    /// If the method does not take the matrix.
    pub(super) fn order<T: Scalar>(
        &mut self,
        fixed: FixedOrder,
        a: &Csr<T>,
        (at, team): (usize, &Team),
        hears: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<(&Reordering, Duration), ReorderError> {
        let known = self.0.iter().position(|known| (known.fixed, known.team) == (fixed, at));
        let index = match known {
            Some(index) => index,
            None => {
                let start = Instant::now();
                let order = team.run(|| fixed.order_observed(a.pattern(), &|done| hears(done)))?;
                let took = start.elapsed();
                self.0.push(KnownOrder { fixed, team: at, order, took });
                self.0.len() - 1
            }
        };
        let KnownOrder { order, took, .. } = &self.0[index];
        Ok((order, *took))
    }
}

#[cfg(test)]
mod tests {
    use girih::reorder::Method;
    use girih::{FormatSpec, PlanOptions, Planner};
    use girih_generate::uniform;

    use super::*;

    #[test]
    fn an_order_is_computed_once_for_all_formats_that_come_to_it() {
        let a = uniform::<f32>(300, 300, 4, 1).unwrap();
        let team = Team::new(1).unwrap();
        let mut known = KnownOrders::default();
        let window = Method::Window { window_rows: Some(16) };
        let wcsr = FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 };
        let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
        let mut computed = |format: FormatSpec, n: usize, at: usize| {
            let options = PlanOptions::new(n).format(format).reorder(window);
            let fixed = options.fixed_order().unwrap();
            let (order, _) = known.order(fixed, &a, (at, &team), &|_| ()).unwrap();
            let plan = Planner::new(options.clone()).plan_reordered(&a, order).unwrap();
            let alone = Planner::new(options).plan(&a).unwrap();
            assert_eq!(plan.tiling(), alone.tiling(), "{format}");
            known.0.len()
        };
        // Blocks deal columns too, and another team takes its own time.
        let csr = FormatSpec::Csr;
        let counts = [(csr, 8, 0), (wcsr, 64, 0), (bcsr, 8, 0), (csr, 8, 1), (bcsr, 9, 0)]
            .map(|(format, n, at)| computed(format, n, at));
        assert_eq!(counts, [1, 1, 2, 3, 3]);
    }
}
