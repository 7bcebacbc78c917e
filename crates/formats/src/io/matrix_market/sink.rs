//! Where parsed blocks go: straight into CSR as long as entries come in its order, otherwise into
//! triplets.

use bytemuck::zeroed_vec;
use rayon::prelude::*;

use super::array::place_elements;
use super::block::{Block, Reading};
use super::feed::Feed;
use super::header::Header;
use super::parse::Entry;
use crate::csr::assemble::{Assembly, Mirror};
use crate::io::{ReadError, ReadOptions, Symmetry, TextFault};
use crate::{Coo, Csr, Duplicates, Scalar};

/// The matrix as far as it has been read.
#[derive(Debug)]
pub(super) struct Sink<'o, T> {
    header: Header,
    options: &'o ReadOptions,
    reading: Reading,
    rows: Rows,
    col_idx: Vec<u32>,
    values: Vec<T>,
    /// Entries kept; the arrays may be longer.
    len: usize,
    /// Entries in the text so far.
    stored: u64,
    /// Lines so far, those of the header included.
    pub(super) lines: u64,
    last_key: Option<u64>,
    /// Which triangle the entries have been in.
    below: Option<bool>,
}

/// The rows of the entries.
#[derive(Debug)]
enum Rows {
    /// Entries came in CSR order so far: offsets of the rows below `next`. The vector may be longer.
    Offsets { row_ptr: Vec<u64>, next: usize },
    /// The row of every entry.
    Listed(Vec<u32>),
}

impl<'o, T: Scalar> Sink<'o, T> {
    /// `bytes` is the length of what follows the header, where it is known.
    pub(super) fn new(
        header: Header,
        options: &'o ReadOptions,
        bytes: Option<u64>,
    ) -> Result<Self, ReadError> {
        let claimed = u64::try_from(header.entries).unwrap_or(u64::MAX);
        // The last line may lack its newline.
        let most = bytes.map(|b| (b + 1) / header.min_line());
        if let (Some(most), Some(bytes)) = (most, bytes)
            && most < claimed
        {
            // A few bytes short is a file that lost its end, and where it ends is worth knowing.
            if most < claimed / 2 {
                let fault = TextFault::ClaimTooLarge { claimed: header.entries, bytes, most };
                return Err(ReadError::text(header.lines, header.entries_column, fault));
            }
        }
        if !options.allows(header.nrows as u64, claimed) {
            return Err(ReadError::Hypersparse { nrows: header.nrows as u64, entries: claimed });
        }
        // What the bytes of a file can hold may be allocated at once, and is not resident before
        // it is written. Of a stream nothing is known.
        // An array's zeros are dropped, so its entries are not known either.
        let known = if header.is_array { 0 } else { most.map_or(0, |m| m.min(claimed)) as usize };
        let in_order = header.symmetry == Symmetry::General
            && !header.is_array
            && !(options.prune_zeros && options.duplicates == Duplicates::Refuse);
        let rows = if in_order {
            let all = known > 0 && options.allows(header.nrows as u64, known as u64);
            let offsets = if all { header.nrows + 1 } else { 1 };
            Rows::Offsets { row_ptr: zeroed_vec(offsets), next: 0 }
        } else {
            Rows::Listed(zeroed_vec(known))
        };
        Ok(Self {
            reading: Reading::new(&header, options),
            options,
            rows,
            col_idx: zeroed_vec(known),
            values: zeroed_vec(known),
            len: 0,
            stored: 0,
            lines: header.lines,
            last_key: None,
            below: None,
            header,
        })
    }

