//! Schedules: what is cut covers a tiling exactly once, and nothing else is accepted.

use girih_formats::{AnyTiling, Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::Schedule;
use girih_planner::device::DeviceKind;
use girih_planner::schedule::{ScheduleError, Task, TaskSize, TilePtr};
use proptest::prelude::*;

/// CSR with these row lengths; entries at the first columns.
fn csr(lengths: &[usize]) -> Csr<f32> {
    let mut row_ptr = vec![0];
    let mut col_idx = Vec::new();
    for &len in lengths {
        col_idx.extend(0..len as u32);
        row_ptr.push(col_idx.len() as u64);
    }
    let values = vec![1.0; col_idx.len()];
    Csr::try_new(lengths.len(), 64, row_ptr, col_idx, values).unwrap()
}

fn tiling(lengths: &[usize], spec: FormatSpec) -> AnyTiling {
    let layout = RowLayout::natural(lengths.len(), spec.window_rows()).unwrap();
    Tiling::from_csr(&csr(lengths), spec, layout).unwrap().into()
}

fn specs() -> impl Strategy<Value = FormatSpec> {
    prop::sample::select(vec![
        FormatSpec::Csr,
        FormatSpec::Bcsr { block_rows: 2, block_cols: 4 },
        FormatSpec::Wcsr { window_rows: 3, pad_cols: 2 },
        FormatSpec::BlockedEll { block_size: 4 },
        FormatSpec::BMat { pattern_only: false },
        FormatSpec::Hybrid { window_rows: 3, pad_cols: 2, tile_entries: 4 },
    ])
}

fn tilings() -> impl Strategy<Value = AnyTiling> {
    let lengths = prop::collection::vec(prop_oneof![Just(0), 0..4usize, 0..64usize], 0..80);
    (lengths, specs()).prop_map(|(lengths, spec)| tiling(&lengths, spec))
}

/// Whether tasks are a schedule, decided by listing what each of them covers.
fn is_schedule(tasks: &[Task], tiling: &AnyTiling) -> bool {
    let ptr: Vec<u64> = (0..=tiling.n_windows()).map(|w| tiling.tile_ptr(w)).collect();
    // A window's tiles, or the window itself if it has none.
    let items = |w: u64, tiles: std::ops::Range<u64>| -> Vec<(u64, Option<u64>)> {
        let own = ptr[w as usize]..ptr[w as usize + 1];
        if own.is_empty() { vec![(w, None)] } else { tiles.map(|t| (w, Some(t))).collect() }
    };
    let mut covered = Vec::new();
    for task in tasks {
        let windows = task.window_start..task.window_end;
        if windows.is_empty() || task.window_end >= ptr.len() as u64 {
            return false;
        }
        let whole = ptr[task.window_start as usize]..ptr[task.window_end as usize];
        let tiles = task.tile_start..task.tile_end;
        if tiles == whole {
            for w in windows {
                covered.extend(items(w, ptr[w as usize]..ptr[w as usize + 1]));
            }
        } else {
            let inside = tiles.start >= whole.start && tiles.end <= whole.end;
            if windows.end - windows.start != 1 || tiles.is_empty() || !inside {
                return false;
            }
            covered.extend(items(task.window_start, tiles));
        }
    }
    let all =
        (0..ptr.len() as u64 - 1).flat_map(|w| items(w, ptr[w as usize]..ptr[w as usize + 1]));
    covered.into_iter().eq(all)
}

proptest! {
    #[test]
    fn what_is_cut_is_a_schedule(tiling in tilings(), tiles in 0..70u64, windows in 0..20u64) {
        for size in [
            TaskSize { tiles, windows, together: 1 },
            TaskSize { tiles, windows, together: 3 },
            TaskSize { tiles, windows: u64::MAX, together: 1 },
            TaskSize { tiles: u64::MAX, windows, together: 4 },
            TaskSize { tiles: u64::MAX, windows: u64::MAX, together: 4 },
            TaskSize::balanced(&tiling, tiles as usize, DeviceKind::Cpu),
            TaskSize::balanced(&tiling, tiles as usize, DeviceKind::Cuda),
        ] {
            let schedule = Schedule::by_size(&tiling, size);
            prop_assert!(is_schedule(schedule.tasks(), &tiling));
            prop_assert!(Schedule::try_new(schedule.tasks().clone(), &tiling).is_ok());
            for task in schedule.tasks().iter().filter(|_| size.together == 1) {
                let (n_windows, n_tiles) =
                    (task.window_end - task.window_start, task.tile_end - task.tile_start);
                prop_assert!(n_windows <= windows.max(1) || size.windows != windows);
                prop_assert!(n_tiles <= tiles.max(1).saturating_mul(2) || size.tiles != tiles);
            }
        }
    }

    #[test]
    fn the_validator_agrees_with_the_definition(
        tiling in tilings(),
        size in 1..20u64,
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..7usize, prop_oneof![
                -2..=2i64, Just(i64::MAX), Just(i64::MIN), any::<i64>(),
            ]),
            0..4,
        ),
    ) {
        let mut tasks = Schedule::by_tiles(&tiling, size).tasks().to_vec();
        for (index, field, by) in changes {
            if tasks.is_empty() {
                break;
            }
            let i = index.index(tasks.len());
            let task = &mut tasks[i];
            match field {
                0 => task.window_start = task.window_start.wrapping_add_signed(by),
                1 => task.window_end = task.window_end.wrapping_add_signed(by),
                2 => task.tile_start = task.tile_start.wrapping_add_signed(by),
                3 => task.tile_end = task.tile_end.wrapping_add_signed(by),
                4 => drop(tasks.remove(i)),
                5 => { let task = *task; tasks.insert(i, task); }
                _ => { let other = by.unsigned_abs() as usize % tasks.len(); tasks.swap(i, other); }
            }
        }
        prop_assert_eq!(
            Schedule::try_new(tasks.clone(), &tiling).is_ok(),
            is_schedule(&tasks, &tiling),
            "{:?}", tasks
        );
    }
}

