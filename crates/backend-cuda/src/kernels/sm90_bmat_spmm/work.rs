//! Which block of threads computes what: a schedule, as the kernel walks through it.

use std::ops::Range;

use girih_planner::Schedule;
use girih_planner::schedule::{COLUMN_UNIT, ColRange};

use super::params::{Block, Run, Segment, SplitWindow, TO_THE_END, WHOLE};

/// Tiles that take as long as beginning a window and storing its rows of C: those have twice a tile's rows of
/// B.
const TILES_OF_WINDOW: u128 = 2;
/// A window is cut by columns where blocks share a partition only if it is more than this share of a block.
const LEAST_SHARE: u128 = 8;

/// Columns between two places where a window may be cut for blocks that share a partition.
const CUT_UNIT: u32 = 2 * COLUMN_UNIT;

/// Segments, and the runs that blocks make of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) blocks: Vec<Block>,
    pub(super) runs: Vec<Run>,
    pub(super) segments: Vec<Segment>,
    pub(super) splits: Vec<SplitWindow>,
    /// Parts of split windows.
    pub(super) n_pieces: u32,
    /// The lists of blocks that there are.
    pub(super) lists: Vec<List>,
    /// Whether every range of columns begins on 16 columns.
    pub(super) cuts_are_aligned: bool,
}

/// Blocks that compute a product together, all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// How many of them share a partition.
    pub(super) sharers: u32,
    pub(super) first: u32,
    pub(super) n_blocks: u32,
}

/// A segment, and columns of C: an end at the number that windows were cut for is the end of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    segment: u32,
    cols: ColRange,
}

impl Work {
    /// Lays out a schedule of windows that `window_ptr` bounds, in tiles: O(windows + tasks).
    ///
    /// Without partitions a task is a block's, in their order. A partition is for the blocks that a
    /// multiprocessor holds at once, which depends on the configuration: there is a list of blocks for each
    /// number in `sharers`.
    pub(super) fn new(window_ptr: &[u64], schedule: &Schedule, sharers: &[u32]) -> Self {
        let mut work = Self { cuts_are_aligned: true, ..Self::default() };
        let whole = ColRange { start: 0, end: TO_THE_END };
        let mut items_of = Vec::with_capacity(schedule.tasks().len());
        for i in 0..schedule.tasks().len() {
            let cols = schedule.columns().map_or(whole, |columns| columns.ranges[i]);
            items_of.push(work.segments_of(window_ptr, schedule, i, cols));
            work.cuts_are_aligned &= cols.start.is_multiple_of(COLUMN_UNIT);
        }
        let items = |tasks: Range<usize>| -> Vec<Item> {
            let of_task = |task: usize| {
                let cols = schedule.columns().map_or(whole, |columns| columns.ranges[task]);
                items_of[task].clone().map(move |segment| Item { segment, cols })
            };
            tasks.flat_map(of_task).collect()
        };
        match schedule.columns() {
            None => {
                let n_blocks = schedule.tasks().len() as u32;
                work.lists.push(List { sharers: 0, first: 0, n_blocks });
                for task in 0..schedule.tasks().len() {
                    work.add_block(&items(task..task + 1), TO_THE_END);
                }
            }
            Some(columns) => {
                for &sharers in sharers {
                    let n_blocks = columns.n_partitions() as u32 * sharers;
                    let first = work.blocks.len() as u32;
                    work.lists.push(List { sharers, first, n_blocks });
                    let shares: Vec<_> = (0..columns.n_partitions())
                        .map(|p| work.shared(&items(columns.partition(p)), sharers))
                        .collect();
                    // Blocks of a partition are as far apart as multiprocessors: they are dealt out in turns.
                    for sharer in 0..sharers as usize {
                        for shares in &shares {
                            work.add_block(&shares[sharer], columns.cut_for);
                        }
                    }
                }
            }
        }
        work
    }