    pub(super) fn reading(&self) -> Reading {
        self.reading
    }

    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    /// Takes over the blocks of one round.
    pub(super) fn commit(&mut self, blocks: &[Block<T>], feed: &Feed<'_>) -> Result<(), ReadError> {
        let mut first_stored = Vec::with_capacity(blocks.len());
        for (i, block) in blocks.iter().enumerate() {
            self.check(i, block, feed)?;
            first_stored.push(self.stored);
            self.stored += block.parsed.stored;
            self.lines += block.parsed.lines;
        }
        let kept: usize = blocks.iter().map(|b| b.entries.len()).sum();
        let end = self.len + kept;
        reach(&mut self.col_idx, end);
        reach(&mut self.values, end);
        self.keep_order(blocks, end);

        let mut left_cols = &mut self.col_idx[self.len..end];
        let mut left_values = &mut self.values[self.len..end];
        let mut row_parts = row_parts(&mut self.rows, blocks, self.len);
        let tasks: Vec<_> = blocks
            .iter()
            .zip(&mut row_parts)
            .zip(&first_stored)
            .map(|((block, rows), &first)| {
                let n = block.entries.len();
                let cols = left_cols.split_off_mut(..n).unwrap_or_default();
                let values = left_values.split_off_mut(..n).unwrap_or_default();
                (&block.entries[..], cols, values, rows, first)
            })
            .collect();
        let header = &self.header;
        tasks.into_par_iter().with_max_len(1).for_each(|(entries, cols, values, rows, first)| {
            for ((e, c), v) in entries.iter().zip(&mut *cols).zip(values) {
                *c = e.col;
                *v = e.value;
            }
            match rows {
                RowPart::Offsets { part, first_row, first_entry } => {
                    offsets_of(entries, part, *first_row, *first_entry);
                }
                RowPart::Listed(part) if header.is_array => {
                    place_elements(header, first, entries, part, cols);
                }
                RowPart::Listed(part) => {
                    for (e, r) in entries.iter().zip(&mut **part) {
                        *r = e.row;
                    }
                }
            }
        });
        self.len = end;
        Ok(())
    }

    /// Finds the first thing wrong with block `i` of a round.
    fn check(&mut self, i: usize, block: &Block<T>, feed: &Feed<'_>) -> Result<(), ReadError> {
        let symmetry = self.header.symmetry;
        let room = self.header.entries - u128::from(self.stored);
        let mut first: Option<(u64, TextFault)> = None;
        let mut note = |at: u64, fault| {
            if first.as_ref().is_none_or(|(f, _)| at < *f) {
                first = Some((at, fault));
            }
        };
        if u128::from(block.parsed.stored) > room {
            let expected = u64::try_from(self.header.entries).unwrap_or(u64::MAX);
            note(room as u64, TextFault::TooManyEntries { expected });
        }
        if symmetry == Symmetry::SkewSymmetric
            && let Some(at) = block.on
        {
            note(at as u64, TextFault::SkewDiagonal);
        }
        let other = match (self.below, block.below, block.above) {
            (Some(true), _, above) => above,
            (Some(false), below, _) => below,
            (None, Some(below), Some(above)) => Some(below.max(above)),
            (None, below, above) => {
                self.below = below.map(|_| true).or(above.map(|_| false));
                None
            }
        };
        if let Some(at) = other {
            note(at as u64, TextFault::BothTriangles { symmetry });
        }
        if let Some((at, fault)) = first {
            let (line, column) = feed.place(i, at, &self.reading.shape)?;
            return Err(ReadError::text(self.lines + line + 1, column + 1, fault));
        }
        if let Some((column, fault)) = &block.parsed.fault {
            let line = self.lines + block.parsed.lines;
            return Err(ReadError::text(line, *column as u64 + 1, fault.clone()));
        }
        Ok(())
    }

    /// Goes over to listing rows if entries no longer come in CSR order, and makes room for `end`
    /// entries.
    fn keep_order(&mut self, blocks: &[Block<T>], end: usize) {
        if let Rows::Offsets { row_ptr, next } = &mut self.rows {
            let mut in_order = true;
            for block in blocks {
                if let (Some(first), Some(last)) = (block.entries.first(), block.entries.last()) {
                    in_order &= block.parsed.sorted && self.last_key < Some(first.key());
                    self.last_key = Some(last.key());
                }
            }
            let rows = self.last_key.map_or(0, |key| (key >> 32) + 1);
            if in_order && self.options.allows(rows, end as u64) {
                reach(row_ptr, rows as usize + 1);
                return;
            }
            let mut listed: Vec<u32> = zeroed_vec(self.col_idx.len());
            let offsets = &row_ptr[..*next];
            listed[..self.len].par_chunks_mut(1 << 14).enumerate().for_each(|(piece, rows)| {
                let from = (piece << 14) as u64;
                let mut row = offsets.partition_point(|&p| p <= from) - 1;
                for (at, r) in (from..).zip(rows) {
                    while offsets.get(row + 1).is_some_and(|&p| p <= at) {
                        row += 1;
                    }
                    *r = row as u32;
                }
            });
            self.rows = Rows::Listed(listed);
        }
        if let Rows::Listed(rows) = &mut self.rows {
            reach(rows, end);
        }
    }

