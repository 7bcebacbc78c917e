//! Block rows in groups, one to a CTA, and the steps that a group is multiplied in.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::params::{GROUP_ROWS, Group, NONE};

/// Rows among which one is looked for that shares columns with a group.
const WINDOW: usize = 64;

/// Groups and their steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// The longest first: what runs last is short, and multiprocessors finish together.
    pub(super) groups: Vec<Group>,
    /// Of each step the block column, then for each row of the group its block there, or [`NONE`].
    pub(super) steps: Vec<u32>,
}

/// The blocks of a matrix, numbered in 32 bits: 2³² of them would be 32 TiB.
struct Blocks<'a> {
    block_row_ptr: &'a [u64],
    block_col_idx: &'a [u32],
}

impl Groups {
    /// One block row to a group: O(nnzb).
    pub(super) fn single(block_row_ptr: &[u64], block_col_idx: &[u32]) -> Self {
        let blocks = Blocks { block_row_ptr, block_col_idx };
        let mut groups = Self::default();
        for row in 0..blocks.n_rows() {
            groups.push(&blocks, &[row], 1);
        }
        groups.sorted()
    }

    /// Up to [`GROUP_ROWS`] block rows to a group, which share columns: O([`WINDOW`] · nnzb).
    ///
    /// Greedy: a group begins with the first row that is left, and takes on whichever of the next
    /// [`WINDOW`] rows adds the fewest columns for its length.
    pub(super) fn sharing(block_row_ptr: &[u64], block_col_idx: &[u32]) -> Self {
        let blocks = Blocks { block_row_ptr, block_col_idx };
        let n_cols = block_col_idx.iter().max().map_or(0, |&col| col as usize + 1);
        // The last group that has each column, counted from one.
        let mut seen = vec![0u32; n_cols];
        let mut left: VecDeque<usize> = (0..blocks.n_rows().min(WINDOW)).collect();
        let mut next = left.len();
        let mut groups = Self::default();
        while let Some(first) = left.pop_front() {
            let number = groups.groups.len() as u32 + 1;
            let mut rows = vec![first];
            while rows.len() < GROUP_ROWS {
                for &col in blocks.cols(rows[rows.len() - 1]) {
                    seen[col as usize] = number;
                }
                if next < blocks.n_rows() {
                    left.push_back(next);
                    next += 1;
                }
                // Shares of new columns, compared without dividing; the first of equals.
                let added = |&row: &usize| {
                    let cols = blocks.cols(row);
                    let new = cols.iter().filter(|&&col| seen[col as usize] != number).count();
                    (new as u64, cols.len().max(1) as u64)
                };
                let best = left.iter().map(added).enumerate().reduce(|best, other| {
                    let ((new, len), (other_new, other_len)) = (best.1, other.1);
                    if other_new * len < new * other_len { other } else { best }
                });
                let Some(row) = best.and_then(|(at, _)| left.remove(at)) else { break };
                rows.push(row);
            }
            if next < blocks.n_rows() {
                left.push_back(next);
                next += 1;
            }
            groups.push(&blocks, &rows, GROUP_ROWS);
        }
        groups.sorted()
    }

    /// Adds a group of these rows, and its steps, each with `width` block numbers.
    fn push(&mut self, blocks: &Blocks<'_>, rows: &[usize], width: usize) {
        let before = self.steps.len();
        let mut group = Group { block_rows: [NONE; GROUP_ROWS], ..Group::default() };
        // Where each row's blocks that are left begin and end.
        let mut left = [(0, 0); GROUP_ROWS];
        for (i, &row) in rows.iter().enumerate() {
            group.block_rows[i] = row as u32;
            left[i] = blocks.of(row);
        }
        let next = |left: &[(usize, usize)]| {
            let left = left.iter().filter(|(begin, end)| begin < end);
            left.map(|&(begin, _)| blocks.block_col_idx[begin]).min()
        };
        while let Some(col) = next(&left) {
            self.steps.push(col);
            for (begin, end) in &mut left[..width] {
                let has = *begin < *end && blocks.block_col_idx[*begin] == col;
                self.steps.push(if has { *begin as u32 } else { NONE });
                *begin += usize::from(has);
            }
        }
        group.first_step = (before / (1 + width)) as u64;
        group.n_steps = ((self.steps.len() - before) / (1 + width)) as u32;
        self.groups.push(group);
    }

