//! The index by which a file's entries are in order, if any.

use girih_parallel::prelude::*;

use super::block::Block;
use super::parse::{Entry, Parsed};
use crate::buffer::Buffer;
use crate::error::FormatError;

/// The index by which entries come in order.
#[derive(Debug)]
pub(super) enum Major {
    /// Entries came in the order of `axis` so far: offsets of the rows or columns below `next`. The
    /// array may be longer.
    Offsets { axis: Axis, ptr: Buffer<u64>, next: usize },
    /// In no order: the row of every entry.
    Listed(Buffer<u32>),
}

/// An order of entries: that of CSR or that of CSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Rows,
    Cols,
}

impl Axis {
    pub(super) fn major<T>(self, e: &Entry<T>) -> u32 {
        match self {
            Self::Rows => e.row,
            Self::Cols => e.col,
        }
    }

    pub(super) fn minor<T>(self, e: &Entry<T>) -> u32 {
        match self {
            Self::Rows => e.col,
            Self::Cols => e.row,
        }
    }

    /// The place in this order.
    pub(super) fn key<T>(self, e: &Entry<T>) -> u64 {
        match self {
            Self::Rows => e.key(),
            Self::Cols => e.key().rotate_left(32),
        }
    }

    pub(super) fn holds(self, parsed: &Parsed) -> bool {
        match self {
            Self::Rows => parsed.by_row,
            Self::Cols => parsed.by_col,
        }
    }
}

/// A block's part of the major indices.
pub(super) enum MajorPart<'a> {
    /// Offsets of the rows or columns from `first` on, up to the block's last.
    Offsets {
        part: &'a mut [u64],
        first: usize,
        first_entry: usize,
    },
    Listed(&'a mut [u32]),
}

impl Major {
    /// How entries are taken apart: triplets have their rows listed.
    pub(super) fn axis(&self) -> Axis {
        match self {
            Self::Offsets { axis, .. } => *axis,
            Self::Listed(_) => Axis::Rows,
        }
    }
}

pub(super) fn major_parts<'a, T>(
    major: &'a mut Major,
    blocks: &[Block<T>],
    len: usize,
) -> Vec<MajorPart<'a>> {
    let mut at = len;
    match major {
        Major::Offsets { axis, ptr, next } => {
            let mut left = &mut ptr.make_mut()[*next..];
            blocks
                .iter()
                .map(|block| {
                    let first = *next;
                    *next = block.entries.last().map_or(first, |e| axis.major(e) as usize + 1);
                    let part = left.split_off_mut(..*next - first).unwrap_or_default();
                    let first_entry = at;
                    at += block.entries.len();
                    MajorPart::Offsets { part, first, first_entry }
                })
                .collect()
        }
        Major::Listed(rows) => {
            let mut left = &mut rows.make_mut()[at..];
            let parts = blocks.iter().map(|b| left.split_off_mut(..b.entries.len()));
            parts.map(|part| MajorPart::Listed(part.unwrap_or_default())).collect()
        }
    }
}

/// Fills in the offsets of the rows or columns that start in a block.
pub(super) fn offsets_of(
    majors: impl Iterator<Item = u32>,
    part: &mut [u64],
    first: usize,
    first_entry: usize,
) {
    let mut next = first;
    for (at, major) in (first_entry as u64..).zip(majors) {
        while next <= major as usize {
            part[next - first] = at;
            next += 1;
        }
    }
}

/// The index of each of the first `len` entries, given the offsets of all that occur, with capacity for
/// `capacity` of them.
pub(super) fn list(
    offsets: &[u64],
    len: usize,
    capacity: usize,
) -> Result<Buffer<u32>, FormatError> {
    let mut listed = Buffer::<u32>::zeroed(capacity)?;
    listed.make_mut()[..len].par_chunks_mut(1 << 14).enumerate().for_each(|(piece, major)| {
        let from = (piece << 14) as u64;
        let mut at_list = offsets.partition_point(|&p| p <= from) - 1;
        for (at, i) in (from..).zip(major) {
            while offsets.get(at_list + 1).is_some_and(|&p| p <= at) {
                at_list += 1;
            }
            *i = at_list as u32;
        }
    });
    Ok(listed)
}
