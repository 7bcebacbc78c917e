//! Loops beside the same ones on one thread, in pools of several sizes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use girih_parallel::prelude::*;
use girih_parallel::{Threads, for_each_below, for_each_chunk, join, on_threads};
use rayon::ThreadPoolBuilder;

/// New threads for each loop.
#[derive(Debug)]
struct NewThreads(usize);

impl Threads for NewThreads {
    fn count(&self) -> usize {
        self.0
    }

    fn for_each_below(&self, count: usize, min_len: usize, f: &(dyn Fn(usize) + Sync)) {
        let next = &AtomicUsize::new(0);
        let work = move || {
            while let at = next.fetch_add(min_len, Ordering::Relaxed)
                && at < count
            {
                (at..count.min(at + min_len)).for_each(f);
            }
        };
        std::thread::scope(|scope| {
            (1..self.0).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}

/// Runs `check` in pools of several sizes, and on other threads than rayon's.
fn in_pools(check: impl Fn() + Sync) {
    for threads in [1, 2, 3, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&check);
    }
    check();
    for threads in [1, 3] {
        on_threads(Arc::new(NewThreads(threads)), &check);
    }
}

const LENS: [usize; 6] = [0, 1, 2, 17, 128, 10_007];

#[test]
fn items_are_visited_once_and_collected_in_order() {
    in_pools(|| {
        for len in LENS {
            for (min, max) in [(1, usize::MAX), (100, usize::MAX), (1, 1), (1, 7), (50, 3)] {
                let items = (0..len).into_par_iter().with_min_len(min).with_max_len(max);
                let found: Vec<usize> = items.map(|i| 3 * i).collect();
                assert_eq!(found, (0..len).map(|i| 3 * i).collect::<Vec<_>>());

                let mut counts = vec![0; len];
                let items = counts.par_iter_mut().with_min_len(min).with_max_len(max);
                items.enumerate().for_each(|(i, count)| *count += i + 1);
                assert!(counts.iter().enumerate().all(|(i, &count)| count == i + 1));
            }
        }
    });
}

#[test]
fn vectors_give_their_items_away() {
    in_pools(|| {
        for len in LENS {
            let texts: Vec<String> = (0..len).map(|i| i.to_string()).collect();
            let lens: Vec<usize> = texts.clone().into_par_iter().map(|text| text.len()).collect();
            assert_eq!(lens, texts.iter().map(String::len).collect::<Vec<_>>());
        }
        assert_eq!([1, 2, 3].into_par_iter().map(|i| i * i).collect::<Vec<_>>(), [1, 4, 9]);
    });
}

#[test]
fn chunks_and_windows_are_those_of_slices() {
    in_pools(|| {
        for len in LENS {
            let items: Vec<u32> = (0..len as u32).collect();
            for size in [1, 2, 5, 128] {
                let sum = |piece: &[u32]| piece.iter().map(|&i| u64::from(i)).sum::<u64>();
                let found: Vec<u64> = items.par_chunks(size).map(sum).collect();
                assert_eq!(found, items.chunks(size).map(sum).collect::<Vec<_>>());
                let found: Vec<u64> = items.par_chunks_exact(size).map(sum).collect();
                assert_eq!(found, items.chunks_exact(size).map(sum).collect::<Vec<_>>());
                let found: Vec<u64> = items.par_windows(size).map(sum).collect();
                assert_eq!(found, items.windows(size).map(sum).collect::<Vec<_>>());

                let (mut all, mut whole) = (items.clone(), items.clone());
                all.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| chunk.fill(i as u32));
                assert!(all.iter().enumerate().all(|(i, &x)| x as usize == i / size));
                whole.par_chunks_exact_mut(size).for_each(|chunk| chunk.fill(u32::MAX));
                let end = len / size * size;
                assert!(whole[..end].iter().all(|&x| x == u32::MAX));
                assert_eq!(whole[end..], items[end..]);
            }
        }
    });
}

#[test]
fn pairs_end_with_the_shorter_list() {
    in_pools(|| {
        for (a, b) in [(100, 3), (3, 100), (0, 5), (1000, 999)] {
            let short: Vec<usize> = (0..b).collect();
            let pairs = (0..a).into_par_iter().zip(&short).map(|(i, &j)| (i, j));
            let found: Vec<(usize, usize)> = pairs.collect();
            assert_eq!(found, (0..a.min(b)).map(|i| (i, i)).collect::<Vec<_>>());
        }
    });
}

#[test]
fn filters_and_steps_keep_order() {
    in_pools(|| {
        for len in LENS {
            let odd: Vec<usize> = (0..len).into_par_iter().filter(|i| i % 2 == 1).collect();
            assert_eq!(odd, (0..len).filter(|i| i % 2 == 1).collect::<Vec<_>>());
            let half = |i: usize| i.is_multiple_of(2).then_some(i / 2);
            let found: Vec<usize> = (0..len).into_par_iter().filter_map(half).collect();
            assert_eq!(found, (0..len).filter_map(half).collect::<Vec<_>>());
            for step in [1, 3, 100] {
                let found: Vec<usize> = (0..len).into_par_iter().step_by(step).map(|i| i).collect();
                assert_eq!(found, (0..len).step_by(step).collect::<Vec<_>>());
            }
            assert_eq!((0..len).into_par_iter().filter(|i| i % 3 == 0).count(), len.div_ceil(3));
        }
    });
}

#[test]
fn sums_and_reductions_are_the_same_on_any_threads() {
    in_pools(|| {
        for len in LENS {
            let all = || (0..len).into_par_iter();
            assert_eq!(all().sum::<usize>(), (0..len).sum::<usize>());
            let text = all().map(|i| i.to_string()).reduce(String::new, |a, b| a + &b);
            assert_eq!(text, (0..len).map(|i| i.to_string()).collect::<String>());
            let mut written = vec![0; len];
            all().map(|i| len - i).write_to(&mut written);
            assert_eq!(written, (0..len).map(|i| len - i).collect::<Vec<_>>());
        }
    });
}

#[test]
fn the_first_of_several_is_found() {
    in_pools(|| {
        for len in LENS {
            let all = || (0..len).into_par_iter();
            for at in [0, 1, 5000, 10_006] {
                let expected = (at < len).then_some(at);
                assert_eq!(all().position_first(|i| i >= at), expected);
                assert_eq!(all().find_map_first(|i| (i >= at).then_some(i)), expected);
                assert_eq!(all().any(|i| i == at), at < len);
                assert_eq!(all().all(|i| i != at), at >= len);
                let key = |&i: &usize| i.abs_diff(at) / 10;
                assert_eq!(all().min_by_key(key), (0..len).min_by_key(key));
                let checked = |i: usize| if i >= at { Err(i) } else { Ok(i) };
                let found: Result<Vec<usize>, usize> = all().map(checked).collect();
                assert_eq!(found.err(), expected);
                let found: Option<Vec<usize>> = all().map(|i| checked(i).ok()).collect();
                assert_eq!(found.is_none(), at < len);
                let only = |i: usize| if i == at { Err(i) } else { Ok(()) };
                assert_eq!(all().try_for_each(only).err(), expected);
            }
        }
    });
}

#[test]
fn scratch_is_made_for_each_piece() {
    in_pools(|| {
        let found = (0usize..1000).into_par_iter().map_init(Vec::new, |seen, i: usize| {
            assert_eq!(seen.last().copied(), if seen.is_empty() { None } else { Some(i - 1) });
            seen.push(i);
            i
        });
        assert_eq!(found.collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
        let mut to = vec![0; 100];
        to.par_iter_mut().enumerate().for_each_init(
            || 7,
            |scratch, (i, to)| {
                *to = *scratch + i;
            },
        );
        assert_eq!(to, (7..107).collect::<Vec<_>>());
    });
}

#[test]
fn indices_are_visited_once() {
    in_pools(|| {
        let counts: Vec<AtomicUsize> = (0..500).map(|_| AtomicUsize::new(0)).collect();
        for_each_below(500, 7, &|i| {
            counts[i].fetch_add(1, Ordering::Relaxed);
        });
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    });
}

#[test]
fn both_sides_of_a_join_return() {
    in_pools(|| {
        let (a, b) = join(|| String::from("a"), || join(|| 1, || 2));
        assert_eq!((a.as_str(), b), ("a", (1, 2)));
    });
}

#[test]
#[should_panic(expected = "item 700")]
fn a_panic_of_a_piece_is_one_of_the_loop() {
    (0usize..1000).into_par_iter().with_max_len(1).for_each(|i| assert!(i != 700, "item {i}"));
}

#[test]
fn chunks_are_visited_once() {
    in_pools(|| {
        for len in LENS {
            for size in [1, 3, 1000] {
                let mut items = vec![0; len];
                for_each_chunk(&mut items, size, &|i, chunk| {
                    assert!(chunk.len() == size || i == (len - 1) / size);
                    chunk.iter_mut().for_each(|item| *item += i + 1);
                });
                assert!(items.iter().enumerate().all(|(at, &item)| item == at / size + 1));
            }
        }
    });
}

#[test]
fn loops_run_on_the_threads_that_are_set_until_they_are_not() {
    #[derive(Debug, Default)]
    struct Counts(AtomicUsize);
    impl Threads for Counts {
        fn count(&self) -> usize {
            77
        }
        fn for_each_below(&self, count: usize, _: usize, f: &(dyn Fn(usize) + Sync)) {
            self.0.fetch_add(1, Ordering::Relaxed);
            (0..count).for_each(f);
        }
    }
    let (counts, before) = (Arc::new(Counts::default()), girih_parallel::current_num_threads());
    let loops = || counts.0.load(Ordering::Relaxed);
    on_threads(counts.clone(), || {
        assert_eq!(girih_parallel::current_num_threads(), 77);
        for_each_below(9, 1, &|_| {});
        assert_eq!(join(|| 1, || 2), (1, 2));
        assert_eq!((0..100usize).into_par_iter().sum::<usize>(), 4950);
        assert_eq!(loops(), 3);
    });
    for_each_below(9, 1, &|_| {});
    let ends = || on_threads(counts.clone(), || panic!("as expected"));
    assert!(catch_unwind(AssertUnwindSafe(ends)).is_err());
    assert_eq!((loops(), girih_parallel::current_num_threads()), (3, before));
}
