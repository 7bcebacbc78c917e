//! The sorted union of the columns (or block columns) of each window.

use std::collections::HashMap;
use std::ops::Range;

use bytemuck::Zeroable;
use girih_parallel::prelude::*;

use super::marks::Marks;
use super::windows::{Pool, accumulate, occupied, split_at_ends, window_chunks, zeroed};
use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::pattern::CsrPattern;

/// A set of columns, or of blocks of columns, and the rank of each in it.
///
/// A bit per member, 64 to a word; next to the bits stands the rank of the word's first, so that a
/// rank is one load and a popcount. A quarter byte per column, however few are members; everything
/// but making the set costs O(members). Where the entries do not justify a quarter byte per column,
/// only words with members are stored, and found by hash.
pub(crate) struct ColumnSet {
    /// Every word by its number; with `places`, the ones that have members.
    words: Vec<Word>,
    /// Where in `words` those with members are; `None` if all words are there.
    places: Option<HashMap<u32, usize>>,
    /// Words that are not empty: in the order they were first touched until `sort`.
    touched: Vec<u32>,
}

#[derive(Clone, Copy, Zeroable)]
struct Word {
    bits: u64,
    rank: u64,
}

impl ColumnSet {
    /// An empty set of units below `limit`, for a matrix of `entries`.
    pub(crate) fn new(limit: usize, entries: usize) -> Self {
        let sparse = limit > entries.saturating_mul(16).saturating_add(1 << 24);
        let words = if sparse { 0 } else { limit.div_ceil(64) };
        Self {
            words: bytemuck::allocation::zeroed_vec(words),
            places: sparse.then(HashMap::new),
            touched: Vec::new(),
        }
    }

    /// Where word `w` is, or would be: out of bounds if it has no members and is not stored.
    #[inline(always)]
    fn place(&self, w: u32) -> usize {
        match &self.places {
            None => w as usize,
            Some(places) => places.get(&w).copied().unwrap_or(usize::MAX),
        }
    }

    /// Word `w`, to be given a member.
    #[inline(always)]
    fn word_mut(&mut self, w: u32) -> &mut Word {
        let place = match &mut self.places {
            None => w as usize,
            Some(places) => *places.entry(w).or_insert_with(|| {
                self.words.push(Word::zeroed());
                self.words.len() - 1
            }),
        };
        &mut self.words[place]
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, unit: u32) {
        let word = self.word_mut(unit >> 6);
        let first = word.bits == 0;
        word.bits |= 1 << (unit & 63);
        if first {
            self.touched.push(unit >> 6);
        }
    }

    /// Number of members.
    pub(crate) fn len(&self) -> usize {
        self.touched.iter().map(|&w| self.words[self.place(w)].bits.count_ones() as usize).sum()
    }

    /// Ranks the members; needed before [`rank`](Self::rank) and [`members`](Self::members).
    pub(crate) fn sort(&mut self) {
        self.touched.sort_unstable();
        let mut rank = 0;
        for i in 0..self.touched.len() {
            let word = self.word_mut(self.touched[i]);
            word.rank = rank;
            rank += u64::from(word.bits.count_ones());
        }
    }

