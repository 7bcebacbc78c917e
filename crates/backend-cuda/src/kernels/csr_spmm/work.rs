//! The items of work that a plan's CSR is cut into.

use std::cmp::Reverse;

use girih_planner::schedule::Task;

use super::limits::Limits;
use super::rows::RowOfSlot;
use super::statistics::heavy;
use super::{Item, ItemCounts, SplitRow};

/// Rows whose lengths are within this of each other may as well stay in their order.
const SHARE: u32 = 32;

/// Runs of entries, and which of them make up a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Pieces of split rows, the first of every row, then the second and so on; other items of blocks;
    /// those of warps; the rest.
    pub(super) items: Vec<Item>,
    /// How many of the items are pieces.
    pub(super) n_pieces: u64,
    /// How many items there are of each kind; pieces are blocks'.
    pub(super) counts: ItemCounts,
    /// The rows of C whose rows of A have no entries. They are no items.
    pub(super) empty_rows: Vec<u32>,
    /// Entries of the rest.
    pub(super) rest_entries: u64,
    /// Rows in pieces.
    pub(super) splits: Vec<SplitRow>,
    /// Of each piece, by its number, which of these it belongs to.
    pub(super) split_of: Vec<u32>,
}

impl Work {
    /// No list of items: those of a matrix with `slots` slots whose rows are all alike.
    pub(super) fn alike(slots: u64, entries: u64) -> Self {
        let counts = ItemCounts { rest: slots, ..ItemCounts::default() };
        Self { counts, rest_entries: entries, ..Self::default() }
    }

    /// The items of a matrix whose rows stand in the slots of `layout`: O(rows + nnz / `limits.piece`).
    ///
    /// A row is cut where the schedule cuts it, unless a warp could as well take both parts, and into more
    /// pieces where it is still longer than two: so what is summed where follows from the plan and the
    /// limits alone. Slots without a row become no item, nor do rows without entries.
    ///
    /// Pieces that are multiplied at the same time lie at the same height of their rows, so that they
    /// read rows of B that are near each other. Long rows come before short ones, which else keep
    /// their order.
    pub(super) fn new(
        row_ptr: &[u64],
        layout: &impl RowOfSlot,
        tasks: &[Task],
        limits: Limits,
    ) -> Self {
        let heavy = heavy(row_ptr);
        // Of each piece, which one of its row it is.
        let mut pieces: Vec<(u32, Item)> = Vec::new();
        let (mut of_blocks, mut of_warps, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let (mut splits, mut split_of) = (Vec::new(), Vec::new());
        let mut empty_rows = Vec::new();
        let mut cuts = Vec::new();
        let mut task = 0;
        for (slot, entries) in row_ptr.windows(2).enumerate() {
            let Some(row) = layout.row(slot) else { continue };
            let (begin, end, row) = (entries[0], entries[1], row as u32);
            if begin == end {
                empty_rows.push(row);
                continue;
            }
            cuts.clear();
            cuts.push(begin);
            let least = least_piece(end - begin);
            let (apart, piece) = (limits.warp.max(least), limits.piece.max(least));
            let mut last = begin;
            while tasks.get(task).is_some_and(|task| task.tile_start < end) {
                let at = tasks[task].tile_start;
                if at >= last.saturating_add(apart) {
                    cut_evenly(&mut cuts, at, piece);
                    last = at;
                }
                task += 1;
            }
            cut_evenly(&mut cuts, end, piece);
            if cuts.len() <= 2 {
                let entries = end - begin;
                let kind = if entries > limits.warp {
                    &mut of_blocks
                } else if entries > heavy {
                    &mut of_warps
                } else {
                    &mut rest
                };
                kind.push(Item { begin, length: entries as u32, row });
                continue;
            }
            let first_piece = pieces.len() as u64;
            pieces.extend(cuts.windows(2).zip(0..).map(|(cut, part)| {
                let length = (cut[1] - cut[0]) as u32;
                (part, Item { begin: cut[0], length, row: first_piece as u32 + part })
            }));
            split_of.resize(pieces.len(), splits.len() as u32);
            splits.push(SplitRow { first_piece, n_pieces: cuts.len() as u32 - 1, row });
        }
        pieces.sort_by_key(|&(part, _)| part);
        for items in [&mut of_blocks, &mut of_warps] {
            items.sort_by_key(|item: &Item| Reverse(item.length / SHARE));
        }
        let n_pieces = pieces.len() as u64;
        let counts = ItemCounts {
            by_block: n_pieces + of_blocks.len() as u64,
            by_warp: of_warps.len() as u64,
            rest: rest.len() as u64,
            empty_rows: empty_rows.len() as u64,
        };
        let rest_entries = rest.iter().map(|item| u64::from(item.length)).sum();
        let pieces = pieces.into_iter().map(|(_, item)| item);
        let items = pieces.chain(of_blocks).chain(of_warps).chain(rest).collect();
        Self { items, n_pieces, counts, empty_rows, rest_entries, splits, split_of }
    }
}

impl Work {
    /// Of each split row, how many entries it has.
    pub(super) fn split_entries(&self) -> Vec<u32> {
        let mut entries = vec![0; self.splits.len()];
        for piece in &self.items[..self.n_pieces as usize] {
            entries[self.split_of[piece.row as usize] as usize] += piece.length;
        }
        entries
    }
}

/// The fewest entries of a piece of a row of `entries`. Longer pieces are fewer, and one block adds up all pieces of a row. On an
/// H200 `boyd1_A`, whose long rows have 31 000 entries, is 1.36 times as fast with this limit (f32, 128 columns).
fn least_piece(entries: u64) -> u64 {
    (2 * entries).isqrt()
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
    /// Nothing is shared out but what is cut.
    const LIMITS: Limits = Limits { warp: u64::MAX, piece: PIECE };

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
        let work = Work::new(&[0, 2, 2, 514], &layout, &tasks(&[(0, 2), (2, 514)]), LIMITS);
        assert_eq!(lengths(&work), [(2, 512), (0, 2)]);
        assert_eq!((&work.empty_rows[..], work.counts.empty_rows), (&[1][..], 1));
        assert_eq!((work.n_pieces, &work.splits[..]), (0, &[][..]));
        assert_eq!(work.items[0].begin, 2);
    }

