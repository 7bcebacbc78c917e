//! SM-aligned, atomic-free partitions: Voltrix §3.2, Algorithm 1.
//!
//! The result is flattened to windows × D, D the columns of C, in steps of [`COLUMN_UNIT`] columns.
//! M − 1 points cut it into a partition for each of M persistent workers. No two workers write to the
//! same element of C, so nothing is added up; a worker that begins inside of a window loads its
//! tiles of A once more.
//!
//! The search begins as the paper's: greedy points at the average cost, each moved to a window's
//! boundary if it lies within D/8 of it. One generation of a genetic algorithm over those and a few
//! other starting points follows, judged by eq. 2. What the paper leaves open is decided here: the
//! generation's make-up, and that a point is not moved to a boundary where that would leave a
//! partition empty, as it could where there are fewer windows than workers.

mod flat;
mod genetic;
mod greedy;
mod objective;

use girih_formats::Buffer;

use super::{ColRange, Columns, Reduction, Schedule, Task, Windows, check, cut};
use crate::cost::LinearCost;
pub use flat::COLUMN_UNIT;
use flat::Flat;
use objective::objective;

/// Where windows × columns are cut into partitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioning {
    cols: u32,
    /// Positions in units, from 0 to the end: one more than there are partitions.
    points: Vec<u64>,
    objective: f64,
    greedy_objective: f64,
}

impl Partitioning {
    /// Searches for partitions of a product with `n` columns (at least 1) on `workers` workers (at
    /// least 1). Deterministic. O(windows + workers · log(windows)), with some hundreds of candidates.
    ///
    /// # Panics
    /// If there are 2³² columns or more.
    #[must_use]
    pub fn search(
        windows: &(impl Windows + ?Sized),
        n: usize,
        workers: usize,
        cost: &LinearCost,
    ) -> Self {
        let cols = u32::try_from(n.max(1)).expect("fewer than 2³² columns");
        let flat = Flat::new(windows, cols, cost);
        let workers = workers.max(1);
        let greedy = greedy::greedy(&flat, workers, true);
        let greedy_objective = objective(&flat, &greedy);
        let points = genetic::generation(&flat, greedy::starts(&flat, workers, greedy));
        let objective = objective(&flat, &points);
        Self { cols, points, objective, greedy_objective }
    }

    /// The points, in units of [`COLUMN_UNIT`] columns of the flattened result, from 0 to its end.
    #[must_use]
    pub fn points(&self) -> &[u64] {
        &self.points
    }

    /// Eq. 2: the largest partition's share of the cost, and what crossing windows adds to an average
    /// partition, as a share too.
    #[must_use]
    pub fn objective(&self) -> f64 {
        self.objective
    }

    /// The objective of the greedy points, before the genetic step; never less than
    /// [`objective`](Self::objective).
    #[must_use]
    pub fn greedy_objective(&self) -> f64 {
        self.greedy_objective
    }

    /// The schedule: up to three tasks to a partition, the end of a window, whole ones, and the
    /// beginning of one. `windows` are those that were searched.
    pub(super) fn schedule(&self, windows: &(impl Windows + ?Sized)) -> Schedule {
        let units = u64::from(self.cols.div_ceil(COLUMN_UNIT));
        let (mut tasks, mut ranges) = (Vec::new(), Vec::new());
        let mut partition_ptr = vec![0u64];
        for pair in self.points.windows(2) {
            let (mut at, end) = (pair[0], pair[1]);
            while at < end {
                let (window, unit) = ((at / units) as usize, at % units);
                let whole = if unit == 0 { ((end - at) / units) as usize } else { 0 };
                let (task, last) = match whole {
                    0 => (cut::whole(windows, window, window + 1), units.min(unit + end - at)),
                    _ => (cut::whole(windows, window, window + whole), units),
                };
                tasks.push(task);
                ranges.push(ColRange {
                    start: unit as u32 * COLUMN_UNIT,
                    end: self.cols.min((last as u32).saturating_mul(COLUMN_UNIT)),
                });
                at += if whole == 0 { last - unit } else { whole as u64 * units };
            }
            partition_ptr.push(tasks.len() as u64);
        }
        let columns = Columns {
            cut_for: self.cols,
            ranges: ranges.into(),
            partition_ptr: partition_ptr.into(),
        };
        let tasks: Buffer<Task> = tasks.into();
        debug_assert_eq!(check::check(&tasks, Some(&columns), windows), Ok(()));
        Schedule { tasks, columns: Some(columns), reduction: Reduction::TwoPass }
    }
}
