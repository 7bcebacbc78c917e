//! First level: triplets into buckets of consecutive rows.

use bytemuck::Pod;
use girih_parallel::prelude::*;

use super::{Mirror, offsets, row_ptr_of};
use crate::buffer::Buffer;
use crate::csr::Coo;
use crate::error::FormatError;
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
    /// The start of every bucket, and the total.
    pub(super) starts: Vec<usize>,
    /// Entries of row `i` at `i + 1`, once rows are known.
    pub(super) row_ptr: Buffer<u64>,
    /// Row inside the bucket; `None` if the entries of a bucket come row by row, and `row_ptr` counts them.
    pub(super) local_row: Option<Buffer<u16>>,
    pub(super) col_idx: Buffer<u32>,
    pub(super) values: Buffer<T>,
}

/// Finds where buckets begin in triplets whose rows come in order. Their entries stay in place.
///
/// # Errors
/// If there is no memory for row offsets.
pub(super) fn in_row_order<T: Scalar>(
    coo: Coo<T>,
    buckets: &Buckets,
) -> Result<Dealt<T>, FormatError> {
    let Coo { nrows, row_idx, col_idx, values, .. } = coo;
    let mut row_ptr = row_ptr_of(&row_idx, nrows)?;
    drop(row_idx);
    let mut starts: Vec<usize> =
        row_ptr[..nrows].iter().step_by(buckets.rows()).map(|&start| start as usize).collect();
    starts.push(values.len());
    // Offsets become numbers of entries.
    let row_ends = &mut row_ptr.make_mut()[1..];
    row_ends.par_chunks_mut(buckets.rows()).zip(&starts).for_each(|(ends, &start)| {
        let mut before = start as u64;
        for end in ends {
            before = std::mem::replace(end, *end - before);
        }
    });
    Ok(Dealt { starts, row_ptr, local_row: None, col_idx, values })
}

/// Deals triplets and their mirror images into buckets.
///
/// Values, columns and rows are dealt one after the other, and each array of the triplets is dropped as soon as it
/// is not needed: beside the triplets there is never more than the array that is being filled.
///
/// # Errors
/// If there is no memory for an array.
pub(super) fn deal<T: Scalar>(
    coo: Coo<T>,
    mirror: Mirror,
    buckets: &Buckets,
) -> Result<Dealt<T>, FormatError> {
    let Coo { nrows, row_idx, col_idx, values, .. } = coo;
    let mask = buckets.rows() as u32 - 1;
    let plan = Dealing::new(&row_idx, &col_idx, mirror, buckets);
    let starts = plan.starts();

    let value = |i: usize| values[i];
    let image = |i: usize| match mirror {
        Mirror::Skew => T::from_c64(-values[i].to_c64()),
        Mirror::Hermitian => values[i].conj(),
        Mirror::None | Mirror::Symmetric => values[i],
    };
    let dealt_values = plan.deal(&row_idx, &col_idx, value, image)?;
    drop(values);
    let dealt_cols = plan.deal(&row_idx, &col_idx, |i| col_idx[i], |i| row_idx[i])?;
    // Only mirror images need the columns still.
    let col_idx = (mirror != Mirror::None).then_some(col_idx);
    let cols = col_idx.as_ref().unwrap_or(&row_idx);
    let local = |idx: u32| (idx & mask) as u16;
    let local_row = plan.deal(&row_idx, cols, |i| local(row_idx[i]), |i| local(cols[i]))?;
    Ok(Dealt {
        starts,
        row_ptr: Buffer::zeroed(nrows + 1)?,
        local_row: Some(local_row),
        col_idx: dealt_cols,
        values: dealt_values,
    })
}

/// How triplets are dealt: chunks of them, and what each chunk has for each bucket.
struct Dealing {
    shift: u32,
    mirrors: bool,
    /// Triplets of a chunk.
    chunk: usize,
    /// Entries of each chunk by bucket.
    histograms: Vec<Vec<usize>>,
}

impl Dealing {
    fn new(row_idx: &[u32], col_idx: &[u32], mirror: Mirror, buckets: &Buckets) -> Self {
        // Few enough chunks that their tables stay small beside the entries.
        let most = row_idx.len() / (16 * buckets.count.max(1)) + 1;
        let n_chunks = (4 * girih_parallel::current_num_threads()).min(most);
        let chunk = row_idx.len().div_ceil(n_chunks).max(1);
        let (shift, mirrors) = (buckets.shift, mirror != Mirror::None);
        let counted = |(rows, cols): (&[u32], &[u32])| {
            let mut counts = vec![0; buckets.count];
            for (&r, &c) in rows.iter().zip(cols) {
                counts[(r >> shift) as usize] += 1;
                if mirrors && r != c {
                    counts[(c >> shift) as usize] += 1;
                }
            }
            counts
        };
        let chunks = row_idx.par_chunks(chunk).zip(col_idx.par_chunks(chunk));
        Self { shift, mirrors, chunk, histograms: chunks.map(counted).collect() }
    }

    /// The start of every bucket, and the total.
    fn starts(&self) -> Vec<usize> {
        let n_buckets = self.histograms.first().map_or(0, Vec::len);
        let sizes: Vec<usize> =
            (0..n_buckets).map(|b| self.histograms.iter().map(|h| h[b]).sum()).collect();
        offsets(&sizes)
    }

    /// Deals one array: `of` gives what triplet `i` has, and `image` what its mirror image has.
    fn deal<U: Pod + Send>(
        &self,
        row_idx: &[u32],
        col_idx: &[u32],
        of: impl Fn(usize) -> U + Sync,
        image: impl Fn(usize) -> U + Sync,
    ) -> Result<Buffer<U>, FormatError> {
        let total = self.histograms.iter().flatten().sum();
        let mut dealt = Buffer::<U>::zeroed(total)?;
        let mut left = dealt.make_mut();
        // What each chunk has of each bucket, to be filled from the front.
        let mut shares: Vec<Vec<&mut [U]>> =
            self.histograms.iter().map(|h| Vec::with_capacity(h.len())).collect();
        for b in 0..self.histograms.first().map_or(0, Vec::len) {
            for (h, shares) in self.histograms.iter().zip(&mut shares) {
                shares.push(left.split_off_mut(..h[b]).unwrap_or_default());
            }
        }
        let chunks = row_idx.par_chunks(self.chunk).zip(col_idx.par_chunks(self.chunk));
        chunks.zip(shares).enumerate().for_each(|(number, ((rows, cols), mut shares))| {
            let mut put = |bucket: u32, value: U| {
                let share = &mut shares[bucket as usize];
                if let Some(first) = share.split_off_first_mut() {
                    *first = value;
                }
            };
            for ((&r, &c), i) in rows.iter().zip(cols).zip(number * self.chunk..) {
                put(r >> self.shift, of(i));
                if self.mirrors && r != c {
                    put(c >> self.shift, image(i));
                }
            }
        });
        Ok(dealt)
    }
}
