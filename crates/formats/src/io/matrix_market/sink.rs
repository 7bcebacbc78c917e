//! Where parsed blocks go: straight into CSR or CSC as long as entries come in the order of either,
//! otherwise into triplets.

use bytemuck::Pod;
use girih_parallel::prelude::*;

use super::array::{images, place_elements};
use super::block::{Block, Reading};
use super::feed::Feed;
use super::header::Header;
use super::major::{Axis, Major, MajorPart, list, major_parts, offsets_of};
use crate::buffer::Buffer;
use crate::csr::assemble::{Assembly, Mirror};
use crate::csr::{Coo, Csr};
use crate::error::FormatError;
use crate::io::{ReadError, ReadOptions, Symmetry, TextFault};
use crate::narrowing::Narrowing;
use crate::scalar::Scalar;

/// The part of the matrix that has been read.
#[derive(Debug)]
pub(super) struct EntrySink<'o, T: Scalar> {
    header: Header,
    options: &'o ReadOptions,
    reading: Reading,
    major: Major,
    /// The other index of every entry.
    minor: Buffer<u32>,
    values: Buffer<T>,
    /// Entries kept; the arrays may be longer.
    len: usize,
    /// Entries in the text so far.
    stored: u64,
    /// Lines so far, those of the header included.
    pub(super) lines: u64,
    last_key: Option<u64>,
    /// Which triangle the entries have been in.
    below: Option<bool>,
    /// What became of the values; of an array, of those that are no normal numbers.
    narrowing: Narrowing,
}

