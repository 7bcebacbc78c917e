//! The tasks that a plan's windows are dealt into.

use std::ops::Range;

use girih_formats::PAD_COL;
use girih_planner::schedule::{Task as Scheduled, Windows};

use super::params::{MAX_SEGMENTS, Segment, SplitWindow, Task, WHOLE};

/// Steps that small windows are gathered up to where more windows than run at once share the device: as much as hides
/// that a block begins and ends.
const GATHERED_STEPS: u64 = 16;
/// Rows that small windows are gathered up to: all of C's have to be written, also where windows are empty.
/// An ordering may bring all empty rows together; a block that wrote 2048 of them took longer than all others.
const GATHERED_ROWS: usize = 384;
/// A task with more than this many times the average's steps is heavy.
const HEAVY: u64 = 2;

/// Tasks, the segments that they are made of, and what becomes of split windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) tasks: Vec<Task>,
    /// Segments, task by task.
    pub(super) segments: Vec<Segment>,
    /// The packed columns of each segment, none of them padding.
    pub(super) spans: Vec<Range<usize>>,
    pub(super) splits: Vec<SplitWindow>,
    /// Parts of split windows.
    pub(super) n_pieces: u32,
    /// Steps of all segments.
    pub(super) n_steps: u64,
}

/// Gathers segments into tasks, one after the other.
#[derive(Debug)]
struct Gathering {
    most_segments: usize,
    steps: u64,
    segments: usize,
}

impl Gathering {
    /// A task takes no more windows than it must for all tasks to run at once. Each further segment of a task takes 1 to
    /// 2 µs, for its sums are stored before the next one's are added up (`bench/records/windows-apart-h200.md`).
    fn new(window_rows: usize, n_windows: usize, at_once: u64) -> Self {
        let most = (GATHERED_ROWS / window_rows.max(1)).clamp(1, MAX_SEGMENTS);
        let needed = (n_windows as u64).div_ceil(at_once.max(1));
        let most_segments = usize::try_from(needed).unwrap_or(most).clamp(1, most);
        Self { most_segments, steps: 0, segments: 0 }
    }

    /// Whether the next segment, which has this number of steps, begins a task.
    fn begins(&mut self, steps: u64) -> bool {
        let joins = (1..self.most_segments).contains(&self.segments);
        if joins && self.steps + steps <= GATHERED_STEPS {
            self.steps += steps;
            self.segments += 1;
            return false;
        }
        (self.steps, self.segments) = (steps, 1);
        true
    }
}

/// Tasks that windows become, of a schedule's tasks and the windows' tiles of rows and `pad_cols` packed columns:
/// by them [`choose`](super::choose) decides. The device runs `at_once` blocks at once. O(windows + scheduled tasks).
///
/// Exact where a step is a whole number of tiles, as in all that the planner considers by itself; else
/// the last tile of a window counts as full, which may make a few tasks more.
pub(crate) fn blocks(
    windows: &(impl Windows + ?Sized),
    scheduled: &[Scheduled],
    (window_rows, pad_cols): (usize, usize),
    (step, at_once): (usize, u64),
) -> u64 {
    let mut gathering = Gathering::new(window_rows, windows.n_windows(), at_once);
    let (mut blocks, mut next) = (0, 0);
    let mut add = |tiles: u64| {
        let steps = tiles.saturating_mul(pad_cols as u64).div_ceil(step as u64);
        blocks += u64::from(gathering.begins(steps));
    };
    for window in 0..windows.n_windows() {
        let (mut begin, end) = (windows.tile_ptr(window), windows.tile_ptr(window + 1));
        while let Some(task) = scheduled.get(next) {
            let at = task.tile_start;
            if at >= end && task.window_start as usize > window {
                break;
            }
            if at > begin && at < end {
                add(at - begin);
                begin = at;
            }
            next += 1;
        }
        add(end - begin);
    }
    blocks
}

/// One window or part: its segment and its packed columns.
type Piece = (Segment, Range<usize>);

