//! Narrow matrices of a batch, copied side by side and multiplied as one.

use girih_backend::ndarray::{
    ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3, Axis, ShapeError, Slice,
};
use girih_backend::{BackendError, DenseScalar};
use girih_formats::Scalar;
use girih_parallel::prelude::*;

use super::Prepared;

/// Bytes of a row of B below which a product reads a small part of a cache line, and A for little work.
const NARROW: usize = 32;

/// Entries for each row of B and C from which one pass over A for many matrices saves more than copies take.
const ENTRIES: usize = 16;

/// Bytes of a row of the copies.
const WIDE: usize = 128;

/// Rows that are copied at a time: those of the copies stay in the nearest cache.
const ROWS: usize = 64;

/// How many matrices with `n` columns of a value type are multiplied as one; at most as many as there are.
pub(super) fn gathered<T: Scalar>(prepared: &Prepared, batch: usize, n: usize) -> usize {
    let (row, rows) = (n * size_of::<T>(), prepared.nrows() + prepared.ncols());
    let is_worth_it = row < NARROW && prepared.nnz() >= ENTRIES.saturating_mul(rows);
    if is_worth_it { (WIDE / row).min(batch) } else { 1 }
}

/// Copies of matrices of a batch, side by side, and their product: both row-major, as wide as what is multiplied.
pub(super) struct Gathered<T: Scalar> {
    b: Vec<T>,
    c: Vec<T::Acc>,
}

/// The factors of a product.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    pub(super) alpha: f64,
    pub(super) beta: f64,
}

impl<T: DenseScalar> Gathered<T> {
    /// Memory for `count` matrices with `n` columns.
    pub(super) fn new(prepared: &Prepared, count: usize, n: usize) -> Self {
        Self {
            b: vec![T::ZERO; prepared.ncols() * count * n],
            c: vec![T::Acc::ZERO; prepared.nrows() * count * n],
        }
    }

    /// `Cₜ = α·A·Bₜ + β·Cₜ` for as many matrices as there is memory for, or fewer. Copies on all threads if
    /// `in_parallel`.
    pub(super) fn multiply(
        &mut self,
        prepared: &Prepared,
        Factors { alpha, beta }: Factors,
        b: &ArrayView3<'_, T>,
        c: &mut ArrayViewMut3<'_, T::Acc>,
        in_parallel: bool,
    ) -> Result<(), BackendError> {
        let (batch, k, n) = b.dim();
        let (m, cols) = (prepared.nrows(), batch * n);
        let (to, product) = (&mut self.b[..k * cols], &mut self.c[..m * cols]);
        gather(b, to, in_parallel);
        if beta != 0.0 {
            gather(&c.view(), product, in_parallel);
        }
        let from = ArrayView2::from_shape((k, cols), &*to).map_err(unfit)?;
        let into = ArrayViewMut2::from_shape((m, cols), &mut *product).map_err(unfit)?;
        prepared.as_spmm().execute(alpha, T::erase(from), beta, T::erase_acc_mut(into))?;
        let blocks: Vec<_> =
            c.axis_chunks_iter_mut(Axis(1), ROWS).zip(product.chunks(ROWS * cols)).collect();
        let scatter = |(mut c, from): (ArrayViewMut3<'_, T::Acc>, &[T::Acc])| {
            for (t, mut c) in c.outer_iter_mut().enumerate() {
                let rows = from.chunks_exact(cols).map(|row| &row[t * n..(t + 1) * n]);
                if !c.is_standard_layout() {
                    for (mut to, from) in c.outer_iter_mut().zip(rows) {
                        to.iter_mut().zip(from).for_each(|(to, x)| *to = *x);
                    }
                } else if let Some(c) = c.as_slice_mut() {
                    by_width(rows, c.chunks_exact_mut(n), n);
                }
            }
        };
        match in_parallel {
            true => blocks.into_par_iter().for_each(scatter),
            false => blocks.into_iter().for_each(scatter),
        }
        Ok(())
    }
}

/// The error of sizes that contradict each other, which those of one array can't.
fn unfit(error: ShapeError) -> BackendError {
    BackendError::Failed {
        backend: "girih".to_owned(),
        operation: "see copies of B and C as matrices".to_owned(),
        source: Box::new(error),
    }
}

/// Copies the matrices of a batch side by side, block of rows by block of rows.
fn gather<A: Copy + Send + Sync>(batch: &ArrayView3<'_, A>, to: &mut [A], in_parallel: bool) {
    let (count, _, n) = batch.dim();
    let cols = count * n;
    let fill = |(block, to): (usize, &mut [A])| {
        let first = block * ROWS;
        let rows = Slice::from(first..first + to.len() / cols);
        for (t, from) in batch.slice_axis(Axis(1), rows).outer_iter().enumerate() {
            let rows = to.chunks_exact_mut(cols).map(|row| &mut row[t * n..(t + 1) * n]);
            match from.as_slice() {
                Some(from) => by_width(from.chunks_exact(n), rows, n),
                None => from.outer_iter().zip(rows).for_each(|(from, to)| {
                    to.iter_mut().zip(from).for_each(|(to, x)| *to = *x);
                }),
            }
        }
    };
    match in_parallel {
        true => to.par_chunks_mut(ROWS * cols).enumerate().for_each(fill),
        false => to.chunks_mut(ROWS * cols).enumerate().for_each(fill),
    }
}

/// Copies rows of `n` elements, in runs of known length if there are few.
fn by_width<'a, A: Copy + 'a>(
    from: impl Iterator<Item = &'a [A]>,
    to: impl Iterator<Item = &'a mut [A]>,
    n: usize,
) {
    fn runs<'a, A: Copy + 'a, const N: usize>(
        from: impl Iterator<Item = &'a [A]>,
        to: impl Iterator<Item = &'a mut [A]>,
    ) {
        for (from, to) in from.zip(to) {
            if let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) {
                *to = *from;
            }
        }
    }
    match n {
        1 => runs::<_, 1>(from, to),
        2 => runs::<_, 2>(from, to),
        3 => runs::<_, 3>(from, to),
        4 => runs::<_, 4>(from, to),
        5 => runs::<_, 5>(from, to),
        6 => runs::<_, 6>(from, to),
        7 => runs::<_, 7>(from, to),
        8 => runs::<_, 8>(from, to),
        _ => from.zip(to).for_each(|(from, to)| to.copy_from_slice(from)),
    }
}
