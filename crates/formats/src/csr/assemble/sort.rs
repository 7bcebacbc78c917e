//! Second level: every bucket into rows sorted by column, where it stands.

use girih_parallel::prelude::*;

use super::Assembly;
use super::deal::{Buckets, Dealt};
use crate::csr::Duplicates;
use crate::error::FormatError;
use crate::scalar::Scalar;

/// A row of at least this many entries is sorted by all threads.
const LONG_ROW: usize = 1 << 16;

/// What is left of some triplets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sorted {
    /// Entries.
    pub(super) kept: usize,
    /// Sums of finite duplicates that are infinite.
    pub(super) infinite_sums: u64,
}

/// Sorts every bucket in place, leaves the entries kept at its front and the number
/// kept of every row in `row_ptr`. Returns what is left of every bucket.
pub(super) fn sort_buckets<T: Scalar>(
    buckets: &Buckets,
    dealt: &mut Dealt<T>,
    how: Assembly,
) -> Result<Vec<Sorted>, FormatError> {
    let (starts, local_row) = (&dealt.starts, dealt.local_row.as_deref());
    let row_counts = &mut dealt.row_ptr.make_mut()[1..];
    let mut cols_left = dealt.col_idx.make_mut();
    let mut values_left = dealt.values.make_mut();
    let tasks: Vec<_> = starts
        .windows(2)
        .zip(row_counts.chunks_mut(buckets.rows()))
        .map(|(w, counts)| {
            let len = w[1] - w[0];
            let rows = local_row.map(|rows| &rows[w[0]..w[1]]);
            let cols = cols_left.split_off_mut(..len).unwrap_or_default();
            let values = values_left.split_off_mut(..len).unwrap_or_default();
            (rows, cols, values, counts)
        })
        .collect();
    let results: Vec<Result<Sorted, FormatError>> = tasks
        .into_par_iter()
        .with_max_len(1)
        .enumerate()
        .map_init(Scratch::default, |scratch, (b, (rows, cols, values, counts))| {
            scratch.sort_bucket(rows, cols, values, counts, how).map_err(|(row, col)| {
                FormatError::Duplicate { row: (b << buckets.shift) as u32 + row, col }
            })
        })
        .collect();
    results.into_iter().collect()
}

/// Temporary copies of one bucket or one row.
struct Scratch<T> {
    col_idx: Vec<u32>,
    values: Vec<T>,
    next: Vec<usize>,
    keys: Vec<u64>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Self { col_idx: vec![], values: vec![], next: vec![], keys: vec![] }
    }
}

impl<T: Scalar> Scratch<T> {
    /// Sorts one bucket: its entries come row by row, as many as `counts` has, unless they have `rows`. On a refused
    /// duplicate returns its row in the bucket and its column.
    fn sort_bucket(
        &mut self,
        rows: Option<&[u16]>,
        cols: &mut [u32],
        values: &mut [T],
        counts: &mut [u64],
        how: Assembly,
    ) -> Result<Sorted, (u32, u32)> {
        if let Some(rows) = rows {
            self.by_row(rows, cols, values, counts);
        }
        let (mut start, mut kept, mut infinite_sums) = (0, 0, 0);
        for (row, count) in counts.iter_mut().enumerate() {
            let range = start..start + *count as usize;
            start = range.end;
            self.sort_row(&mut cols[range.clone()], &mut values[range.clone()]);
            let has_duplicates = cols[range.clone()].windows(2).any(|w| w[0] == w[1]);
            if has_duplicates && how.duplicates == Duplicates::Refuse {
                let twice = cols[range].windows(2).find(|w| w[0] == w[1]).map_or(0, |w| w[0]);
                return Err((row as u32, twice));
            }
            let len = if has_duplicates || how.prune_zeros {
                let merged = merge(cols, values, range, kept, how.prune_zeros);
                infinite_sums += merged.infinite_sums;
                merged.kept
            } else {
                if kept != range.start {
                    cols.copy_within(range.clone(), kept);
                    values.copy_within(range.clone(), kept);
                }
                range.len()
            };
            *count = len as u64;
            kept += len;
        }
        Ok(Sorted { kept, infinite_sums })
    }

    /// Sorts the entries of a bucket by row, and counts them.
    fn by_row(&mut self, rows: &[u16], cols: &mut [u32], values: &mut [T], counts: &mut [u64]) {
        for &r in rows {
            counts[r as usize] += 1;
        }
        self.next.clear();
        self.next.extend(counts.iter().scan(0, |sum, &c| {
            let start = *sum;
            *sum += c as usize;
            Some(start)
        }));
        self.col_idx.clear();
        self.col_idx.extend_from_slice(cols);
        self.values.clear();
        self.values.extend_from_slice(values);
        for ((&r, &c), &v) in rows.iter().zip(&self.col_idx).zip(&self.values) {
            let next = &mut self.next[r as usize];
            cols[*next] = c;
            values[*next] = v;
            *next += 1;
        }
    }

    /// Sorts one row by column; equal columns keep their order.
    fn sort_row(&mut self, cols: &mut [u32], values: &mut [T]) {
        if cols.windows(2).fold(true, |ok, w| ok & (w[0] <= w[1])) {
            return;
        }
        if cols.len() <= 16 {
            for i in 1..cols.len() {
                let (c, v) = (cols[i], values[i]);
                let mut j = i;
                while j > 0 && cols[j - 1] > c {
                    cols[j] = cols[j - 1];
                    values[j] = values[j - 1];
                    j -= 1;
                }
                cols[j] = c;
                values[j] = v;
            }
            return;
        }
        self.keys.clear();
        // A row of more than 2³² entries would have to be sorted by something wider.
        if u32::try_from(cols.len()).is_err() {
            let mut pairs: Vec<(u32, T)> =
                cols.iter().copied().zip(values.iter().copied()).collect();
            pairs.par_sort_by_key(|p| p.0);
            for ((c, v), p) in cols.iter_mut().zip(values).zip(pairs) {
                (*c, *v) = p;
            }
            return;
        }
        self.keys.extend(cols.iter().zip(0u64..).map(|(&c, i)| u64::from(c) << 32 | i));
        if cols.len() >= LONG_ROW {
            self.keys.par_sort_unstable();
        } else {
            self.keys.sort_unstable();
        }
        self.values.clear();
        self.values.extend_from_slice(values);
        for ((c, v), &key) in cols.iter_mut().zip(values).zip(&self.keys) {
            *c = (key >> 32) as u32;
            *v = self.values[key as u32 as usize];
        }
    }
}

/// Moves the sorted row at `range` to `to`, adding up equal columns, and returns what is left of it there.
fn merge<T: Scalar>(
    cols: &mut [u32],
    values: &mut [T],
    range: std::ops::Range<usize>,
    to: usize,
    prune_zeros: bool,
) -> Sorted {
    let (mut i, mut out, mut infinite_sums) = (range.start, to, 0);
    while i < range.end {
        let c = cols[i];
        let mut v = values[i];
        i += 1;
        if i < range.end && cols[i] == c {
            let mut sum = v.to_acc();
            let mut finite = v.is_finite();
            while i < range.end && cols[i] == c {
                sum += values[i].to_acc();
                finite &= values[i].is_finite();
                i += 1;
            }
            v = T::from_c64(sum.to_c64());
            infinite_sums += u64::from(finite && !v.is_finite());
        }
        if !(prune_zeros && v.is_zero()) {
            cols[out] = c;
            values[out] = v;
            out += 1;
        }
    }
    Sorted { kept: out - to, infinite_sums }
}
