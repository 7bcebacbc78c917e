//! CSR ↔ BMat.

use girih_parallel::prelude::*;

use crate::PAD_COL;
use crate::buffer::Buffer;
use crate::csr::Csr;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;
use crate::tilings::BMat;
use crate::tilings::shared::fill::{Locate, Sink, fill};
use crate::tilings::shared::read_back::{self, Rows};
use crate::tilings::shared::union::{ColumnSet, Unions, WindowIndex};
use crate::tilings::shared::windows::{
    Pool, accumulate, check_layout, occupied, split_at_ends, window_chunks, zeroed,
};

const TILE_COLS: usize = BMat::<f32>::TILE_COLS;
const TILE_WORDS: usize = BMat::<f32>::TILE_WORDS;

/// The places of a BMat's values.
pub(crate) struct Masks<'a> {
    pub(crate) layout: &'a RowLayout,
    pub(crate) ncols: usize,
    pub(crate) window_ptr: &'a [u64],
    pub(crate) tile_col_idx: &'a [u32],
    pub(crate) tile_bits: &'a [u32],
    pub(crate) tile_value_ptr: &'a [u64],
}

impl<'a> Masks<'a> {
    pub(crate) fn of<T: Scalar>(t: &'a BMat<T>) -> Self {
        Self {
            layout: t.layout(),
            ncols: t.ncols(),
            window_ptr: t.window_ptr(),
            tile_col_idx: t.tile_col_idx(),
            tile_bits: t.tile_bits(),
            tile_value_ptr: t.tile_value_ptr(),
        }
    }
}

impl Locate for Masks<'_> {
    type Scratch = Tiles;

    fn scratch(&self) -> Tiles {
        Tiles { set: ColumnSet::new(self.ncols, self.tile_col_idx.len()), word_ptr: Vec::new() }
    }

    fn layout(&self) -> &RowLayout {
        self.layout
    }

    fn strip_ptr(&self, w: usize) -> usize {
        self.tile_value_ptr[self.window_ptr[w] as usize] as usize
    }

    fn load(&self, scratch: &mut Tiles, w: usize) {
        let tiles = self.window_ptr[w] as usize..self.window_ptr[w + 1] as usize;
        scratch.set.clear();
        scratch.set.load(&self.tile_col_idx[tiles.start * TILE_COLS..tiles.end * TILE_COLS]);
        let mut end = self.tile_value_ptr[tiles.start];
        scratch.word_ptr.clear();
        let words = &self.tile_bits[tiles.start * TILE_WORDS..tiles.end * TILE_WORDS];
        scratch.word_ptr.extend(words.iter().map(|bits| {
            let start = end;
            end += u64::from(bits.count_ones());
            start
        }));
    }

    fn holds(&self, scratch: &Tiles, w: usize, r: usize, cols: &[u32]) -> bool {
        let bits = &self.tile_bits[self.window_ptr[w] as usize * TILE_WORDS..];
        cols.iter().all(|&col| {
            scratch.set.contains(col) && {
                let (word, bit) = word_and_bit(scratch.set.rank(col), r);
                bits[word] >> bit & 1 == 1
            }
        })
    }

    #[inline(always)]
    fn locate<S: Sink>(&self, scratch: &Tiles, w: usize, r: usize, cols: &[u32], sink: &mut S) {
        let tiles = self.window_ptr[w] as usize..self.window_ptr[w + 1] as usize;
        let bits = &self.tile_bits[tiles.start * TILE_WORDS..tiles.end * TILE_WORDS];
        for (i, &col) in cols.iter().enumerate() {
            let (word, bit) = word_and_bit(scratch.set.rank(col), r);
            let below = (bits[word] & ((1 << bit) - 1)).count_ones();
            sink.put(i, scratch.word_ptr[word] as usize + below as usize);
        }
    }
}

/// What it takes to find an entry's value in one window.
pub(crate) struct Tiles {
    set: ColumnSet,
    /// Where the values of each mask word begin.
    word_ptr: Vec<u64>,
}

/// The mask word, counted from the window's first, and the bit of row `r` and packed column `rank`.
#[inline(always)]
fn word_and_bit(rank: usize, r: usize) -> (usize, u32) {
    let (word, bit) = BMat::<f32>::bit(r, rank % TILE_COLS);
    (rank / TILE_COLS * TILE_WORDS + word, bit)
}

impl<T: Scalar> BMat<T> {
    /// Condenses the columns of each 16-row window of `layout` into 16×8 tiles.
    ///
    /// `pattern_only` stores no values: every entry then stands for 1. Explicit zeros are entries.
    /// O(nnz + windows), in parallel over windows, the same bytes on any number of threads.
    /// Allocates the result, a bit set over the columns per thread, and for a moment a second copy
    /// of `tile_col_idx`.
    ///
    /// # Errors
    /// If the layout is of another matrix or has windows of another height, or memory is short.
    pub fn from_csr(
        csr: &Csr<T>,
        layout: RowLayout,
        pattern_only: bool,
    ) -> Result<Self, FormatError> {
        T::bmat_from_csr(csr, layout, pattern_only)
    }