    /// Adds the segments of a task; gives their numbers.
    fn segments_of(
        &mut self,
        window_ptr: &[u64],
        schedule: &Schedule,
        index: usize,
        cols: ColRange,
    ) -> Range<u32> {
        let task = schedule.tasks()[index];
        let first = self.segments.len() as u32;
        let bounds = |window: usize| (window_ptr[window], window_ptr[window + 1]);
        let (begin, end) = bounds(task.window_start as usize);
        let is_part = task.window_end - task.window_start == 1
            && (task.tile_start, task.tile_end) != (begin, end);
        if is_part {
            let piece = self.n_pieces;
            self.n_pieces += 1;
            if task.tile_start == begin {
                let cut_for = schedule.columns().map_or(TO_THE_END, |columns| columns.cut_for);
                self.splits.push(SplitWindow {
                    first_piece: piece,
                    window: task.window_start as u32,
                    col_start: cols.start,
                    col_end: if cols.end >= cut_for { TO_THE_END } else { cols.end },
                    ..SplitWindow::default()
                });
            }
            // Parts of a window follow one another, the first one first.
            if let Some(split) = self.splits.last_mut() {
                split.n_pieces += 1;
            }
            self.segments.push(Segment {
                first_tile: task.tile_start,
                n_tiles: (task.tile_end - task.tile_start) as u32,
                window: task.window_start as u32,
                piece,
                ..Segment::default()
            });
        } else {
            self.segments.extend(task.windows().map(|window| {
                let (begin, end) = bounds(window);
                Segment {
                    first_tile: begin,
                    n_tiles: (end - begin) as u32,
                    window: window as u32,
                    piece: WHOLE,
                    ..Segment::default()
                }
            }));
        }
        first..self.segments.len() as u32
    }

    /// Deals a partition's items to blocks in equal shares, in order: between windows, or where one is long
    /// by columns.
    fn shared(&self, items: &[Item], sharers: u32) -> Vec<Vec<Item>> {
        let width = |cols: ColRange| cols.end - cols.start;
        let of_column = |item: &Item| {
            u128::from(self.segments[item.segment as usize].n_tiles) + TILES_OF_WINDOW
        };
        let cost = |item: &Item| of_column(item) * u128::from(width(item.cols));
        let total: u128 = items.iter().map(cost).sum();
        let mut shares = vec![Vec::new(); sharers as usize];
        let (mut share, mut before) = (0u128, 0u128);
        let sharers = u128::from(sharers);
        for item in items {
            let mut rest = *item;
            // As long as a share ends within what is left of this item.
            while share + 1 < sharers && before + cost(&rest) > total * (share + 1) / sharers {
                let inside = (total * (share + 1) / sharers).saturating_sub(before);
                let inside = (inside / of_column(&rest)) as u32;
                let taken = cut(rest.cols, inside, cost(&rest) * LEAST_SHARE * sharers > total);
                if taken > rest.cols.start {
                    let cols = ColRange { end: taken, ..rest.cols };
                    shares[share as usize].push(Item { cols, ..rest });
                    before += of_column(&rest) * u128::from(taken - rest.cols.start);
                    rest.cols.start = taken;
                }
                share += 1;
                if rest.cols.start >= rest.cols.end {
                    break;
                }
            }
            if rest.cols.start < rest.cols.end {
                before += cost(&rest);
                shares[share as usize].push(rest);
            }
        }
        shares
    }

    /// Adds a block of items; neighbours with the same columns are one run.
    fn add_block(&mut self, items: &[Item], cut_for: u32) {
        let first_run = self.runs.len() as u32;
        for item in items {
            let end = if item.cols.end >= cut_for { TO_THE_END } else { item.cols.end };
            let start = item.cols.start;
            match self.runs[first_run as usize..].last_mut() {
                Some(run)
                    if (run.col_start, run.col_end) == (start, end)
                        && run.first_segment + run.n_segments == item.segment =>
                {
                    run.n_segments += 1;
                }
                _ => self.runs.push(Run {
                    first_segment: item.segment,
                    n_segments: 1,
                    col_start: start,
                    col_end: end,
                }),
            }
        }
        self.blocks.push(Block { first_run, n_runs: self.runs.len() as u32 - first_run });
    }

