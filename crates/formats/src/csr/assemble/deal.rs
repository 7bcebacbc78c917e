//! First level: triplets into buckets of consecutive rows.

use rayon::prelude::*;

use super::{Mirror, offsets};
use crate::buffer::Buffer;
use crate::csr::Coo;
use crate::scalar::Scalar;

/// Entries a bucket should hold: with their values they fit a core's cache.
const BUCKET_ENTRIES: usize = 1 << 15;
/// Rows a bucket may have: their numbers inside the bucket are `u16`.
const BUCKET_ROWS: usize = 1 << 16;

/// The rows, cut into runs of a power of two.
pub(super) struct Buckets {
    pub(super) shift: u32,
    count: usize,
}

impl Buckets {
    pub(super) fn new(nrows: usize, entries: usize) -> Self {
        let wanted = (entries / BUCKET_ENTRIES).clamp(1, 1 << 12);
        let rows = nrows.div_ceil(wanted).next_power_of_two().min(BUCKET_ROWS);
        Self { shift: rows.trailing_zeros(), count: nrows.div_ceil(rows) }
    }

    pub(super) fn rows(&self) -> usize {
        1 << self.shift
    }
}

/// Entries in bucket order; in the order given inside a bucket.
pub(super) struct Dealt<T> {
    /// Row inside the bucket.
    pub(super) local_row: Buffer<u16>,
    pub(super) col_idx: Buffer<u32>,
    pub(super) values: Buffer<T>,
}

/// One chunk's share of one bucket, filled from the front.
struct Share<'a, T> {
    local_row: &'a mut [u16],
    col_idx: &'a mut [u32],
    values: &'a mut [T],
    len: usize,
}

/// Deals triplets and their mirror images into buckets. Returns the start of every bucket, and the total, with the entries.
pub(super) fn deal<T: Scalar>(
    coo: Coo<T>,
    mirror: Mirror,
    buckets: &Buckets,
) -> (Vec<usize>, Dealt<T>) {
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
        local_row: Buffer::zeroed_or_abort(total),
        col_idx: Buffer::zeroed_or_abort(total),
        values: Buffer::zeroed_or_abort(total),
    };
    let mut shares: Vec<Vec<Share<'_, T>>> =
        histograms.iter().map(|_| Vec::with_capacity(buckets.count)).collect();
    let (mut rows_left, mut cols_left, mut values_left) =
        (dealt.local_row.make_mut(), dealt.col_idx.make_mut(), dealt.values.make_mut());
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
