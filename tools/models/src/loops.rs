//! Loops: every index and item once, and what is written is seen once threads are joined.

use std::sync::Arc;

use loom::thread;

use crate::{Marks, fails};

/// A loop over `count` indices on `threads` threads.
macro_rules! over_indices {
    ($source:path, $threads:expr, $count:expr, $grain:expr) => {
        || {
            use $source as source;
            let shares = Arc::new(source::Indices::shares($count, $threads));
            let marks = Arc::new(Marks::new($count));
            let run =
                |own, shares: &Arc<Vec<source::WorkShare<source::Indices>>>, marks: &Marks| {
                    source::run_from(shares, own, &|share| {
                        share.work_off($grain, &|i| marks.add(i, 1))
                    });
                };
            let helpers: Vec<_> = (1..$threads)
                .map(|own| {
                    let (shares, marks) = (shares.clone(), marks.clone());
                    thread::spawn(move || run(own, &shares, &marks))
                })
                .collect();
            run(0, &shares, &marks);
            helpers.into_iter().for_each(|helper| helper.join().unwrap());
            (0..$count).for_each(|i| assert_eq!(marks.get(i), 1, "index {i}"));
        }
    };
}

/// A loop over items on two threads, the second of which runs its own share alone.
macro_rules! over_items {
    ($source:path) => {
        || {
            use $source as source;
            let share = |start| {
                source::WorkShare(source::Items::new(
                    start..start + 2,
                    vec![start, start + 1].into_iter(),
                ))
            };
            let shares = Arc::new(vec![share(0), share(2)]);
            let marks = Arc::new(Marks::new(4));
            let helper = {
                let (shares, marks) = (shares.clone(), marks.clone());
                move || {
                    source::run_from(&shares, 1, &|share| {
                        share.work_off(|i, item| marks.add(i, 10 + item));
                    });
                }
            };
            let helper = thread::spawn(helper);
            source::run_from(&shares, 0, &|share| {
                share.work_off(|i, item| marks.add(i, 10 + item))
            });
            helper.join().unwrap();
            (0..4).for_each(|i| assert_eq!(marks.get(i), 10 + i, "index {i}"));
        }
    };
}

/// A caller that waits a little for its helper, and joins it, or, if that was all it needed, does not.
macro_rules! waiting {
    ($source:path, $joins:expr) => {
        || {
            use $source as source;
            let (awaited, marks) = (Arc::new(source::Awaited::new(1)), Arc::new(Marks::new(1)));
            let helper = {
                let (awaited, marks) = (awaited.clone(), marks.clone());
                thread::spawn(move || {
                    marks.add(0, 1);
                    awaited.done();
                })
            };
            let mut patience = 2;
            awaited.wait(|| {
                thread::yield_now();
                patience -= 1;
                patience > 0
            });
            if $joins || patience == 0 {
                helper.join().unwrap();
            }
            assert_eq!(marks.get(0), 1);
        }
    };
}

/// A loop on the caller alone, whose helper is busy until the end.
macro_rules! while_helpers_are_busy {
    ($source:path) => {
        || {
            use $source as source;
            let (shares, marks) = (source::Indices::shares(4, 2), Marks::new(4));
            source::run_from(&shares, 0, &|share| share.work_off(1, &|i| marks.add(i, 1)));
            (0..4).for_each(|i| assert_eq!(marks.get(i), 1, "index {i}"));
        }
    };
}

#[test]
fn every_index_is_run_once() {
    loom::model(while_helpers_are_busy!(crate::shares));
    loom::model(over_indices!(crate::shares, 2, 4, 1));
    loom::model(over_indices!(crate::shares, 2, 5, 2));
    // Three threads meet in too many orders: those in which a thread is interrupted twice at most (Musuvathi
    // and Qadeer, Iterative context bounding, PLDI 2007).
    let mut bounded = loom::model::Builder::new();
    bounded.preemption_bound = Some(2);
    bounded.check(over_indices!(crate::shares, 3, 3, 1));
}

#[test]
fn every_item_is_run_once_with_its_index() {
    loom::model(over_items!(crate::shares));
}

#[test]
fn what_helpers_write_is_seen_whether_or_not_the_caller_saw_them_done() {
    loom::model(waiting!(crate::shares, true));
}

#[test]
fn a_caller_that_joins_nobody_must_acquire_what_was_released() {
    assert!(fails(waiting!(crate::shares, false)), "relaxed");
    assert!(fails(waiting!(crate::planted::acquired_alone, false)), "acquired, not released");
    loom::model(waiting!(crate::planted::released, false));
}

#[test]
fn planted_faults_are_found() {
    assert!(fails(over_indices!(crate::planted::taken_in_two_steps, 2, 4, 1)));
    assert!(fails(while_helpers_are_busy!(crate::planted::own_share_alone)));
    assert!(fails(over_items!(crate::planted::index_without_item)));
}
