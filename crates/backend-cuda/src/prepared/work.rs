//! The items of work that a plan's CSR is cut into.

use std::cmp::Reverse;

use girih_formats::RowLayout;
use girih_planner::Task;

use crate::kernels::csr_spmm::{Item, SplitRow};

/// Rows that are this many times as long as the mean, and longer than a warp's share of entries, come
/// before all others: one that began last would be waited for.
const HEAVY: u64 = 2;
/// A warp's share.
const SHARE: u64 = 32;

/// Runs of entries, and which of them make up a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Pieces of split rows, the first of every row, then the second and so on; then whole rows.
    pub(super) items: Vec<Item>,
    /// How many of the items are pieces.
    pub(super) n_pieces: u64,
    /// Rows in pieces.
    pub(super) splits: Vec<SplitRow>,
}

impl Work {
    /// The items of a matrix whose rows stand in the slots of `layout`: O(rows + nnz / `piece`).
    ///
    /// A row is cut where the schedule cuts it, and into more pieces of some `piece` entries where it is
    /// still longer than two: so what is summed where follows from the plan alone. Empty slots become
    /// no item.
    ///
    /// Pieces that are multiplied at the same time lie at the same height of their rows, so that they
    /// read rows of B that are near each other. Long rows come before short ones, which else keep
    /// their order.
    pub(super) fn new(row_ptr: &[u64], layout: &RowLayout, tasks: &[Task], piece: u64) -> Self {
        // Of each piece, which one of its row it is.
        let mut pieces: Vec<(u32, Item)> = Vec::new();
        let (mut whole, mut splits) = (Vec::new(), Vec::new());
        let mut cuts = Vec::new();
        let mut task = 0;
        for (slot, entries) in row_ptr.windows(2).enumerate() {
            let Some(row) = layout.row(slot) else { continue };
            let (begin, end, row) = (entries[0], entries[1], row as u32);
            cuts.clear();
            cuts.push(begin);
            while tasks.get(task).is_some_and(|task| task.tile_start < end) {
                cut_evenly(&mut cuts, tasks[task].tile_start, piece);
                task += 1;
            }
            cut_evenly(&mut cuts, end, piece);
            if cuts.len() <= 2 {
                whole.push(Item { begin, length: (end - begin) as u32, row });
                continue;
            }
            let first_piece = pieces.len() as u64;
            pieces.extend(cuts.windows(2).zip(0..).map(|(cut, part)| {
                let length = (cut[1] - cut[0]) as u32;
                (part, Item { begin: cut[0], length, row: first_piece as u32 + part })
            }));
            splits.push(SplitRow { first_piece, n_pieces: cuts.len() as u32 - 1, row });
        }
        let n_pieces = pieces.len() as u64;
        pieces.sort_by_key(|&(part, _)| part);
        let entries = row_ptr.last().copied().unwrap_or(0);
        let heavy = (HEAVY * entries / row_ptr.len() as u64).max(SHARE);
        // By shares, so that rows of much the same length stay where they are.
        whole.sort_by_key(|item: &Item| {
            let length = u64::from(item.length);
            Reverse(if length > heavy { length / SHARE } else { 0 })
        });
        let items = pieces.into_iter().map(|(_, item)| item).chain(whole).collect();
        Self { items, n_pieces, splits }
    }
}

/// Adds a cut at `end`, if it lies beyond the last, and cuts in between where that leaves more than two
/// pieces' entries.
fn cut_evenly(cuts: &mut Vec<u64>, end: u64, piece: u64) {
    let Some(&begin) = cuts.last() else { return };
    if end <= begin {
        return;
    }
    let entries = end - begin;
    let parts = if entries > 2 * piece { entries.div_ceil(piece) } else { 1 };
    let share = |part| begin + (u128::from(entries) * u128::from(part) / u128::from(parts)) as u64;
    cuts.extend((1..=parts).map(share));
}

#[cfg(test)]
mod tests {
    use girih_formats::{PAD_ROW, RowLayout};

    use super::*;

    const PIECE: u64 = 256;

    fn tasks(tiles: &[(u64, u64)]) -> Vec<Task> {
        let task =
            |&(tile_start, tile_end)| Task { window_start: 0, window_end: 1, tile_start, tile_end };
        tiles.iter().map(task).collect()
    }

    fn lengths(work: &Work) -> Vec<(u32, u32)> {
        work.items.iter().map(|item| (item.row, item.length)).collect()
    }