    fn sorted(mut self) -> Self {
        self.groups.sort_by_key(|group| Reverse(group.n_steps));
        self
    }
}

impl Blocks<'_> {
    fn n_rows(&self) -> usize {
        self.block_row_ptr.len() - 1
    }

    fn of(&self, row: usize) -> (usize, usize) {
        (self.block_row_ptr[row] as usize, self.block_row_ptr[row + 1] as usize)
    }

    fn cols(&self, row: usize) -> &[u32] {
        let (begin, end) = self.of(row);
        &self.block_col_idx[begin..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_share_the_steps_of_their_columns() {
        let groups = Groups::sharing(&[0, 2, 2, 5], &[1, 4, 0, 1, 2]);
        let [group] = &groups.groups[..] else { panic!("{groups:?}") };
        // The row without blocks adds no column.
        assert_eq!((group.first_step, group.n_steps, group.block_rows), (0, 4, [0, 1, 2]));
        let expected = [0, NONE, NONE, 2, 1, 0, NONE, 3, 2, NONE, NONE, 4, 4, 1, NONE, NONE];
        assert_eq!(groups.steps, expected);
    }

    #[test]
    fn like_rows_are_found() {
        // Rows of three kinds in turns: each kind's are put together.
        let row_ptr: Vec<u64> = (0..=18).map(|row| row * 2).collect();
        let col_idx: Vec<u32> = (0..18).flat_map(|row| [row % 3 * 10, row % 3 * 10 + 1]).collect();
        let groups = Groups::sharing(&row_ptr, &col_idx);
        assert_eq!(groups.groups.len(), 6);
        for group in &groups.groups {
            let [a, b, c] = group.block_rows;
            assert!(a % 3 == b % 3 && b % 3 == c % 3 && group.n_steps == 2, "{group:?}");
        }
    }

    #[test]
    fn every_row_is_in_one_group() {
        let row_ptr: Vec<u64> = (0..=200u64).map(|row| row * row / 7).collect();
        let col_idx: Vec<u32> = row_ptr.windows(2).flat_map(|w| 0..(w[1] - w[0]) as u32).collect();
        let groups = Groups::sharing(&row_ptr, &col_idx);
        let mut rows: Vec<_> = groups.groups.iter().flat_map(|group| group.block_rows).collect();
        rows.retain(|&row| row != NONE);
        rows.sort_unstable();
        assert_eq!(rows, (0..200).collect::<Vec<_>>());
        let blocks = groups.steps.chunks(4).flat_map(|step| &step[1..]);
        assert_eq!(blocks.filter(|&&block| block != NONE).count(), col_idx.len());
        let steps: u32 = groups.groups.iter().map(|group| group.n_steps).sum();
        assert_eq!(steps as usize * 4, groups.steps.len());
    }

    #[test]
    fn the_longest_come_first_in_order() {
        let groups = Groups::single(&[0, 0, 3, 4, 7], &[0, 1, 2, 5, 3, 4, 9]);
        let rows: Vec<_> = groups.groups.iter().map(|group| group.block_rows[0]).collect();
        assert_eq!(rows, [1, 3, 2, 0]);
        assert_eq!(groups.steps.len(), 14);
    }

    #[test]
    fn no_rows_are_no_groups() {
        assert_eq!(Groups::single(&[0], &[]), Groups::default());
        assert_eq!(Groups::sharing(&[0], &[]), Groups::default());
    }
}