    /// The list for configurations of which a multiprocessor holds `ctas` blocks.
    pub(super) fn list(lists: &[List], ctas: u32) -> List {
        let list = lists.iter().find(|list| list.sharers == 0 || list.sharers == ctas);
        *list.unwrap_or_else(|| unreachable!("there is a list for every configuration"))
    }
}

/// The column up to which a share takes of an item, of which it would take `inside` columns: one of the
/// item's bounds if that is near, or unless it `may` be cut.
fn cut(cols: ColRange, inside: u32, may: bool) -> u32 {
    let width = cols.end - cols.start;
    let near = if may { width / 4 } else { width / 2 };
    if inside <= near {
        cols.start
    } else if inside >= width - near {
        cols.end
    } else {
        // Whole units of a row of B of any value type.
        cols.start + inside / CUT_UNIT * CUT_UNIT
    }
}

#[cfg(test)]
mod tests {
    use girih_planner::cost::LinearCost;
    use girih_planner::schedule::{Columns, Reduction, Task, TilePtr};

    use super::*;

    fn tiles(window_ptr: &[u64]) -> TilePtr {
        TilePtr::of_counts(window_ptr.windows(2).map(|bounds| bounds[1] - bounds[0]))
    }

    fn by_limit(window_ptr: &[u64], limit: u64) -> Schedule {
        Schedule::by_limit(&tiles(window_ptr), limit, Reduction::TwoPass)
    }

    /// How often a list's blocks cover each (tile, column), for `n` columns; an empty window's only "tile" is
    /// counted by its segment.
    fn covered(work: &Work, list: List, n: u32) -> Vec<(u32, u32, u32)> {
        let mut found = Vec::new();
        for block in &work.blocks[list.first as usize..(list.first + list.n_blocks) as usize] {
            for run in &work.runs[block.first_run as usize..][..block.n_runs as usize] {
                let end = if run.col_end == TO_THE_END { n } else { run.col_end.min(n) };
                for segment in
                    &work.segments[run.first_segment as usize..][..run.n_segments as usize]
                {
                    for tile in 0..segment.n_tiles.max(1) {
                        for column in run.col_start..end {
                            let tile = segment.first_tile as u32 + tile;
                            found.push((segment.window, tile, column));
                        }
                    }
                }
            }
        }
        found
    }

    fn expected(window_ptr: &[u64], n: u32) -> Vec<(u32, u32, u32)> {
        let mut all = Vec::new();
        for (window, bounds) in window_ptr.windows(2).enumerate() {
            for tile in bounds[0]..bounds[1].max(bounds[0] + 1) {
                all.extend((0..n).map(|column| (window as u32, tile as u32, column)));
            }
        }
        all
    }

    fn assert_covers(work: &Work, window_ptr: &[u64], n: u32) {
        for &list in &work.lists {
            let mut found = covered(work, list, n);
            found.sort_unstable();
            assert_eq!(found, expected(window_ptr, n), "{list:?}, {n} columns");
        }
    }

    #[test]
    fn a_task_is_a_block_and_parts_are_added_up() {
        let window_ptr = [0, 3, 3, 10, 12];
        let work = Work::new(&window_ptr, &by_limit(&window_ptr, 4), &[2, 3]);
        assert_eq!(work.lists, [List { sharers: 0, first: 0, n_blocks: 5 }]);
        assert_eq!((work.blocks.len(), work.runs.len(), work.segments.len()), (5, 5, 5));
        let pieces: Vec<_> = work.segments.iter().map(|segment| segment.piece).collect();
        assert_eq!(pieces, [WHOLE, WHOLE, 0, 1, WHOLE]);
        let split =
            SplitWindow { n_pieces: 2, window: 2, col_end: TO_THE_END, ..SplitWindow::default() };
        assert_eq!((work.splits.as_slice(), work.n_pieces), (&[split][..], 2));
        assert_covers(&work, &window_ptr, 40);
        assert!(work.cuts_are_aligned);
    }