impl Work {
    /// Deals windows into tasks, for a device that runs `at_once` of them at once: O(windows + scheduled tasks).
    ///
    /// A window is cut where the schedule cuts it, so what is summed where follows from the plan alone;
    /// cuts are in units of `pad_cols` packed columns. Heavy tasks come first, heaviest first, so that
    /// none is left over at the end; the others keep the order of their windows, whose neighbours often
    /// share columns.
    pub(super) fn new(
        window_ptr: &[u64],
        window_col_idx: &[u32],
        (window_rows, pad_cols): (usize, usize),
        (step, at_once): (usize, u64),
        scheduled: &[Scheduled],
    ) -> Self {
        let mut work = Self::default();
        let mut pieces: Vec<Piece> = Vec::with_capacity(window_ptr.len());
        let mut next = 0;
        for (window, bounds) in window_ptr.windows(2).enumerate() {
            let (begin, end) = (bounds[0] as usize, bounds[1] as usize);
            // Padding is at a window's end.
            let cols = window_col_idx[begin..end].partition_point(|&col| col != PAD_COL);
            let mut cuts = vec![begin];
            while let Some(task) = scheduled.get(next) {
                let at = task.tile_start as usize * pad_cols;
                if at >= end && task.window_start as usize > window {
                    break;
                }
                if at > cuts[cuts.len() - 1] && at < begin + cols {
                    cuts.push(at);
                }
                next += 1;
            }
            cuts.push(begin + cols);
            work.cut(window as u32, &cuts, step, &mut pieces);
        }
        let n_windows = window_ptr.len().saturating_sub(1);
        work.deal(&pieces, Gathering::new(window_rows, n_windows, at_once));
        work
    }

    /// The parts of a window between its cuts, all of it if there are just two.
    fn cut(&mut self, window: u32, cuts: &[usize], step: usize, pieces: &mut Vec<Piece>) {
        let n_pieces = cuts.len() as u32 - 1;
        let whole = n_pieces == 1;
        if !whole {
            let first_piece = self.n_pieces;
            self.splits.push(SplitWindow { first_piece, n_pieces, window, unused: 0 });
        }
        for cut in cuts.windows(2) {
            let n_steps = (cut[1] - cut[0]).div_ceil(step) as u32;
            let piece = if whole { WHOLE } else { self.n_pieces };
            self.n_pieces += u32::from(!whole);
            pieces.push((Segment { n_steps, window, piece, unused: 0 }, cut[0]..cut[1]));
        }
    }

