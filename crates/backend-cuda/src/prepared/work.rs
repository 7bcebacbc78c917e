//! The items of work that a plan's CSR is cut into.

use girih_formats::RowLayout;
use girih_planner::Task;

use crate::kernels::csr_spmm::{Item, SplitRow};

/// Entries of a piece. A warp takes some tens of nanoseconds for each, so that one piece is a few
/// microseconds long, and its sums are a 256th of what it reads of B.
const PIECE: u64 = 256;

/// Runs of entries, and which of them make up a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Pieces of split rows, then whole rows, both in order.
    pub(super) items: Vec<Item>,
    /// How many of the items are pieces.
    pub(super) n_pieces: u64,
    /// Rows in pieces.
    pub(super) splits: Vec<SplitRow>,
}

impl Work {
    /// The items of a matrix whose rows stand in the slots of `layout`: O(rows + nnz / 256).
    ///
    /// A row is cut where the schedule cuts it, and into more pieces where it is still longer than
    /// two: so what is summed where follows from the plan alone. Empty slots become no item.
    pub(super) fn new(row_ptr: &[u64], layout: &RowLayout, tasks: &[Task]) -> Self {
        let (mut pieces, mut whole) = (Vec::new(), Vec::new());
        let mut splits = Vec::new();
        let mut cuts = Vec::new();
        let mut task = 0;
        for (slot, entries) in row_ptr.windows(2).enumerate() {
            let Some(row) = layout.row(slot) else { continue };
            let (begin, end, row) = (entries[0], entries[1], row as u32);
            cuts.clear();
            cuts.push(begin);
            while tasks.get(task).is_some_and(|task| task.tile_start < end) {
                cut_evenly(&mut cuts, tasks[task].tile_start);
                task += 1;
            }
            cut_evenly(&mut cuts, end);
            if cuts.len() <= 2 {
                whole.push(Item { begin, length: (end - begin) as u32, row });
                continue;
            }
            let first_piece = pieces.len() as u64;
            pieces.extend(cuts.windows(2).map(|cut| Item {
                begin: cut[0],
                length: (cut[1] - cut[0]) as u32,
                row,
            }));
            splits.push(SplitRow { first_piece, n_pieces: cuts.len() as u32 - 1, row });
        }
        let n_pieces = pieces.len() as u64;
        pieces.extend(whole);
        Self { items: pieces, n_pieces, splits }
    }
}

/// Adds a cut at `end`, if it lies beyond the last, and cuts in between where that leaves more than two
/// pieces' entries.
fn cut_evenly(cuts: &mut Vec<u64>, end: u64) {
    let Some(&begin) = cuts.last() else { return };
    if end <= begin {
        return;
    }
    let entries = end - begin;
    let parts = if entries > 2 * PIECE { entries.div_ceil(PIECE) } else { 1 };
    let share = |part| begin + (u128::from(entries) * u128::from(part) / u128::from(parts)) as u64;
    cuts.extend((1..=parts).map(share));
}

#[cfg(test)]
mod tests {
    use girih_formats::{PAD_ROW, RowLayout};

    use super::*;

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
        let work = Work::new(&[0, 2, 2, 514], &layout, &tasks(&[(0, 2), (2, 514)]));
        assert_eq!(lengths(&work), [(0, 2), (1, 0), (2, 512)]);
        assert_eq!((work.n_pieces, &work.splits[..]), (0, &[][..]));
        assert_eq!(work.items[2].begin, 2);
    }

    #[test]
    fn long_rows_are_cut_into_equal_pieces_that_come_first() {
        let layout = RowLayout::natural(3, 1).unwrap();
        let work = Work::new(&[0, 10, 523, 530], &layout, &tasks(&[(0, 530)]));
        assert_eq!(lengths(&work), [(1, 171), (1, 171), (1, 171), (0, 10), (2, 7)]);
        assert_eq!(work.n_pieces, 3);
        assert_eq!(work.splits, [SplitRow { first_piece: 0, n_pieces: 3, row: 1 }]);
    }

    #[test]
    fn the_schedules_cuts_are_kept() {
        let layout = RowLayout::natural(2, 1).unwrap();
        let work = Work::new(&[0, 5, 12], &layout, &tasks(&[(0, 5), (5, 8), (8, 9), (9, 12)]));
        assert_eq!(lengths(&work), [(1, 3), (1, 1), (1, 3), (0, 5)]);
        assert_eq!(work.splits, [SplitRow { first_piece: 0, n_pieces: 3, row: 1 }]);
        // Windows of several rows may be cut inside of some of them only.
        let layout = RowLayout::natural(2, 2).unwrap();
        let work = Work::new(&[0, 5, 12], &layout, &tasks(&[(0, 7), (7, 12)]));
        assert_eq!(lengths(&work), [(1, 2), (1, 5), (0, 5)]);
    }

    #[test]
    fn rows_go_where_the_layout_says_and_empty_slots_nowhere() {
        let layout = RowLayout::explicit(2, 1, vec![PAD_ROW, 1, PAD_ROW, 0]).unwrap();
        let work = Work::new(&[0, 0, 3, 3, 4], &layout, &tasks(&[(0, 4)]));
        assert_eq!(lengths(&work), [(1, 3), (0, 1)]);
        // Beyond the last row a natural layout's window has slots without rows.
        let layout = RowLayout::natural(1, 2).unwrap();
        assert_eq!(lengths(&Work::new(&[0, 3, 3], &layout, &tasks(&[(0, 3)]))), [(0, 3)]);
    }

    #[test]
    fn every_entry_is_in_one_item() {
        let row_ptr: Vec<u64> = (0..40).map(|i| i * i * 7).collect();
        let layout = RowLayout::natural(39, 1).unwrap();
        let cuts: Vec<_> = (0..).map(|i| i * 333).take_while(|&c| c < row_ptr[39]).collect();
        let ends = cuts.iter().skip(1).copied().chain([row_ptr[39]]);
        let tasks = tasks(&cuts.iter().copied().zip(ends).collect::<Vec<_>>());
        let mut items = Work::new(&row_ptr, &layout, &tasks).items;
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
