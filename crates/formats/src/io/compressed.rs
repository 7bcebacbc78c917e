//! Compressed rows as files have them, with rows in any order inside, into CSR.

use girih_parallel::prelude::*;

use super::ReadOptions;
use crate::csr::assemble::{Assembly, Mirror};
use crate::csr::{Coo, Csr, check_dims, check_len, check_offsets};
use crate::error::FormatError;
use crate::narrowing::Narrowing;
use crate::scalar::Scalar;

/// Checks compressed rows and makes them a matrix: as they are if rows are sorted, otherwise
/// through triplets. Column indices are known to be below `ncols`. Also gives the number of sums of
/// finite duplicates that are infinite.
pub(super) fn from_rows<T: Scalar>(
    nrows: usize,
    ncols: usize,
    row_ptr: Vec<u64>,
    col_idx: Vec<u32>,
    values: Vec<T>,
    options: &ReadOptions,
) -> Result<(Csr<T>, u64), FormatError> {
    check_dims(nrows, ncols)?;
    check_len("values", values.len(), col_idx.len())?;
    check_offsets("row_ptr", &row_ptr, nrows, col_idx.len())?;
    let sorted = || {
        row_ptr.par_windows(2).with_min_len(1 << 10).all(|w| {
            let row = &col_idx[w[0] as usize..w[1] as usize];
            row.windows(2).fold(true, |ok, c| ok & (c[0] < c[1]))
        })
    };
    if !options.prune_zeros && sorted() {
        return Ok((Csr::try_new(nrows, ncols, row_ptr, col_idx, values)?, 0));
    }
    let row_idx = expand(&row_ptr);
    drop(row_ptr);
    assemble(Coo::try_new(nrows, ncols, row_idx, col_idx, values)?, options)
}

/// Sorts triplets into CSR as the options say. Also gives the number of sums of finite duplicates that
/// are infinite.
pub(super) fn assemble<T: Scalar>(
    coo: Coo<T>,
    options: &ReadOptions,
) -> Result<(Csr<T>, u64), FormatError> {
    let ReadOptions { duplicates, prune_zeros, .. } = *options;
    coo.assemble_counted(Assembly { mirror: Mirror::None, duplicates, prune_zeros })
}

/// A matrix with what became of its values, and of sums of its duplicates.
pub(super) fn with_sums<T: Scalar>(
    (matrix, infinite_sums): (Csr<T>, u64),
    narrowing: Narrowing,
) -> (Csr<T>, Narrowing) {
    let overflowed = narrowing.overflowed + infinite_sums;
    (matrix, Narrowing { overflowed, ..narrowing })
}

/// The list that every entry is in, from valid offsets.
pub(super) fn expand(ptr: &[u64]) -> Vec<u32> {
    let len = ptr.last().map_or(0, |&n| n as usize);
    let mut lists: Vec<u32> = bytemuck::zeroed_vec(len);
    const PIECE: usize = 1 << 14;
    lists.par_chunks_mut(PIECE).enumerate().for_each(|(piece, out)| {
        let from = (piece * PIECE) as u64;
        let mut list = ptr.partition_point(|&p| p <= from) - 1;
        for (at, l) in (from..).zip(out) {
            while ptr[list + 1] <= at {
                list += 1;
            }
            *l = list as u32;
        }
    });
    lists
}