    #[test]
    fn partitions_are_shared_out_and_cover_everything_once() {
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        let long: Vec<u64> = vec![0, 400, 400, 401, 405, 500];
        let even: Vec<u64> = (0..=100).map(|i| i * 7).collect();
        let none: Vec<u64> = vec![0, 0, 0];
        for window_ptr in [&long, &even, &none, &vec![0]] {
            for n in [1, 17, 160, 512] {
                for workers in [1, 3, 40] {
                    let windows = tiles(window_ptr);
                    let schedule = Schedule::sm_aligned(&windows, n, workers, &cost);
                    let work = Work::new(window_ptr, &schedule, &[1, 2, 3]);
                    assert!(work.cuts_are_aligned && work.splits.is_empty());
                    for (list, sharers) in work.lists.iter().zip([1, 2, 3]) {
                        assert_eq!(list.n_blocks, sharers * workers as u32);
                    }
                    // Of other numbers of columns than it was cut for, too.
                    for n in [n as u32, 5, 200] {
                        assert_covers(&work, window_ptr, n);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_of_a_partition_have_equal_shares() {
        let even: Vec<u64> = (0..=300).map(|i| i * 7).collect();
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        let schedule = Schedule::sm_aligned(&tiles(&even), 128, 10, &cost);
        let work = Work::new(&even, &schedule, &[3]);
        let windows = |block: &Block| -> u32 {
            let runs = &work.runs[block.first_run as usize..][..block.n_runs as usize];
            runs.iter().map(|run| run.n_segments).sum()
        };
        let shares: Vec<_> = work.blocks.iter().map(windows).collect();
        assert!(shares.iter().all(|&share| (9..=11).contains(&share)), "{shares:?}");
        // The blocks of partition 0 are ten apart.
        let first = |block: usize| work.runs[work.blocks[block].first_run as usize].first_segment;
        assert_eq!([0, 10, 20].map(first), [0, 10, 20]);
    }

    #[test]
    fn a_long_window_is_cut_by_columns() {
        let window_ptr = [0, 900];
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        let schedule = Schedule::sm_aligned(&tiles(&window_ptr), 256, 1, &cost);
        let work = Work::new(&window_ptr, &schedule, &[2]);
        let cols: Vec<_> = work.runs.iter().map(|run| (run.col_start, run.col_end)).collect();
        assert_eq!(cols, [(0, 128), (128, TO_THE_END)]);
    }

    #[test]
    fn parts_of_strips_are_added_up_strip_by_strip() {
        // One window of 9 tiles: columns up to 24 in two parts, the others at once.
        let window_ptr = [0, 9];
        let task =
            |tile_start, tile_end| Task { window_start: 0, window_end: 1, tile_start, tile_end };
        let ranges = [(0, 24), (0, 24), (24, 50)].map(|(start, end)| ColRange { start, end });
        let columns = Columns {
            cut_for: 50,
            ranges: ranges.to_vec().into(),
            partition_ptr: vec![0, 1, 3].into(),
        };
        let tasks = vec![task(0, 4), task(4, 9), task(0, 9)];
        let windows = tiles(&window_ptr);
        let schedule = Schedule::try_from_parts(tasks, Some(columns), Reduction::TwoPass, &windows);
        let work = Work::new(&window_ptr, &schedule.unwrap(), &[2]);
        let pieces: Vec<_> = work.segments.iter().map(|segment| segment.piece).collect();
        assert_eq!(pieces, [0, 1, WHOLE]);
        let split = SplitWindow { n_pieces: 2, col_end: 24, ..SplitWindow::default() };
        assert_eq!(work.splits, [split]);
        assert!(!work.cuts_are_aligned, "columns 24 and on begin on no 16 columns");
        assert_covers(&work, &window_ptr, 50);
    }
}
