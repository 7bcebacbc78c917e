//! Triplets into CSR: a stable counting sort by row, in two levels.
//!
//! The first level deals the triplets into buckets of consecutive rows; every bucket's place in the
//! result is its final one, so the second level sorts each bucket where it stands, through a copy
//! that fits a cache. Both levels keep the order in which entries were given, so the result does
//! not depend on the number of threads or buckets.

use bytemuck::zeroed_vec;
use rayon::prelude::*;

use super::{Coo, Csr, Duplicates};
use crate::{FormatError, Scalar};

/// Entries a bucket should hold: with their values they fit a core's cache.
const BUCKET_ENTRIES: usize = 1 << 15;
/// Rows a bucket may have: their numbers inside the bucket are `u16`.
const BUCKET_ROWS: usize = 1 << 16;
/// A row of at least this many entries is sorted by all threads.
const LONG_ROW: usize = 1 << 16;

/// What an off-diagonal triplet stands for besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mirror {
    /// Nothing.
    None,
    /// The same value at (column, row).
    Symmetric,
    /// The negated value at (column, row).
    Skew,
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
    /// Besides the triplets and the result it holds two bytes per entry.
    pub(crate) fn assemble(self, how: Assembly) -> Result<Csr<T>, FormatError> {
        if how.mirror == Mirror::None && !how.prune_zeros && self.is_sorted() {
            let Self { nrows, ncols, row_idx, col_idx, values } = self;
            return Ok(Csr::from_parts(nrows, ncols, row_ptr_of(&row_idx, nrows), col_idx, values));
        }
        let (nrows, ncols) = (self.nrows, self.ncols);
        let buckets = Buckets::new(nrows, self.len());
        let (starts, mut dealt) = deal(self, how.mirror, &buckets);
        let total = dealt.col_idx.len();

        let mut row_ptr: Vec<u64> = zeroed_vec(nrows + 1);
        let kept = sort_buckets(&buckets, &starts, &mut dealt, &mut row_ptr[1..], how)?;
        let Dealt { col_idx, values, .. } = dealt;
        let new_starts = offsets(&kept);
        row_ptr[1..].par_chunks_mut(buckets.rows()).zip(&new_starts).for_each(
            |(counts, &start)| {
                let mut sum = start as u64;
                for c in counts {
                    sum += *c;
                    *c = sum;
                }
            },
        );
        if new_starts[kept.len()] == total {
            return Ok(Csr::from_parts(nrows, ncols, row_ptr, col_idx, values));
        }
        let col_idx = compact(&col_idx, &starts, &kept);
        let values = compact(&values, &starts, &kept);
        Ok(Csr::from_parts(nrows, ncols, row_ptr, col_idx, values))
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

/// Row offsets of entries whose rows never decrease.
fn row_ptr_of(row_idx: &[u32], nrows: usize) -> Vec<u64> {
    let mut row_ptr: Vec<u64> = zeroed_vec(nrows + 1);
    row_ptr.par_chunks_mut(1 << 12).enumerate().for_each(|(piece, ptr)| {
        let first_row = piece << 12;
        let mut at = row_idx.partition_point(|&r| (r as usize) < first_row);
        for (row, p) in (first_row..).zip(ptr) {
            while row_idx.get(at).is_some_and(|&r| (r as usize) < row) {
                at += 1;
            }
            *p = at as u64;
        }
    });
    row_ptr
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

/// The rows, cut into runs of a power of two.
struct Buckets {
    shift: u32,
    count: usize,
}

impl Buckets {
    fn new(nrows: usize, entries: usize) -> Self {
        let wanted = (entries / BUCKET_ENTRIES).clamp(1, 1 << 12);
        let rows = nrows.div_ceil(wanted).next_power_of_two().min(BUCKET_ROWS);
        Self { shift: rows.trailing_zeros(), count: nrows.div_ceil(rows) }
    }

    fn rows(&self) -> usize {
        1 << self.shift
    }
}

/// Entries in bucket order; in the order given inside a bucket.
struct Dealt<T> {
    /// Row inside the bucket.
    local_row: Vec<u16>,
    col_idx: Vec<u32>,
    values: Vec<T>,
}

/// One chunk's share of one bucket, filled from the front.
struct Share<'a, T> {
    local_row: &'a mut [u16],
    col_idx: &'a mut [u32],
    values: &'a mut [T],
    len: usize,
}

/// First level. Returns the start of every bucket, and the total, with the entries.
fn deal<T: Scalar>(coo: Coo<T>, mirror: Mirror, buckets: &Buckets) -> (Vec<usize>, Dealt<T>) {
    let Coo { row_idx, col_idx, values, .. } = coo;
    let (shift, mask) = (buckets.shift, buckets.rows() as u32 - 1);
    // Few enough chunks that their tables stay small beside the entries.
    let most = row_idx.len() / (16 * buckets.count.max(1)) + 1;
    let n_chunks = (4 * rayon::current_num_threads()).min(most);
    let chunk = row_idx.len().div_ceil(n_chunks).max(1);
    let chunks = || row_idx.par_chunks(chunk).zip(col_idx.par_chunks(chunk));

    let histograms: Vec<Vec<usize>> = chunks()
        .map(|(rows, cols)| {
            let mut h = vec![0; buckets.count];
            for (&r, &c) in rows.iter().zip(cols) {
                h[(r >> shift) as usize] += 1;
                if mirror != Mirror::None && r != c {
                    h[(c >> shift) as usize] += 1;
                }
            }
            h
        })
        .collect();
    let sizes: Vec<usize> =
        (0..buckets.count).map(|b| histograms.iter().map(|h| h[b]).sum()).collect();
    let starts = offsets(&sizes);
    let total = starts[buckets.count];

    let mut dealt = Dealt {
        local_row: zeroed_vec(total),
        col_idx: zeroed_vec(total),
        values: zeroed_vec(total),
    };
    let mut shares: Vec<Vec<Share<'_, T>>> =
        histograms.iter().map(|_| Vec::with_capacity(buckets.count)).collect();
    let (mut rows_left, mut cols_left, mut values_left) =
        (&mut dealt.local_row[..], &mut dealt.col_idx[..], &mut dealt.values[..]);
    for b in 0..buckets.count {
        for (h, share) in histograms.iter().zip(&mut shares) {
            share.push(Share {
                local_row: rows_left.split_off_mut(..h[b]).unwrap_or_default(),
                col_idx: cols_left.split_off_mut(..h[b]).unwrap_or_default(),
                values: values_left.split_off_mut(..h[b]).unwrap_or_default(),
                len: 0,
            });
        }
    }
    chunks().zip(values.par_chunks(chunk)).zip(shares).for_each(
        |(((rows, cols), values), mut shares)| {
            let mut put = |r: u32, c: u32, v: T| {
                let share = &mut shares[(r >> shift) as usize];
                share.local_row[share.len] = (r & mask) as u16;
                share.col_idx[share.len] = c;
                share.values[share.len] = v;
                share.len += 1;
            };
            for ((&r, &c), &v) in rows.iter().zip(cols).zip(values) {
                put(r, c, v);
                if mirror != Mirror::None && r != c {
                    let negate = mirror == Mirror::Skew;
                    put(c, r, if negate { T::from_f64(-v.to_f64()) } else { v });
                }
            }
        },
    );
    (starts, dealt)
}

/// Second level: sorts every bucket in place, leaves the entries kept at its front and the number
/// kept of every row in `row_counts`. Returns the number kept of every bucket.
fn sort_buckets<T: Scalar>(
    buckets: &Buckets,
    starts: &[usize],
    dealt: &mut Dealt<T>,
    row_counts: &mut [u64],
    how: Assembly,
) -> Result<Vec<usize>, FormatError> {
    let mut cols_left = &mut dealt.col_idx[..];
    let mut values_left = &mut dealt.values[..];
    let tasks: Vec<_> = starts
        .windows(2)
        .zip(row_counts.chunks_mut(buckets.rows()))
        .map(|(w, counts)| {
            let len = w[1] - w[0];
            let rows = &dealt.local_row[w[0]..w[1]];
            let cols = cols_left.split_off_mut(..len).unwrap_or_default();
            let values = values_left.split_off_mut(..len).unwrap_or_default();
            (rows, cols, values, counts)
        })
        .collect();
    let results: Vec<Result<usize, FormatError>> = tasks
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
    /// Sorts one bucket. On a refused duplicate returns its row in the bucket and its column.
    fn sort_bucket(
        &mut self,
        rows: &[u16],
        cols: &mut [u32],
        values: &mut [T],
        counts: &mut [u64],
        how: Assembly,
    ) -> Result<usize, (u32, u32)> {
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
        let (mut start, mut kept) = (0, 0);
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
                merge(cols, values, range, kept, how.prune_zeros)
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
        Ok(kept)
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

/// Moves the sorted row at `range` to `to`, adding up equal columns, and returns its length there.
fn merge<T: Scalar>(
    cols: &mut [u32],
    values: &mut [T],
    range: std::ops::Range<usize>,
    to: usize,
    prune_zeros: bool,
) -> usize {
    let (mut i, mut out) = (range.start, to);
    while i < range.end {
        let c = cols[i];
        let mut v = values[i];
        i += 1;
        if i < range.end && cols[i] == c {
            let mut sum = v.to_acc();
            while i < range.end && cols[i] == c {
                sum += values[i].to_acc();
                i += 1;
            }
            v = T::from_f64(sum.to_f64());
        }
        if !(prune_zeros && v.is_zero()) {
            cols[out] = c;
            values[out] = v;
            out += 1;
        }
    }
    out - to
}

/// The first `kept[b]` elements of every bucket, together.
fn compact<U: Copy + Send + Sync + bytemuck::Zeroable>(
    all: &[U],
    starts: &[usize],
    kept: &[usize],
) -> Vec<U> {
    let mut packed: Vec<U> = zeroed_vec(kept.iter().sum());
    let mut left = &mut packed[..];
    let tasks: Vec<_> = starts
        .iter()
        .zip(kept)
        .map(|(&start, &k)| (left.split_off_mut(..k).unwrap_or_default(), &all[start..start + k]))
        .collect();
    tasks.into_par_iter().for_each(|(to, from)| to.copy_from_slice(from));
    packed
}
