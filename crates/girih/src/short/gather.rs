//! Narrow matrices of a batch, copied side by side and multiplied as one.

use std::ops::Range;

use girih_backend::ndarray::{
    Array2, ArrayView2, ArrayView3, ArrayViewMut2, ArrayViewMut3, Axis, Slice,
};
use girih_backend::{BackendError, DenseScalar};
use girih_formats::Scalar;
use girih_parallel::prelude::*;

use super::Prepared;

/// Bytes of a row of B below which a product reads a part of a cache line, and A for little work: such rows are copied
/// side by side.
const NARROW: usize = 64;

/// Bytes of a row of the copies.
const WIDE: usize = 128;

/// Rows that are copied at a time: those of the copies stay in the nearest cache.
const ROWS: usize = 64;

/// How many matrices with `n` columns of a value type are multiplied as one; at most as many as there are.
pub(super) fn gathered<T: Scalar>(batch: usize, n: usize) -> usize {
    let row = n * size_of::<T>();
    if row < NARROW { (WIDE / row).min(batch) } else { 1 }
}

/// Copies of matrices of a batch, side by side, and their product.
pub(super) struct Gathered<T: Scalar> {
    b: Array2<T>,
    c: Array2<T::Acc>,
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
            b: Array2::from_elem((prepared.ncols(), count * n), T::ZERO),
            c: Array2::from_elem((prepared.nrows(), count * n), T::Acc::ZERO),
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
        let (batch, _, n) = b.dim();
        let used = Slice::from(..batch * n);
        let mut to = self.b.slice_axis_mut(Axis(1), used);
        in_blocks(&mut to, in_parallel, |rows, mut to| {
            for (t, b) in b.outer_iter().enumerate() {
                let mut to = to.slice_axis_mut(Axis(1), Slice::from(t * n..(t + 1) * n));
                copy(&b.slice_axis(Axis(0), Slice::from(rows.clone())), &mut to);
            }
        });
        let mut product = self.c.slice_axis_mut(Axis(1), used);
        if beta != 0.0 {
            let c = c.view();
            in_blocks(&mut product, in_parallel, |rows, mut to| {
                for (t, c) in c.outer_iter().enumerate() {
                    let mut to = to.slice_axis_mut(Axis(1), Slice::from(t * n..(t + 1) * n));
                    copy(&c.slice_axis(Axis(0), Slice::from(rows.clone())), &mut to);
                }
            });
        }
        let from = T::erase(to.view());
        prepared.as_spmm().execute(alpha, from, beta, T::erase_acc_mut(product.view_mut()))?;
        let scatter = |(t, mut c): (usize, ArrayViewMut2<'_, T::Acc>)| {
            copy(&product.slice_axis(Axis(1), Slice::from(t * n..(t + 1) * n)), &mut c);
        };
        let each: Vec<_> = c.outer_iter_mut().collect();
        match in_parallel {
            true => each.into_par_iter().enumerate().with_max_len(1).for_each(scatter),
            false => each.into_iter().enumerate().for_each(scatter),
        }
        Ok(())
    }
}

/// Calls `fill` for blocks of rows of a matrix.
fn in_blocks<A: Send>(
    to: &mut ArrayViewMut2<'_, A>,
    in_parallel: bool,
    fill: impl Fn(Range<usize>, ArrayViewMut2<'_, A>) + Sync,
) {
    let fill = |(block, to): (usize, ArrayViewMut2<'_, A>)| {
        fill(block * ROWS..block * ROWS + to.nrows(), to);
    };
    let blocks = to.axis_chunks_iter_mut(Axis(0), ROWS);
    match in_parallel {
        true => blocks.collect::<Vec<_>>().into_par_iter().enumerate().for_each(fill),
        false => blocks.enumerate().for_each(fill),
    }
}

/// Copies a narrow matrix, in runs of known length where its columns and those of its copy lie next to each other.
fn copy<A: Copy>(from: &ArrayView2<'_, A>, to: &mut ArrayViewMut2<'_, A>) {
    macro_rules! by_width {
        ($($n:literal)*) => {
            match from.ncols() {
                $($n => runs::<A, $n>(from, to),)*
                _ => false,
            }
        };
    }
    if !by_width!(1 2 3 4 5 6 7 8) {
        to.assign(from);
    }
}

/// [`copy`] of rows with N elements; false, without a change, if their elements are apart.
fn runs<A: Copy, const N: usize>(from: &ArrayView2<'_, A>, to: &mut ArrayViewMut2<'_, A>) -> bool {
    for (from, mut to) in from.outer_iter().zip(to.outer_iter_mut()) {
        let (Some(from), Some(to)) = (from.to_slice(), to.as_slice_mut()) else { return false };
        let (Some(from), Some(to)) = (from.first_chunk::<N>(), to.first_chunk_mut::<N>()) else {
            return false;
        };
        *to = *from;
    }
    true
}