    /// Ends the matrix after the last block.
    pub(super) fn finish(mut self) -> Result<Csr<T>, ReadError> {
        let Header { nrows, ncols, entries, .. } = self.header;
        if u128::from(self.stored) < entries {
            let fault = TextFault::TooFewEntries { found: self.stored, expected: entries };
            return Err(ReadError::text(self.lines + 1, 1, fault));
        }
        if !self.options.allows(nrows as u64, self.stored) {
            return Err(ReadError::Hypersparse { nrows: nrows as u64, entries: self.stored });
        }
        fit(&mut self.col_idx, self.len);
        fit(&mut self.values, self.len);
        match self.rows {
            Rows::Offsets { mut row_ptr, next } => {
                reach(&mut row_ptr, nrows + 1);
                row_ptr[next..]
                    .par_iter_mut()
                    .with_min_len(1 << 16)
                    .for_each(|p| *p = self.len as u64);
                Ok(Csr::from_parts(nrows, ncols, row_ptr, self.col_idx, self.values))
            }
            Rows::Listed(mut rows) => {
                fit(&mut rows, self.len);
                let mirror = match self.header.symmetry {
                    Symmetry::General => Mirror::None,
                    Symmetry::Symmetric => Mirror::Symmetric,
                    Symmetry::SkewSymmetric => Mirror::Skew,
                };
                let (duplicates, prune_zeros) = (self.options.duplicates, self.options.prune_zeros);
                let coo = Coo::from_parts(nrows, ncols, rows, self.col_idx, self.values);
                Ok(coo.assemble(Assembly { mirror, duplicates, prune_zeros })?)
            }
        }
    }
}

/// Makes a vector at least `len` long.
fn reach<U: bytemuck::Zeroable + Clone>(v: &mut Vec<U>, len: usize) {
    if v.len() < len {
        v.resize(len, U::zeroed());
    }
}

/// Cuts a vector to its first `len` elements, giving back memory if that is worth it.
fn fit<U>(v: &mut Vec<U>, len: usize) {
    v.truncate(len);
    if v.capacity() - len > len / 8 {
        v.shrink_to_fit();
    }
}

/// A block's part of the rows.
enum RowPart<'a> {
    /// Offsets of the rows from `first_row` on, up to the block's last.
    Offsets {
        part: &'a mut [u64],
        first_row: usize,
        first_entry: usize,
    },
    Listed(&'a mut [u32]),
}

fn row_parts<'a, T>(rows: &'a mut Rows, blocks: &[Block<T>], len: usize) -> Vec<RowPart<'a>> {
    let mut at = len;
    match rows {
        Rows::Offsets { row_ptr, next } => {
            let mut left = &mut row_ptr[*next..];
            blocks
                .iter()
                .map(|block| {
                    let first_row = *next;
                    *next = block.entries.last().map_or(first_row, |e| e.row as usize + 1);
                    let part = left.split_off_mut(..*next - first_row).unwrap_or_default();
                    let first_entry = at;
                    at += block.entries.len();
                    RowPart::Offsets { part, first_row, first_entry }
                })
                .collect()
        }
        Rows::Listed(rows) => {
            let mut left = &mut rows[at..];
            blocks
                .iter()
                .map(|b| RowPart::Listed(left.split_off_mut(..b.entries.len()).unwrap_or_default()))
                .collect()
        }
    }
}

/// Fills in the offsets of the rows that start in a block.
fn offsets_of<T>(entries: &[Entry<T>], part: &mut [u64], first_row: usize, first_entry: usize) {
    let mut next = first_row;
    for (at, e) in (first_entry as u64..).zip(entries) {
        while next <= e.row as usize {
            part[next - first_row] = at;
            next += 1;
        }
    }
}
