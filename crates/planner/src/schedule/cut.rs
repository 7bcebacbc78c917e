//! Cutting windows into tasks for all columns of C.

use std::ops::Range;

use super::{Task, TaskSize, Windows};

/// A task for each window.
pub(super) fn by_window(windows: &(impl Windows + ?Sized)) -> Vec<Task> {
    (0..windows.n_windows()).map(|w| whole(windows, w, w + 1)).collect()
}

/// A task for each window of up to `limit` tiles, several for longer ones that may be split.
pub(super) fn by_limit(windows: &(impl Windows + ?Sized), limit: u64) -> Vec<Task> {
    let limit = limit.max(1);
    let mut tasks = Vec::new();
    for w in 0..windows.n_windows() {
        let task = whole(windows, w, w + 1);
        let mut start = task.tile_start;
        while windows.may_split(w) && task.tile_end - start > limit {
            tasks.push(Task { tile_start: start, tile_end: start + limit, ..task });
            start += limit;
        }
        tasks.push(Task { tile_start: start, ..task });
    }
    tasks
}

/// Groups windows up to a size and splits the long ones.
pub(super) fn by_size(windows: &(impl Windows + ?Sized), size: TaskSize) -> Vec<Task> {
    let (max_tiles, max_windows) = (size.tiles.max(1), size.windows.max(1));
    let n_windows = windows.n_windows();
    let mut tasks = Vec::new();
    let mut first = 0;
    while first < n_windows {
        let start = windows.tile_ptr(first);
        let last = first + usize::try_from(max_windows).map_or(n_windows, |w| w.min(n_windows));
        let fits = |w: usize| windows.tile_ptr(w) - start <= max_tiles;
        let end = last_where(first, last.min(n_windows), fits).max(first + 1);
        let end = whole_groups(windows, size, first..end);
        let tiles = windows.tile_ptr(end) - start;
        let is_split = end == first + 1 && tiles > max_tiles.saturating_mul(2);
        let parts = if is_split { tiles.div_ceil(max_tiles) } else { 1 };
        // Equal parts: part p ends at the p-th share, so none is left with a remainder.
        let share = |p: u64| start + (u128::from(tiles) * u128::from(p) / u128::from(parts)) as u64;
        tasks.extend((0..parts).map(|p| Task {
            window_start: first as u64,
            window_end: end as u64,
            tile_start: share(p),
            tile_end: share(p + 1),
        }));
        first = end;
    }
    tasks
}

/// The largest part of all tiles that a task may hold just to keep windows together: 1/this.
const TOGETHER_SHARE: u64 = 64;

/// Where a task of few windows ends so that those that are [together](TaskSize::together) stay so. Windows that
/// are split stay apart.
fn whole_groups(
    windows: &(impl Windows + ?Sized),
    size: TaskSize,
    Range { start, end }: Range<usize>,
) -> usize {
    let (group, count) = (size.together, (end - start) as u64);
    if group <= 1 || count >= group.saturating_mul(4) {
        return end;
    }
    let nearest = ((count + group / 2) / group).max(1) * group;
    let to = windows.n_windows().min(start + nearest as usize);
    let tiles = |from: usize, to: usize| windows.tile_ptr(to) - windows.tile_ptr(from);
    let is_split = |w: usize| tiles(w, w + 1) > size.tiles.max(1).saturating_mul(2);
    let to = if is_split(start) { end } else { (end..to).find(|&w| is_split(w)).unwrap_or(to) };
    let fits = to <= end || tiles(start, to) <= windows.n_tiles() / TOGETHER_SHARE;
    if fits { to } else { end }
}

/// A task of whole windows.
pub(super) fn whole(windows: &(impl Windows + ?Sized), start: usize, end: usize) -> Task {
    Task {
        window_start: start as u64,
        window_end: end as u64,
        tile_start: windows.tile_ptr(start),
        tile_end: windows.tile_ptr(end),
    }
}

/// The largest `w` in `from..=to` for which `holds`, which holds for `from` and, once it does not,
/// never again. O(log(w − from)): it gallops, for `w` is usually near.
fn last_where(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut step) = (from, 1);
    while step <= to - good && holds(good + step) {
        good += step;
        step *= 2;
    }
    while step > 0 {
        if step <= to - good && holds(good + step) {
            good += step;
        }
        step /= 2;
    }
    good
}