    #[test]
    fn long_rows_are_cut_into_equal_pieces_that_come_first() {
        let layout = RowLayout::natural(3, 1).unwrap();
        let work = Work::new(&[0, 10, 523, 530], &layout, &tasks(&[(0, 530)]), LIMITS);
        assert_eq!(lengths(&work), [(0, 171), (1, 171), (2, 171), (0, 10), (2, 7)]);
        assert_eq!(work.n_pieces, 3);
        assert_eq!(work.splits, [SplitRow { first_piece: 0, n_pieces: 3, row: 1 }]);
        assert_eq!(work.split_entries(), [513]);
    }

    #[test]
    fn the_schedules_cuts_are_kept_but_for_short_parts() {
        let layout = RowLayout::natural(2, 1).unwrap();
        let cuts = tasks(&[(0, 5), (5, 9), (9, 13), (13, 14), (14, 17)]);
        let row_ptr = [0, 5, 17];
        let work = |warp| Work::new(&row_ptr, &layout, &cuts, Limits { warp, ..LIMITS });
        assert_eq!(lengths(&work(4)), [(0, 4), (1, 4), (2, 4), (0, 5)]);
        assert_eq!(work(4).splits, [SplitRow { first_piece: 0, n_pieces: 3, row: 1 }]);
        assert_eq!(lengths(&work(5)), [(0, 8), (1, 4), (0, 5)]);
        assert_eq!(lengths(&work(10)), [(1, 12), (0, 5)]);
        // Windows of several rows may be cut inside of some of them only.
        let layout = RowLayout::natural(2, 2).unwrap();
        let limits = Limits { warp: 2, ..LIMITS };
        let work = Work::new(&[0, 5, 12], &layout, &tasks(&[(0, 8), (8, 12)]), limits);
        assert_eq!(lengths(&work), [(0, 3), (1, 4), (0, 5)]);
    }

    #[test]
    fn pieces_are_longer_the_longer_a_row_is() {
        let pieces = |entries: u64| {
            let tasks: Vec<_> = (0..entries / 50).map(|i| (i * 50, (i + 1) * 50)).collect();
            let limits = Limits { warp: 40, piece: 64 };
            let layout = RowLayout::natural(1, 1).unwrap();
            let work = Work::new(&[0, entries], &layout, &self::tasks(&tasks), limits);
            let lengths = work.items.iter().map(|item| item.length);
            (work.n_pieces, lengths.clone().min().unwrap(), lengths.max().unwrap())
        };
        // As the schedule cuts, up to a row of half of the square of that.
        assert_eq!(pieces(1250), (25, 50, 50));
        assert_eq!(pieces(20_000), (100, 200, 200));
        assert_eq!(pieces(2_000_000), (1000, 2000, 2000));
    }