impl<'o, T: Scalar> EntrySink<'o, T> {
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
            // A few bytes short is a file that lost its end, and its user needs to know where it ends.
            if most < claimed / 2 {
                let fault = TextFault::ClaimTooLarge { claimed: header.entries, bytes, most };
                return Err(ReadError::text(header.lines, header.entries_column, fault));
            }
        }
        if !options.allows(header.nrows as u64, claimed) {
            return Err(ReadError::Hypersparse { nrows: header.nrows as u64, entries: claimed });
        }
        let reading = Reading::new(&header, options);
        // What the bytes of a file can hold may be allocated at once, and is not resident before
        // it is written. Of a stream nothing is known.
        // An array's zeros are dropped, so its entries are not known either.
        let known = if header.is_array { 0 } else { most.map_or(0, |m| m.min(claimed)) as usize };
        // Zeros that are pruned are gone by now only where blocks drop them.
        let in_order = header.symmetry == Symmetry::General
            && !header.is_array
            && (!options.prune_zeros || reading.drops_zeros());
        let major = if in_order {
            Major::Offsets { axis: Axis::Rows, ptr: Buffer::default(), next: 0 }
        } else {
            Major::Listed(Buffer::zeroed(known)?)
        };
        Ok(Self {
            reading,
            options,
            major,
            minor: Buffer::zeroed(known)?,
            values: Buffer::zeroed(known)?,
            len: 0,
            stored: 0,
            lines: header.lines,
            last_key: None,
            below: None,
            narrowing: Narrowing::default(),
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
            self.narrowing += block.parsed.narrowing;
            for &(element, kind) in &block.parsed.odd {
                self.narrowing.count(kind, images(&self.header, self.stored + u64::from(element)));
            }
            self.stored += block.parsed.stored;
            self.lines += block.parsed.lines;
        }
        let kept: usize = blocks.iter().map(|b| b.entries.len()).sum();
        let end = self.len + kept;
        reach(&mut self.minor, end)?;
        reach(&mut self.values, end)?;
        self.keep_order(blocks, end)?;

        let axis = self.major.axis();
        let mut left_minor = &mut self.minor.make_mut()[self.len..end];
        let mut left_values = &mut self.values.make_mut()[self.len..end];
        let mut parts = major_parts(&mut self.major, blocks, self.len);
        let tasks: Vec<_> = blocks
            .iter()
            .zip(&mut parts)
            .zip(&first_stored)
            .map(|((block, part), &first)| {
                let n = block.entries.len();
                let minor = left_minor.split_off_mut(..n).unwrap_or_default();
                let values = left_values.split_off_mut(..n).unwrap_or_default();
                (&block.entries[..], minor, values, part, first)
            })
            .collect();
        let header = &self.header;
        tasks.into_par_iter().with_max_len(1).for_each(|(entries, minor, values, part, first)| {
            for ((e, i), v) in entries.iter().zip(&mut *minor).zip(values) {
                *i = axis.minor(e);
                *v = e.value;
            }
            match part {
                MajorPart::Offsets { part, first, first_entry } => {
                    offsets_of(entries.iter().map(|e| axis.major(e)), part, *first, *first_entry);
                }
                MajorPart::Listed(part) if header.is_array => {
                    place_elements(header, first, entries, part, minor);
                }
                MajorPart::Listed(part) => {
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
        let left = self.header.entries - u128::from(self.stored);
        let mut first: Option<(u64, TextFault)> = None;
        let mut note = |at: u64, fault| {
            if first.as_ref().is_none_or(|(f, _)| at < *f) {
                first = Some((at, fault));
            }
        };
        if u128::from(block.parsed.stored) > left {
            let expected = u64::try_from(self.header.entries).unwrap_or(u64::MAX);
            note(left as u64, TextFault::TooManyEntries { expected });
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

    /// Goes over to listing rows if entries no longer come in order, and allocates memory for `end`
    /// entries.
    fn keep_order(&mut self, blocks: &[Block<T>], end: usize) -> Result<(), FormatError> {
        if let Major::Offsets { axis, ptr, next } = &mut self.major {
            if self.last_key.is_none() && blocks.iter().any(|b| !b.parsed.by_row) {
                *axis = Axis::Cols;
            }
            let n_major = match axis {
                Axis::Rows => self.header.nrows,
                Axis::Cols => self.header.ncols,
            };
            // Offsets of columns are a detour, which must not cost more than the entries.
            let mut in_order = *axis == Axis::Rows || n_major as u128 <= self.header.entries;
            for block in blocks {
                if let (Some(first), Some(last)) = (block.entries.first(), block.entries.last()) {
                    in_order &= axis.holds(&block.parsed) && self.last_key < Some(axis.key(first));
                    self.last_key = Some(axis.key(last));
                }
            }
            let reached = self.last_key.map_or(0, |key| (key >> 32) + 1);
            if in_order && self.options.allows(reached, end as u64) {
                // All at once where the file is known to hold enough entries.
                let all = self.options.allows(n_major as u64, self.minor.len() as u64);
                return reach(ptr, if all { n_major } else { reached as usize } + 1);
            }
            let mut listed = list(&ptr[..*next], self.len, self.minor.len())?;
            if *axis == Axis::Cols {
                std::mem::swap(&mut listed, &mut self.minor);
            }
            self.major = Major::Listed(listed);
        }
        if let Major::Listed(rows) = &mut self.major {
            reach(rows, end)?;
        }
        Ok(())
    }

    /// Ends the matrix after the last block. Says what rounding made of its values.
    pub(super) fn finish(mut self) -> Result<(Csr<T>, Narrowing), ReadError> {
        let Header { nrows, ncols, entries, is_array, .. } = self.header;
        let mut narrowing = self.narrowing;
        if u128::from(self.stored) < entries {
            let fault = TextFault::TooFewEntries { found: self.stored, expected: entries };
            return Err(ReadError::text(self.lines + 1, 1, fault));
        }
        if !self.options.allows(nrows as u64, self.stored) {
            return Err(ReadError::Hypersparse { nrows: nrows as u64, entries: self.stored });
        }
        self.minor.truncate(self.len);
        self.values.truncate(self.len);
        match self.major {
            Major::Offsets { axis, mut ptr, next } => {
                let (n_major, n_minor) = match axis {
                    Axis::Rows => (nrows, ncols),
                    Axis::Cols => (ncols, nrows),
                };
                reach(&mut ptr, n_major + 1)?;
                ptr.truncate(n_major + 1);
                ptr.make_mut()[next..]
                    .par_iter_mut()
                    .with_min_len(1 << 16)
                    .for_each(|p| *p = self.len as u64);
                let stored = Csr::from_parts(n_major, n_minor, ptr, self.minor, self.values);
                let matrix = if axis == Axis::Rows { stored } else { stored.try_transpose()? };
                Ok((matrix, narrowing))
            }
            Major::Listed(mut rows) => {
                rows.truncate(self.len);
                let mirror = match self.header.symmetry {
                    Symmetry::General => Mirror::None,
                    Symmetry::Symmetric => Mirror::Symmetric,
                    Symmetry::SkewSymmetric => Mirror::Skew,
                    Symmetry::Hermitian => Mirror::Hermitian,
                };
                let (duplicates, prune_zeros) = (self.options.duplicates, self.options.prune_zeros);
                let coo = Coo::from_parts(nrows, ncols, rows, self.minor, self.values);
                let how = Assembly { mirror, duplicates, prune_zeros };
                let (matrix, infinite_sums) = coo.assemble_counted(how)?;
                narrowing.overflowed += infinite_sums;
                if is_array {
                    // What is no zero of the matrix was none of the file, nor was what vanished.
                    narrowing.nonzeros = matrix.nnz() as u64 + narrowing.vanished;
                }
                Ok((matrix, narrowing))
            }
        }
    }
}

/// Makes an array at least `len` long, and of a length that grows by doubling: what is not written
/// to is not resident.
fn reach<U: Pod>(array: &mut Buffer<U>, len: usize) -> Result<(), FormatError> {
    if array.len() < len {
        let mut longer = Buffer::zeroed(len.max(2 * array.len()))?;
        longer.make_mut()[..array.len()].copy_from_slice(array);
        *array = longer;
    }
    Ok(())
}