    /// Fills an empty set with a sorted list that may end in padding.
    pub(crate) fn load(&mut self, list: &[u32]) {
        for (rank, &unit) in list.iter().take_while(|&&unit| unit != PAD_COL).enumerate() {
            let word = self.word_mut(unit >> 6);
            let first = word.bits == 0;
            word.bits |= 1 << (unit & 63);
            if first {
                word.rank = rank as u64;
                self.touched.push(unit >> 6);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn contains(&self, unit: u32) -> bool {
        self.words.get(self.place(unit >> 6)).is_some_and(|word| word.bits >> (unit & 63) & 1 == 1)
    }

    /// How many members are below `unit`, a member.
    #[inline(always)]
    pub(crate) fn rank(&self, unit: u32) -> usize {
        let word = self.words[self.place(unit >> 6)];
        let below = word.bits & ((1 << (unit & 63)) - 1);
        word.rank as usize + below.count_ones() as usize
    }

    /// The members in increasing order.
    pub(crate) fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.touched.iter().flat_map(|&w| {
            let mut bits = self.words[self.place(w)].bits;
            std::iter::from_fn(move || {
                let member = (bits != 0).then(|| (w << 6) + bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
                member
            })
        })
    }

    pub(crate) fn clear(&mut self) {
        if let Some(places) = &mut self.places {
            places.clear();
            self.words.clear();
        } else {
            for &w in &self.touched {
                self.words[w as usize].bits = 0;
            }
        }
        self.touched.clear();
    }
}

/// Runs of one row's entries that fall into the same block of `width` columns: calls
/// `run(block, entries)` for each, in order.
#[inline(always)]
pub(crate) fn for_each_block(cols: &[u32], width: u32, mut run: impl FnMut(u32, Range<usize>)) {
    let mut i = 0;
    while i < cols.len() {
        let block = cols[i] / width;
        let first = block * width;
        let start = i;
        // Columns increase, so a block is full if its last column stands in the right place.
        let full = i + width as usize;
        if cols.get(full - 1).is_some_and(|&last| last - first == width - 1) {
            i = full;
        } else {
            while i < cols.len() && cols[i] - first < width {
                i += 1;
            }
        }
        run(block, start..i);
    }
}

/// Column lists of all windows, one after the other.
pub(crate) struct WindowIndex {
    /// Offsets of the windows in `idx`.
    pub(crate) ptr: Vec<u64>,
    /// Sorted columns (or block columns), each window padded with [`PAD_COL`].
    pub(crate) idx: Buffer<u32>,
}

/// Columns of a window's rows, as a set: what all formats with windows start from.
///
/// `width` is the number of columns that count as one: 1 for WCSR and BMat, the block width for
/// BCSR and Blocked-ELL.
#[derive(Clone, Copy)]
pub(crate) struct Unions<'a> {
    pub(crate) pattern: CsrPattern<'a>,
    pub(crate) layout: &'a RowLayout,
    pub(crate) width: u32,
}

impl Unions<'_> {
    fn units(&self) -> usize {
        self.pattern.ncols().div_ceil(self.width as usize)
    }

    fn new_set(&self) -> ColumnSet {
        ColumnSet::new(self.units(), self.pattern.nnz())
    }

    fn collect(&self, set: &mut ColumnSet, w: usize) {
        for (_, row) in occupied(self.layout, w) {
            let cols = self.pattern.row(row);
            if self.width == 1 {
                for &col in cols {
                    set.insert(col);
                }
            } else {
                for_each_block(cols, self.width, |block, _| set.insert(block));
            }
        }
    }

    /// Entries of some windows.
    fn entries(&self, windows: Range<usize>) -> usize {
        let rows = windows.flat_map(|w| occupied(self.layout, w));
        rows.map(|(_, row)| self.pattern.row(row).len()).sum()
    }

    /// Members of each window's union. O(nnz + windows), in parallel, nothing else stored.
    pub(crate) fn counts(&self) -> Vec<u32> {
        let (units, nnz) = (self.units(), self.pattern.nnz());
        match Marks::fit(units, nnz, girih_parallel::current_num_threads()) {
            true => self.each_count(|| Marks::new(units), |marks, w| self.mark(marks, w)),
            false => self.each_count(
                || self.new_set(),
                |set, w| {
                    self.collect(set, w);
                    let members = set.len() as u32;
                    set.clear();
                    members
                },
            ),
        }
    }

    /// What `count` says of each window, with a scratch for each thread.
    fn each_count<S: Send>(
        &self,
        scratch: impl Fn() -> S + Sync,
        count: impl Fn(&mut S, usize) -> u32 + Sync,
    ) -> Vec<u32> {
        let chunks = window_chunks(self.layout, self.pattern.row_ptr(), usize::MAX);
        let mut counts = vec![0; self.layout.n_windows()];
        let pieces = split_at_ends(&mut counts, chunks.iter().map(|c| c.end));
        let pool = Pool::new();
        chunks.par_iter().with_max_len(1).zip(pieces).for_each(|(windows, counts)| {
            pool.with(&scratch, |scratch| {
                for (w, found) in windows.clone().zip(counts) {
                    *found = count(scratch, w);
                }
            });
        });
        counts
    }

    /// Members of window `w`.
    fn mark(&self, marks: &mut Marks, w: usize) -> u32 {
        marks.begin();
        if self.layout.is_natural() {
            let slots = self.layout.window(w);
            let at = |slot: usize| self.pattern.row_ptr()[slot.min(self.pattern.nrows())] as usize;
            return marks
                .count(&self.pattern.col_idx()[at(slots.start)..at(slots.end)], self.width);
        }
        let rows = occupied(self.layout, w);
        rows.map(|(_, row)| marks.count(self.pattern.row(row), self.width)).sum()
    }

    /// Each window's union, padded to a multiple of `pad`. O(nnz + windows), in parallel.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`].
    pub(crate) fn index(&self, pad: usize) -> Result<WindowIndex, FormatError> {
        self.index_where(pad, |_, _| true)
    }

    /// The same with empty lists for windows that are not kept, by their number and the members of their
    /// union.
    ///
    /// # Errors
    /// [`FormatError::OutOfMemory`].
    pub(crate) fn index_where(
        &self,
        pad: usize,
        is_kept: impl Fn(usize, usize) -> bool + Sync,
    ) -> Result<WindowIndex, FormatError> {
        let chunks = window_chunks(self.layout, self.pattern.row_ptr(), usize::MAX);
        let mut ptr = vec![0u64; self.layout.n_windows() + 1];
        let pieces = split_at_ends(&mut ptr[1..], chunks.iter().map(|c| c.end));
        let pool = Pool::new();
        let lists: Vec<Vec<u32>> = chunks
            .par_iter()
            .with_max_len(1)
            .zip(pieces)
            .map(|(windows, lens)| {
                pool.with(
                    || self.new_set(),
                    |set| {
                        // At least the capacity for the members: what is never written is never there,
                        // and nothing is left behind by growing.
                        let mut list = Vec::with_capacity(self.entries(windows.clone()));
                        for (w, len) in windows.clone().zip(lens) {
                            let start = list.len();
                            self.collect(set, w);
                            if is_kept(w, set.len()) {
                                set.sort();
                                list.extend(set.members());
                            }
                            set.clear();
                            list.resize(
                                start + (list.len() - start).next_multiple_of(pad),
                                PAD_COL,
                            );
                            *len = (list.len() - start) as u64;
                        }
                        list
                    },
                )
            })
            .collect();
        accumulate(&mut ptr);
        let mut idx = zeroed(&[lists.iter().map(Vec::len).sum()])?;
        let pieces = split_at_ends(idx.make_mut(), chunks.iter().map(|c| ptr[c.end] as usize));
        lists.into_par_iter().zip(pieces).for_each(|(list, piece)| piece.copy_from_slice(&list));
        Ok(WindowIndex { ptr, idx })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_sorts_and_ranks_its_members() {
        sorts_and_ranks(ColumnSet::new(300, 5));
    }

    #[test]
    fn a_set_of_few_among_very_many_is_the_same() {
        let set = ColumnSet::new(u32::MAX as usize, 5);
        assert_eq!(set.words.len(), 0);
        sorts_and_ranks(set);
        let mut set = ColumnSet::new(u32::MAX as usize, 5);
        set.load(&[7, 64, u32::MAX - 1, PAD_COL]);
        assert_eq!([7, 64, u32::MAX - 1].map(|u| set.rank(u)), [0, 1, 2]);
        assert!(set.contains(64) && !set.contains(65) && !set.contains(1 << 20));
    }

    fn sorts_and_ranks(mut set: ColumnSet) {
        for _ in 0..2 {
            for unit in [299, 3, 64, 65, 3, 0] {
                set.insert(unit);
            }
            set.sort();
            assert_eq!(set.members().collect::<Vec<_>>(), [0, 3, 64, 65, 299]);
            assert_eq!([0, 3, 64, 65, 299].map(|u| set.rank(u)), [0, 1, 2, 3, 4]);
            assert_eq!(set.len(), 5);
            set.clear();
            set.load(&[2, 70, 128, PAD_COL, PAD_COL]);
            assert_eq!([2, 70, 128].map(|u| set.rank(u)), [0, 1, 2]);
            set.clear();
            assert_eq!(set.len(), 0);
        }
    }

    #[test]
    fn runs_end_where_blocks_end() {
        let runs = |cols: &[u32], width| {
            let mut runs = Vec::new();
            for_each_block(cols, width, |block, entries| runs.push((block, entries)));
            runs
        };
        assert_eq!(runs(&[0, 1, 2, 3, 4, 9], 3), [(0, 0..3), (1, 3..5), (3, 5..6)]);
        assert_eq!(runs(&[1, 2, 3], 3), [(0, 0..2), (1, 2..3)]);
        assert_eq!(runs(&[5, 7], 1), [(5, 0..1), (7, 1..2)]);
        assert_eq!(runs(&[u32::MAX - 1], 2), [(u32::MAX / 2, 0..1)]);
        assert_eq!(runs(&[], 4), []);
    }
}
