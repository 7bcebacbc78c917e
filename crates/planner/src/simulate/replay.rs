//! Who is busy when.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A stretch of one worker's time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Span {
    /// Who.
    pub worker: usize,
    /// The task; in a second pass, its position there.
    pub task: usize,
    /// When it begins, in seconds.
    pub start: f64,
    /// When it ends.
    pub end: f64,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Replay {
    /// Number of workers.
    pub workers: usize,
    /// Seconds until the last task is through.
    pub makespan: f64,
    /// Seconds of all tasks together.
    pub total: f64,
    /// The timeline, by the order of dispatch.
    pub spans: Vec<Span>,
    /// Where the second pass begins in `spans`, if there is one.
    pub second_pass: Option<usize>,
}

impl Replay {
    /// How many times as long as with the work shared out evenly: 1 is perfect; 1 if there is none.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        if self.total > 0.0 { self.makespan * self.workers as f64 / self.total } else { 1.0 }
    }

    /// The share of all workers' time that they wait for the last; 0 if there is no work.
    #[must_use]
    pub fn idle_share(&self) -> f64 {
        1.0 - 1.0 / self.imbalance()
    }

    /// Seconds that every worker is busy.
    #[must_use]
    pub fn busy(&self) -> Vec<f64> {
        let mut busy = vec![0.0; self.workers];
        for span in &self.spans {
            busy[span.worker] += span.end - span.start;
        }
        busy
    }

    /// This replay, and another that begins when this one has ended.
    pub(super) fn then(mut self, next: &Self) -> Self {
        let at = self.makespan;
        self.second_pass = Some(self.spans.len());
        self.spans.extend(next.spans.iter().map(|span| Span {
            start: span.start + at,
            end: span.end + at,
            ..*span
        }));
        self.makespan += next.makespan;
        self.total += next.total;
        self
    }
}

/// A moment at which a worker is free; the earliest first, then the lowest number.
#[derive(Clone, Copy, PartialEq)]
struct Free {
    at: f64,
    worker: usize,
}

impl Eq for Free {}

impl Ord for Free {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.worker.cmp(&other.worker))
    }
}

impl PartialOrd for Free {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Tasks in order, each to the worker that is free first: how the hardware dispatches blocks.
/// O(tasks · log(workers)); `workers` is at least 1.
#[must_use]
pub fn in_order(costs: &[f64], workers: usize) -> Replay {
    let workers = workers.max(1);
    let mut spans = Vec::with_capacity(costs.len());
    let Busy { makespan, total } =
        dispatch(costs.iter().copied(), workers, |span| spans.push(span));
    Replay { workers, makespan, total, spans, second_pass: None }
}

/// How long tasks keep workers busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Busy {
    /// Seconds until the last task is through.
    pub(crate) makespan: f64,
    /// Seconds of all tasks together.
    pub(crate) total: f64,
}

/// Gives tasks in order to the worker that is free first, and every stretch of time to `each`. Memory
/// for the workers only.
pub(super) fn dispatch(
    costs: impl Iterator<Item = f64>,
    workers: usize,
    mut each: impl FnMut(Span),
) -> Busy {
    let workers = workers.max(1);
    let mut free = BinaryHeap::with_capacity(workers);
    let mut busy = Busy { makespan: 0.0, total: 0.0 };
    for (task, seconds) in costs.enumerate() {
        // As many as there are workers begin at once, each on a worker of its own.
        let begun = if task < workers { None } else { free.pop() };
        let Reverse(Free { at, worker }) = begun.unwrap_or(Reverse(Free { at: 0.0, worker: task }));
        let end = at + seconds;
        each(Span { worker, task, start: at, end });
        busy.total += seconds;
        busy.makespan = busy.makespan.max(end);
        free.push(Reverse(Free { at: end, worker }));
    }
    busy
}

/// Each partition by a worker of its own, which first spends `begin` if it has a task; with
/// more partitions than workers, those that are left go to whoever is free first.
///
/// # Panics
/// If `partition_ptr` does not lie within the tasks.
#[must_use]
pub fn partitioned(costs: &[f64], partition_ptr: &[u64], workers: usize, begin: f64) -> Replay {
    let partitions: Vec<&[f64]> =
        partition_ptr.windows(2).map(|p| &costs[p[0] as usize..p[1] as usize]).collect();
    let sums: Vec<f64> = partitions
        .iter()
        .map(|tasks| if tasks.is_empty() { 0.0 } else { begin + tasks.iter().sum::<f64>() })
        .collect();
    let of_partitions = in_order(&sums, workers);
    let mut spans = Vec::with_capacity(costs.len());
    for span in &of_partitions.spans {
        let mut at = span.start + if partitions[span.task].is_empty() { 0.0 } else { begin };
        for (i, seconds) in partitions[span.task].iter().enumerate() {
            let task = partition_ptr[span.task] as usize + i;
            let start = if i == 0 { span.start } else { at };
            at += seconds;
            spans.push(Span { worker: span.worker, task, start, end: at });
        }
    }
    Replay { spans, ..of_partitions }
}