#[test]
fn windows_are_gathered_and_long_ones_split() {
    let tiling = tiling(&[1, 2, 1, 9, 0, 0, 3, 5], FormatSpec::Csr);
    let schedule = Schedule::by_tiles(&tiling, 4);
    let found: Vec<_> = schedule.tasks().iter().map(|t| (t.windows(), t.tiles())).collect();
    assert_eq!(
        found,
        [(0..3, 0..4), (3..4, 4..7), (3..4, 7..10), (3..4, 10..13), (4..7, 13..16), (7..8, 16..21)]
    );
}

#[test]
fn faults_are_named_with_their_task() {
    let tiling = tiling(&[2, 3], FormatSpec::Csr);
    let task = |window_start, window_end, tile_start, tile_end| Task {
        window_start,
        window_end,
        tile_start,
        tile_end,
    };
    let fault = |tasks: Vec<Task>| Schedule::try_new(tasks, &tiling).unwrap_err();
    assert!(Schedule::try_new(vec![task(0, 2, 0, 5)], &tiling).is_ok());
    for (tasks, position, reason) in [
        (vec![], 0, "is missing: windows are left over"),
        (vec![task(0, 1, 0, 2)], 1, "is missing: windows are left over"),
        (
            vec![task(0, 1, 0, 1), task(1, 2, 2, 5)],
            1,
            "does not begin where the one before it ends",
        ),
        (vec![task(0, 2, 0, 4)], 0, "cuts a window while holding others"),
        (vec![task(0, 1, 0, 3)], 0, "runs past its window"),
        (vec![task(0, 1, 0, 0)], 0, "is an empty part of a window"),
        (vec![task(0, 0, 0, 0)], 0, "is empty or runs backwards"),
        (vec![task(0, u64::MAX, 0, 5)], 0, "leaves the tiling"),
        (vec![task(u64::MAX, u64::MAX, 0, 5)], 0, "does not begin where the one before it ends"),
    ] {
        assert_eq!(fault(tasks), ScheduleError { task: position, reason });
    }
}

#[test]
fn rows_that_a_core_multiplies_together_are_not_cut_apart() {
    let cut = |rows: &[u64], kind| {
        let (windows, nnz) = (TilePtr::of_counts(rows.iter().copied()), rows.iter().sum());
        let size = TaskSize::balanced_for(FormatSpec::Csr, nnz, &windows, 512, kind);
        Schedule::by_size(&windows, size)
    };
    // A dense corner, whose rows are four times as long as the average, and a row that is split.
    let mut rows = vec![1500; 402];
    rows.push(50_000);
    rows.extend([2; 4000]);
    let heights = |kind| -> Vec<u64> {
        let schedule = cut(&rows, kind);
        assert_eq!(schedule.split_windows(), 1);
        let long = schedule.tasks().iter().filter(|task| task.window_start < 402);
        long.map(|task| task.window_end - task.window_start).collect()
    };
    let on_cpu = heights(DeviceKind::Cpu);
    assert!(on_cpu[..100].iter().all(|&rows| rows == 4), "{on_cpu:?}");
    assert_eq!(on_cpu[100..], [2], "rows before one that is split end there");
    assert!(heights(DeviceKind::Cuda).iter().all(|&rows| rows == 1));
    // Of few long rows no task has more than a 64th of all, so that there is work for every core.
    let mut few = vec![900; 20];
    few.extend([2; 2000]);
    let few = cut(&few, DeviceKind::Cpu);
    let mut long = few.tasks().iter().filter(|task| task.window_start < 20);
    assert!(long.all(|task| task.window_end - task.window_start == 1));
}

/// Nothing about the machine but its kind, nor about the threads, enters the size of tasks; the work does.
#[test]
fn balanced_tasks_follow_the_work() {
    let tiling = tiling(&[40; 4000], FormatSpec::Csr);
    let sizes = |kind| [1, 8, 64, 4096].map(|n| TaskSize::balanced(&tiling, n, kind).tiles);
    // A 256th of the work or 65 536 multiply-adds, and a product with one column counts as one with 2. A
    // part of a split row is long enough to pay for its pass over C.
    assert_eq!(sizes(DeviceKind::Cpu), [32_768, 8192, 1024, 512]);
    assert_eq!(sizes(DeviceKind::Cuda), [32_768, 4096, 512, 512]);
    let one_long_row = self::tiling(&[64], FormatSpec::Csr);
    assert_eq!(
        Schedule::by_size(&one_long_row, TaskSize::balanced(&one_long_row, 4096, DeviceKind::Cpu))
            .tasks()
            .len(),
        1
    );
}