    #[test]
    fn pieces_of_one_height_and_long_rows_come_first() {
        let layout = RowLayout::natural(5, 1).unwrap();
        let row_ptr = [0, 600, 610, 1210, 1220, 1420];
        let work = Work::new(&row_ptr, &layout, &tasks(&[(0, 1420)]), LIMITS);
        let begins: Vec<_> = work.items.iter().map(|item| item.begin).collect();
        // The halves of rows 0 and 2 by turns, in slots 0, 1 and 3, 4; then 4, and 1 and 3.
        assert_eq!(begins, [0, 610, 200, 810, 400, 1010, 600, 1210, 1220]);
        assert_eq!(lengths(&work)[..6].iter().map(|l| l.0).collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
        let heavy = Work::new(&[0, 1, 2, 3, 103, 104], &layout, &tasks(&[(0, 104)]), LIMITS);
        assert_eq!(lengths(&heavy), [(3, 100), (0, 1), (1, 1), (2, 1), (4, 1)]);
    }

    #[test]
    fn items_go_to_blocks_and_warps_by_their_length() {
        let layout = RowLayout::natural(6, 1).unwrap();
        let row_ptr = [0, 3, 20, 170, 190, 900, 1000];
        let limits = Limits { warp: 90, piece: 256 };
        // The mean is 142 of 7.
        let work = Work::new(&row_ptr, &layout, &tasks(&[(0, 1000)]), limits);
        let counts = ItemCounts { by_block: 3 + 2, by_warp: 0, rest: 3, empty_rows: 0 };
        assert_eq!(work.counts, counts);
        assert_eq!(lengths(&work)[3..], [(2, 150), (5, 100), (0, 3), (1, 17), (3, 20)]);
        assert_eq!((work.n_pieces, work.rest_entries), (3, 40));
        assert_eq!((work.splits[0].row, &work.split_of[..]), (4, &[0, 0, 0][..]));
        // Many short rows more: now the others are long.
        let row_ptr: Vec<u64> = row_ptr.into_iter().chain((0..200).map(|_| 1000)).collect();
        let layout = RowLayout::natural(206, 1).unwrap();
        let work = Work::new(&row_ptr, &layout, &tasks(&[(0, 1000)]), limits);
        let counts = ItemCounts { by_block: 5, by_warp: 2, rest: 1, empty_rows: 200 };
        assert_eq!(work.counts, counts);
        assert_eq!(lengths(&work)[5..], [(1, 17), (3, 20), (0, 3)]);
    }

    #[test]
    fn rows_go_where_the_layout_says_and_empty_slots_nowhere() {
        let layout = RowLayout::explicit(2, 1, vec![PAD_ROW, 1, PAD_ROW, 0]).unwrap();
        let work = Work::new(&[0, 0, 3, 3, 4], &layout, &tasks(&[(0, 4)]), LIMITS);
        assert_eq!(lengths(&work), [(1, 3), (0, 1)]);
        // Beyond the last row a natural layout's window has slots without rows.
        let layout = RowLayout::natural(1, 2).unwrap();
        assert_eq!(lengths(&Work::new(&[0, 3, 3], &layout, &tasks(&[(0, 3)]), LIMITS)), [(0, 3)]);
    }

    #[test]
    fn every_entry_is_in_one_item() {
        let row_ptr: Vec<u64> = (0..40).map(|i| i * i * 7).collect();
        let layout = RowLayout::natural(39, 1).unwrap();
        let cuts: Vec<_> = (0..).map(|i| i * 333).take_while(|&c| c < row_ptr[39]).collect();
        let ends = cuts.iter().skip(1).copied().chain([row_ptr[39]]);
        let tasks = tasks(&cuts.iter().copied().zip(ends).collect::<Vec<_>>());
        let limits = Limits { warp: 64, ..LIMITS };
        let mut items = Work::new(&row_ptr, &layout, &tasks, limits).items;
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