    /// Gathers segments into tasks and puts these in order.
    fn deal(&mut self, pieces: &[Piece], mut gathering: Gathering) {
        let steps = |range: &Range<usize>| -> u64 {
            pieces[range.clone()].iter().map(|(segment, _)| u64::from(segment.n_steps)).sum()
        };
        let mut tasks: Vec<(Range<usize>, u64)> = Vec::new();
        for (i, (segment, _)) in pieces.iter().enumerate() {
            let more = u64::from(segment.n_steps);
            let begins = gathering.begins(more);
            match tasks.last_mut() {
                Some((range, gathered)) if !begins => {
                    range.end += 1;
                    *gathered += more;
                }
                _ => tasks.push((i..i + 1, more)),
            }
        }
        self.n_steps = steps(&(0..pieces.len()));
        let heavy = HEAVY * self.n_steps / (tasks.len() as u64).max(1);
        tasks.sort_by_key(|&(_, steps)| std::cmp::Reverse(if steps > heavy { steps } else { 0 }));
        let mut first_step = 0;
        for (range, steps) in tasks {
            let first_segment = self.segments.len() as u32;
            let n_segments = range.len() as u32;
            self.tasks.push(Task { first_step, first_segment, n_segments });
            first_step += steps;
            for (segment, span) in &pieces[range] {
                self.segments.push(*segment);
                self.spans.push(span.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use girih_planner::schedule::TilePtr;

    use super::*;

    fn scheduled(tasks: &[(u64, u64, u64, u64)]) -> Vec<Scheduled> {
        let task = |&(window_start, window_end, tile_start, tile_end)| Scheduled {
            window_start,
            window_end,
            tile_start,
            tile_end,
        };
        tasks.iter().map(task).collect()
    }

    /// Columns of windows, padded to 8: `real` of each are not padding.
    fn columns(real: &[usize]) -> (Vec<u64>, Vec<u32>) {
        let (mut ptr, mut idx) = (vec![0], Vec::new());
        for &n in real {
            idx.extend(0..n as u32);
            idx.resize(idx.len().next_multiple_of(8), PAD_COL);
            ptr.push(idx.len() as u64);
        }
        (ptr, idx)
    }

    #[test]
    fn small_windows_share_a_task_and_large_ones_come_first() {
        let (ptr, idx) = columns(&[30, 50, 0, 17, 100, 104, 2000, 100]);
        let work = Work::new(&ptr, &idx, (64, 8), (8, 1), &scheduled(&[(0, 8, 0, 303)]));
        let order: Vec<_> = work.segments.iter().map(|s| (s.window, s.n_steps)).collect();
        let small = [(0, 4), (1, 7), (2, 0), (3, 3), (4, 13), (5, 13), (7, 13)];
        assert_eq!(order, [&[(6, 250)], &small[..]].concat());
        let tasks: Vec<_> =
            work.tasks.iter().map(|t| (t.first_step, t.first_segment, t.n_segments)).collect();
        assert_eq!(tasks, [(0, 0, 1), (250, 1, 4), (264, 5, 1), (277, 6, 1), (290, 7, 1)]);
        assert_eq!(work.n_steps, 303);
        assert_eq!(work.spans[1], 0..30);
        assert!(work.splits.is_empty() && work.segments.iter().all(|s| s.piece == WHOLE));
    }

    #[test]
    fn windows_share_a_task_only_if_they_do_not_all_run_at_once() {
        let (ptr, idx) = columns(&[9; 100]);
        let all = scheduled(&[(0, 100, 0, 200)]);
        let segments = |at_once| {
            let work = Work::new(&ptr, &idx, (16, 8), (8, at_once), &all);
            let counted = blocks(&TilePtr::of_counts([2; 100]), &[], (16, 8), (8, at_once));
            assert_eq!(work.tasks.len() as u64, counted);
            work.tasks.iter().map(|task| task.n_segments).max()
        };
        // Two steps each: of those that must share, eight do.
        let found = [1000, 100, 99, 50, 20, 1].map(segments);
        assert_eq!(found, [1, 1, 2, 2, 5, 8].map(Some));
    }

    #[test]
    fn a_block_writes_no_more_of_c_than_others_however_many_windows_are_empty() {
        let (ptr, idx) = columns(&[0; 100]);
        let tasks = |window_rows| {
            let all = scheduled(&[(0, 100, 0, 0)]);
            let work = Work::new(&ptr, &idx, (window_rows, 8), (8, 1), &all);
            let counted = blocks(&TilePtr::of_counts([0; 100]), &[], (window_rows, 8), (8, 1));
            assert_eq!(work.tasks.len() as u64, counted);
            work.tasks.iter().map(|task| task.n_segments).max()
        };
        assert_eq!([8, 16, 64].map(tasks), [Some(32), Some(24), Some(6)]);
    }

    #[test]
    fn the_schedules_cuts_are_kept() {
        let (ptr, idx) = columns(&[9, 60, 3]);
        let tasks =
            scheduled(&[(0, 1, 0, 2), (1, 2, 2, 5), (1, 2, 5, 9), (1, 2, 9, 10), (2, 3, 10, 11)]);
        let work = Work::new(&ptr, &idx, (64, 8), (8, 1), &tasks);
        let parts: Vec<_> = work
            .segments
            .iter()
            .zip(&work.spans)
            .map(|(s, at)| (s.window, s.piece, at.clone()))
            .collect();
        let expected =
            [(0, WHOLE, 0..9), (1, 0, 16..40), (1, 1, 40..72), (1, 2, 72..76), (2, WHOLE, 80..83)];
        assert_eq!(parts, expected);
        let split = SplitWindow { first_piece: 0, n_pieces: 3, window: 1, unused: 0 };
        assert_eq!((work.n_pieces, &work.splits[..]), (3, &[split][..]));
    }

    #[test]
    fn a_part_of_padding_alone_is_none() {
        // 16 columns to a tile, and a step of 8: the last tile's second half is padding.
        let mut idx: Vec<u32> = (0..18).collect();
        idx.resize(48, PAD_COL);
        let work =
            Work::new(&[0, 48], &idx, (64, 16), (8, 1), &scheduled(&[(0, 1, 0, 2), (0, 1, 2, 3)]));
        assert_eq!((work.spans.len(), work.spans[0].clone(), work.n_steps), (1, 0..18, 3));
        assert_eq!(work.segments[0].piece, WHOLE);
        assert_eq!(Work::new(&[0], &[], (64, 8), (8, 1), &[]), Work::default());
    }

    #[test]
    fn every_column_is_in_one_segment() {
        let real: Vec<usize> = (0..60).map(|i| i * i % 97 * (i % 5)).collect();
        let (ptr, idx) = columns(&real);
        let tiles: Vec<u64> = ptr.iter().map(|p| p / 8).collect();
        let mut tasks = Vec::new();
        for w in 0..real.len() {
            let mut at = tiles[w];
            while at + 10 < tiles[w + 1] {
                tasks.push((w as u64, w as u64 + 1, at, at + 10));
                at += 10;
            }
            tasks.push((w as u64, w as u64 + 1, at, tiles[w + 1]));
        }
        let work = Work::new(&ptr, &idx, (64, 8), (16, 1), &scheduled(&tasks));
        let mut spans = work.spans.clone();
        spans.sort_by_key(|span| span.start);
        let covered: Vec<usize> = spans.into_iter().flatten().collect();
        let expected: Vec<usize> = (0..idx.len()).filter(|&i| idx[i] != PAD_COL).collect();
        assert_eq!(covered, expected);
        let steps: u64 = work.segments.iter().map(|s| u64::from(s.n_steps)).sum();
        assert_eq!(steps, work.n_steps);
        assert!(work.tasks.iter().all(|t| t.n_segments as usize <= MAX_SEGMENTS));
    }
}