    /// [`from_csr`](Self::from_csr), [compiled once](crate::compiled).
    pub(crate) fn tiled(
        csr: &Csr<T>,
        layout: RowLayout,
        pattern_only: bool,
    ) -> Result<Self, FormatError> {
        check_layout(&layout, csr.nrows(), Self::WINDOW_ROWS)?;
        let unions = Unions { pattern: csr.pattern(), layout: &layout, width: 1 };
        let WindowIndex { ptr: mut window_ptr, idx: tile_col_idx } = unions.index(TILE_COLS)?;
        for p in &mut window_ptr {
            *p /= TILE_COLS as u64;
        }
        let ncols = csr.ncols();
        let tile_bits = tile_bits(csr.pattern(), &layout, &window_ptr, &tile_col_idx)?;
        let mut tile_value_ptr = vec![0; tile_bits.len() / TILE_WORDS + 1];
        tile_value_ptr[1..]
            .par_iter_mut()
            .zip(tile_bits.par_chunks_exact(TILE_WORDS))
            .with_min_len(1 << 12)
            .for_each(|(count, bits)| {
                *count = bits.iter().map(|b| u64::from(b.count_ones())).sum();
            });
        accumulate(&mut tile_value_ptr);
        let mut values = None;
        if !pattern_only {
            let values = values.insert(zeroed(&[csr.nnz()])?);
            let masks = Masks {
                layout: &layout,
                ncols,
                window_ptr: &window_ptr,
                tile_col_idx: &tile_col_idx,
                tile_bits: &tile_bits,
                tile_value_ptr: &tile_value_ptr,
            };
            fill(&masks, csr, values.make_mut());
        }
        Ok(Self::from_parts(
            layout,
            ncols,
            window_ptr.into(),
            tile_col_idx,
            tile_bits,
            tile_value_ptr.into(),
            values,
        ))
    }

    /// The entries as CSR, rows in their original order, explicit zeros included. Of a pattern-only
    /// BMat, every value is 1.
    #[must_use]
    pub fn to_csr(&self) -> Csr<T> {
        T::bmat_to_csr(self)
    }

    /// [`to_csr`](Self::to_csr), [compiled once](crate::compiled).
    pub(crate) fn untiled(&self) -> Csr<T> {
        read_back::to_csr(self)
    }
}

fn tile_bits(
    pattern: CsrPattern<'_>,
    layout: &RowLayout,
    window_ptr: &[u64],
    tile_col_idx: &[u32],
) -> Result<Buffer<u32>, FormatError> {
    let mut tile_bits = zeroed(&[tile_col_idx.len() / TILE_COLS, TILE_WORDS])?;
    let chunks = window_chunks(layout, pattern.row_ptr(), usize::MAX);
    let ends = chunks.iter().map(|c| window_ptr[c.end] as usize * TILE_WORDS);
    let pieces = split_at_ends(tile_bits.make_mut(), ends);
    let pool = Pool::new();
    chunks.par_iter().with_max_len(1).zip(pieces).for_each(|(windows, bits)| {
        let chunk_start = window_ptr[windows.start] as usize;
        pool.with(
            || ColumnSet::new(pattern.ncols(), pattern.nnz()),
            |set| {
                for w in windows.clone() {
                    let tiles = window_ptr[w] as usize..window_ptr[w + 1] as usize;
                    set.clear();
                    set.load(&tile_col_idx[tiles.start * TILE_COLS..tiles.end * TILE_COLS]);
                    let bits = &mut bits[(tiles.start - chunk_start) * TILE_WORDS..];
                    for (r, row) in occupied(layout, w) {
                        for &col in pattern.row(row) {
                            let (word, bit) = word_and_bit(set.rank(col), r);
                            bits[word] |= 1 << bit;
                        }
                    }
                }
            },
        );
    });
    Ok(tile_bits)
}

impl<T: Scalar> Rows<T> for BMat<T> {
    fn layout(&self) -> &RowLayout {
        self.layout()
    }

    fn ncols(&self) -> usize {
        self.ncols()
    }

    #[inline(always)]
    fn for_each(&self, slot: usize, mut entry: impl FnMut(u32, T)) {
        let (w, r) = (slot / Self::WINDOW_ROWS, slot % Self::WINDOW_ROWS);
        for tile in self.window_ptr()[w] as usize..self.window_ptr()[w + 1] as usize {
            let bits = &self.tile_bits()[tile * TILE_WORDS..][..TILE_WORDS];
            let mut word_start = self.tile_value_ptr()[tile] as usize;
            for (word, &mask) in bits.iter().enumerate() {
                if word & 1 == r >> 3 {
                    let shift = (r & 7) << 2;
                    let before = (mask & ((1 << shift) - 1)).count_ones() as usize;
                    let present = (0..4).filter(|c| mask >> (shift + c) & 1 == 1);
                    for (at, c) in (word_start + before..).zip(present) {
                        let col = self.tile_col_idx()[tile * TILE_COLS + 4 * (word >> 1) + c];
                        debug_assert_ne!(col, PAD_COL);
                        entry(col, self.values().map_or(T::ONE, |values| values[at]));
                    }
                }
                word_start += mask.count_ones() as usize;
            }
        }
    }

    fn count(&self, slot: usize) -> usize {
        let (w, r) = (slot / Self::WINDOW_ROWS, slot % Self::WINDOW_ROWS);
        let tiles = self.window_ptr()[w] as usize..self.window_ptr()[w + 1] as usize;
        let row = 0xf << ((r & 7) << 2);
        self.tile_bits()[tiles.start * TILE_WORDS..tiles.end * TILE_WORDS]
            .chunks_exact(2)
            .map(|halves| (halves[r >> 3] & row).count_ones() as usize)
            .sum()
    }
}