    #[test]
    fn rows_stay_whole_where_nothing_cuts_them() {
        let layout = RowLayout::natural(3, 1).unwrap();
        let work = Work::new(&[0, 2, 2, 514], &layout, &tasks(&[(0, 2), (2, 514)]), PIECE);
        assert_eq!(lengths(&work), [(2, 512), (0, 2), (1, 0)]);
        assert_eq!((work.n_pieces, &work.splits[..]), (0, &[][..]));
        assert_eq!(work.items[0].begin, 2);
    }

    #[test]
    fn long_rows_are_cut_into_equal_pieces_that_come_first() {
        let layout = RowLayout::natural(3, 1).unwrap();
        let work = Work::new(&[0, 10, 523, 530], &layout, &tasks(&[(0, 530)]), PIECE);
        assert_eq!(lengths(&work), [(0, 171), (1, 171), (2, 171), (0, 10), (2, 7)]);
        assert_eq!(work.n_pieces, 3);
        assert_eq!(work.splits, [SplitRow { first_piece: 0, n_pieces: 3, row: 1 }]);
    }

    #[test]
    fn the_schedules_cuts_are_kept() {
        let layout = RowLayout::natural(2, 1).unwrap();
        let work =
            Work::new(&[0, 5, 12], &layout, &tasks(&[(0, 5), (5, 8), (8, 9), (9, 12)]), PIECE);
        assert_eq!(lengths(&work), [(0, 3), (1, 1), (2, 3), (0, 5)]);
        assert_eq!(work.splits, [SplitRow { first_piece: 0, n_pieces: 3, row: 1 }]);
        // Windows of several rows may be cut inside of some of them only.
        let layout = RowLayout::natural(2, 2).unwrap();
        let work = Work::new(&[0, 5, 12], &layout, &tasks(&[(0, 7), (7, 12)]), PIECE);
        assert_eq!(lengths(&work), [(0, 2), (1, 5), (0, 5)]);
    }

    #[test]
    fn pieces_of_one_height_and_long_rows_come_first() {
        let layout = RowLayout::natural(5, 1).unwrap();
        let row_ptr = [0, 600, 610, 1210, 1220, 1420];
        let work = Work::new(&row_ptr, &layout, &tasks(&[(0, 1420)]), 256);
        let begins: Vec<_> = work.items.iter().map(|item| item.begin).collect();
        // The halves of rows 0 and 2 by turns, in slots 0, 1 and 3, 4; then 4, and 1 and 3.
        assert_eq!(begins, [0, 610, 200, 810, 400, 1010, 600, 1210, 1220]);
        assert_eq!(lengths(&work)[..6].iter().map(|l| l.0).collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
        let heavy = Work::new(&[0, 1, 2, 3, 103, 104], &layout, &tasks(&[(0, 104)]), 256);
        assert_eq!(lengths(&heavy), [(3, 100), (0, 1), (1, 1), (2, 1), (4, 1)]);
    }

    #[test]
    fn rows_go_where_the_layout_says_and_empty_slots_nowhere() {
        let layout = RowLayout::explicit(2, 1, vec![PAD_ROW, 1, PAD_ROW, 0]).unwrap();
        let work = Work::new(&[0, 0, 3, 3, 4], &layout, &tasks(&[(0, 4)]), PIECE);
        assert_eq!(lengths(&work), [(1, 3), (0, 1)]);
        // Beyond the last row a natural layout's window has slots without rows.
        let layout = RowLayout::natural(1, 2).unwrap();
        assert_eq!(lengths(&Work::new(&[0, 3, 3], &layout, &tasks(&[(0, 3)]), PIECE)), [(0, 3)]);
    }

    #[test]
    fn every_entry_is_in_one_item() {
        let row_ptr: Vec<u64> = (0..40).map(|i| i * i * 7).collect();
        let layout = RowLayout::natural(39, 1).unwrap();
        let cuts: Vec<_> = (0..).map(|i| i * 333).take_while(|&c| c < row_ptr[39]).collect();
        let ends = cuts.iter().skip(1).copied().chain([row_ptr[39]]);
        let tasks = tasks(&cuts.iter().copied().zip(ends).collect::<Vec<_>>());
        let mut items = Work::new(&row_ptr, &layout, &tasks, PIECE).items;
        items.sort_by_key(|item| (item.begin, item.length));
        let mut end = 0;
        for item in &items {
            assert_eq!(item.begin, end);
            assert!(u64::from(item.length) <= 2 * PIECE);
            end += u64::from(item.length);
        }
        assert_eq!(end, row_ptr[39]);
    }
}
