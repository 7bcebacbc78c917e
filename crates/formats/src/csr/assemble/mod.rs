//! Triplets into CSR: a stable counting sort by row, in two levels.
//!
//! The first level deals the triplets into buckets of consecutive rows; every bucket's place in the
//! result is its final one, so the second level sorts each bucket where it stands, through a copy
//! that fits a cache. Both levels keep the order in which entries were given, so the result does
//! not depend on the number of threads or buckets. Triplets whose rows come in order skip the first level.

mod deal;
mod sort;

use girih_parallel::prelude::*;

use deal::{Buckets, Dealt, deal, in_row_order};
use sort::sort_buckets;

use super::{Coo, Csr, Duplicates};
use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::scalar::Scalar;

/// What an off-diagonal triplet stands for besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mirror {
    /// Nothing.
    None,
    /// The same value at (column, row).
    Symmetric,
    /// The negated value at (column, row).
    Skew,
    /// The conjugate at (column, row).
    Hermitian,
}

/// How triplets become entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assembly {
    pub(crate) mirror: Mirror,
    pub(crate) duplicates: Duplicates,
    pub(crate) prune_zeros: bool,
}

impl<T: Scalar> Coo<T> {
    /// Sorts the triplets, and the mirror images they stand for, into CSR.
    ///
    /// O(nrows + len) for rows whose entries come in order of column, and a sort of the others.
    /// It holds the triplets and one array of the result at a time, and two bytes per entry beside the result.
    pub(crate) fn assemble(self, how: Assembly) -> Result<Csr<T>, FormatError> {
        self.assemble_counted(how).map(|(matrix, _)| matrix)
    }

    /// As [`assemble`](Self::assemble); also gives the number of sums of finite duplicates that are
    /// infinite.
    pub(crate) fn assemble_counted(mut self, how: Assembly) -> Result<(Csr<T>, u64), FormatError> {
        let (nrows, ncols) = (self.nrows, self.ncols);
        let rows_in_order = how.mirror == Mirror::None && is_ascending(&self.row_idx);
        if rows_in_order && !how.prune_zeros && self.is_sorted() {
            let row_ptr = row_ptr_of(&self.row_idx, nrows)?;
            return Ok((Csr::from_parts(nrows, ncols, row_ptr, self.col_idx, self.values), 0));
        }
        let buckets = Buckets::new(nrows, self.len());
        let in_place = rows_in_order && self.is_exclusive();
        let mut dealt = if in_place {
            in_row_order(self, &buckets)?
        } else {
            deal(self, how.mirror, &buckets)?
        };
        let total = dealt.col_idx.len();

        let sorted = sort_buckets(&buckets, &mut dealt, how)?;
        let kept: Vec<usize> = sorted.iter().map(|bucket| bucket.kept).collect();
        let infinite_sums = sorted.iter().map(|bucket| bucket.infinite_sums).sum();
        let Dealt { starts, mut row_ptr, col_idx, values, .. } = dealt;
        let new_starts = offsets(&kept);
        let row_ends = &mut row_ptr.make_mut()[1..];
        row_ends.par_chunks_mut(buckets.rows()).zip(&new_starts).for_each(|(counts, &start)| {
            let mut sum = start as u64;
            for c in counts {
                sum += *c;
                *c = sum;
            }
        });
        if new_starts[kept.len()] == total {
            return Ok((Csr::from_parts(nrows, ncols, row_ptr, col_idx, values), infinite_sums));
        }
        let col_idx = compact(&col_idx, &starts, &kept)?;
        let values = compact(&values, &starts, &kept)?;
        Ok((Csr::from_parts(nrows, ncols, row_ptr, col_idx, values), infinite_sums))
    }

    /// Whether nothing else owns columns and values.
    fn is_exclusive(&mut self) -> bool {
        self.col_idx.get_mut().is_some() && self.values.get_mut().is_some()
    }

    /// Whether the triplets are the entries of a CSR in its own order.
    fn is_sorted(&self) -> bool {
        const PIECE: usize = 1 << 15;
        let key = |i: usize| u64::from(self.row_idx[i]) << 32 | u64::from(self.col_idx[i]);
        self.row_idx.par_chunks(PIECE).zip(self.col_idx.par_chunks(PIECE)).enumerate().all(
            |(piece, (rows, cols))| {
                let first = piece == 0 || key(piece * PIECE - 1) < key(piece * PIECE);
                first
                    && rows
                        .windows(2)
                        .zip(cols.windows(2))
                        .fold(true, |ok, (r, c)| ok & ((r[0], c[0]) < (r[1], c[1])))
            },
        )
    }
}

/// Whether no index is below the one before it.
fn is_ascending(idx: &[u32]) -> bool {
    const PIECE: usize = 1 << 15;
    idx.par_chunks(PIECE).enumerate().all(|(piece, some)| {
        let first = piece == 0 || idx[piece * PIECE - 1] <= some[0];
        first && some.windows(2).fold(true, |ok, w| ok & (w[0] <= w[1]))
    })
}

/// Row offsets of entries whose rows never decrease.
fn row_ptr_of(row_idx: &[u32], nrows: usize) -> Result<Buffer<u64>, FormatError> {
    let mut row_ptr = Buffer::<u64>::zeroed(nrows + 1)?;
    row_ptr.make_mut().par_chunks_mut(1 << 12).enumerate().for_each(|(piece, ptr)| {
        let first_row = piece << 12;
        let mut at = row_idx.partition_point(|&r| (r as usize) < first_row);
        for (row, p) in (first_row..).zip(ptr) {
            while row_idx.get(at).is_some_and(|&r| (r as usize) < row) {
                at += 1;
            }
            *p = at as u64;
        }
    });
    Ok(row_ptr)
}

/// Running sums of `counts`, from 0 to the total.
fn offsets(counts: &[usize]) -> Vec<usize> {
    let mut sum = 0;
    let mut starts = Vec::with_capacity(counts.len() + 1);
    starts.push(0);
    starts.extend(counts.iter().map(|&c| {
        sum += c;
        sum
    }));
    starts
}

/// The first `kept[b]` elements of every bucket, together.
fn compact<U: bytemuck::Pod + Send + Sync>(
    all: &[U],
    starts: &[usize],
    kept: &[usize],
) -> Result<Buffer<U>, FormatError> {
    let mut packed = Buffer::zeroed(kept.iter().sum())?;
    let mut left = packed.make_mut();
    let tasks: Vec<_> = starts
        .iter()
        .zip(kept)
        .map(|(&start, &k)| (left.split_off_mut(..k).unwrap_or_default(), &all[start..start + k]))
        .collect();
    tasks.into_par_iter().for_each(|(to, from)| to.copy_from_slice(from));
    Ok(packed)
}
