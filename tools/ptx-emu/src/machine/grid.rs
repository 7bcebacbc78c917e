//! Running a grid: clusters in parallel.
//!
//! Clusters share only global memory, so each runs by itself, on one thread at a time. A cluster that
//! waits for another by polling, or has run for long, is set aside for others, of which as many are
//! under way as the device has room for.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Context;
use super::run::Run;
use super::statistics::Counts;
use crate::report::{Fault, Report};

/// Instructions of a cluster until others get to run.
const SLICE: u64 = 1 << 20;

#[derive(Debug)]
struct Queue {
    /// The next cluster to begin.
    next: u32,
    /// Clusters begun and not finished, running ones included.
    resident: u32,
    aside: VecDeque<Run>,
    counts: Counts,
    reports: Vec<Report>,
    output: Vec<(u32, Vec<u8>)>,
}

/// Runs all clusters on up to `workers` threads.
pub(super) fn run(
    context: &Arc<Context>,
    workers: Option<usize>,
) -> Result<(Counts, Vec<u8>), Fault> {
    let clusters = context.n_clusters();
    let queue = Mutex::new(Queue {
        next: 0,
        resident: 0,
        aside: VecDeque::new(),
        counts: Counts::new(&context.kernel),
        reports: Vec::new(),
        output: Vec::new(),
    });
    // Clusters after one with a report need not go on: their reports would come after it.
    let last_needed = AtomicU32::new(u32::MAX);
    let workers = workers.unwrap_or_else(rayon::current_num_threads).min(clusters as usize);
    if workers <= 1 {
        work(context, &queue, &last_needed);
    } else {
        rayon::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|_| work(context, &queue, &last_needed));
            }
        });
    }
    let mut queue = queue.into_inner().unwrap_or_else(PoisonError::into_inner);
    queue.reports.sort_by_key(|report| {
        let place = &report.place;
        (place.cluster, place.thread, place.step)
    });
    if queue.reports.is_empty() {
        queue.output.sort_by_key(|&(cluster, _)| cluster);
        return Ok((queue.counts, queue.output.into_iter().flat_map(|(_, text)| text).collect()));
    }
    let first = Box::new(queue.reports.remove(0));
    Err(Fault { first, others: queue.reports })
}

fn work(context: &Arc<Context>, queue: &Mutex<Queue>, last_needed: &AtomicU32) {
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let mut counts = Counts::new(&context.kernel);
    let room = (context.device.multiprocessors / context.cluster_size()).max(1);
    loop {
        let mut run = {
            let mut queue = lock();
            let more = queue.next < context.n_clusters()
                && queue.next <= last_needed.load(Ordering::Relaxed);
            if more && queue.resident < room {
                let id = queue.next;
                queue.next += 1;
                queue.resident += 1;
                drop(queue);
                Run::new(context, id)
            } else if let Some(run) = queue.aside.pop_front() {
                run
            } else {
                queue.counts.join(&counts);
                return;
            }
        };
        let id = run.cluster.id;
        if id > last_needed.load(Ordering::Relaxed) {
            lock().resident -= 1;
            continue;
        }
        let (before, result) = (run.cluster.steps, run.slice(SLICE, &mut counts));
        if matches!(result, Ok(false)) && run.cluster.steps - before < SLICE {
            // It looks for what another one does, which may be under way on another thread.
            std::thread::yield_now();
        }
        let mut queue = lock();
        match result {
            Ok(false) => queue.aside.push_back(run),
            Ok(true) => {
                queue.resident -= 1;
                queue.output.push((id, std::mem::take(&mut run.cluster.output)));
                drop(queue);
                run.finish();
            }
            Err(report) => {
                queue.resident -= 1;
                queue.reports.push(*report);
                last_needed.fetch_min(id, Ordering::Relaxed);
            }
        }
    }
}
