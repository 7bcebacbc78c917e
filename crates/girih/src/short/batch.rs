//! Many dense matrices multiplied by one sparse matrix.

use girih_backend::ndarray::{
    Array3, ArrayBase, ArrayView3, ArrayViewMut3, Axis, Ix2, Ix3, RawData, Slice,
};
use girih_backend::{BackendError, DenseScalar, zeros};
use girih_parallel::prelude::*;
use girih_parallel::{current_num_threads, join};

use super::Prepared;
use super::gather::{Factors, Gathered, gathered};

/// Multiply-adds of a product up to which products of a batch are given to threads whole. Backends compute
/// such a product on one thread, or with no gain from more.
pub(super) const SMALL: usize = 1 << 18;

/// Multiply-adds of a batch up to which the calling thread multiplies it alone: others would take longer to wake.
const ALONE: usize = 1 << 15;

/// Shares of a batch for each thread, so that uneven ones even out.
const SHARES_PER_THREAD: usize = 4;

/// How batch and columns become the columns of one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    /// The columns of the first matrix, then those of the second.
    MatrixByMatrix,
    /// The first column of every matrix, then the second of every one.
    ColumnByColumn,
}

impl Prepared {
    /// `A·Bₜ` for each k×n matrix of a batch×k×n array; C is batch×m×n.
    ///
    /// As [`multiply_batch_into`](Self::multiply_batch_into), into a C whose axes lie in memory in the order
    /// of B's.
    ///
    /// ```
    /// use girih::ndarray::{Array3, array};
    /// use girih::prelude::*;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let prepared = a.plan(2)?.prepare()?;
    /// let b = array![[[1.0f32], [0.0], [1.0]], [[0.0], [1.0], [1.0]]];
    /// assert_eq!(prepared.multiply_batch(b.view())?, array![[[3.0], [0.0]], [[2.0], [3.0]]]);
    ///
    /// // Stored k×batch×n, a batch is multiplied as one matrix of batch·n columns.
    /// let stored = Array3::<f32>::ones((3, 100, 8));
    /// let c = prepared.multiply_batch(stored.view().permuted_axes([1, 0, 2]))?;
    /// assert_eq!((c.dim(), c[(99, 0, 7)]), ((100, 2, 8), 3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`multiply`](Self::multiply).
    #[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
    pub fn multiply_batch<T: DenseScalar>(
        &self,
        b: ArrayView3<'_, T>,
    ) -> Result<Array3<T::Acc>, BackendError> {
        let (batch, _, n) = b.dim();
        let mut c = like(&b, [batch, self.nrows(), n])?;
        self.multiply_batch_into(1.0, b, 0.0, c.view_mut())?;
        Ok(c)
    }

    /// `Cₜ = α·A·Bₜ + β·Cₜ` for each matrix of a batch: B is batch×k×n, C batch×m×n, with any strides.
    ///
    /// - **One product** of batch·n columns, where strides allow to see B and C as one matrix each:
    ///   k×batch×n or k×n×batch in memory, or single columns (n = 1). A is read as often as by one product. Plan
    ///   for batch·n columns.
    /// - **Narrow matrices side by side**, where rows of B are shorter than half a cache line, and A has many entries for
    ///   each: they are copied into a matrix with rows of two lines, and so are their products from it. A is read once
    ///   for them. A thread that multiplies takes memory for one such B and C.
    /// - **A product for each matrix** otherwise, as for wider ones that are batch×k×n in memory: A is read for each.
    ///   Nothing is allocated for each product that would not be for one alone.
    ///
    /// Of the last two, small products are given to threads whole, larger ones are computed one after another by all
    /// threads.
    ///
    /// Bits are those of the products that are computed, so they may differ between these ways.
    ///
    /// # Errors
    /// If a shape or a value type does not fit, matrices of a batch being counted as if they stood below each
    /// other; C is then unchanged.
    #[expect(clippy::needless_pass_by_value, reason = "operands are references and views")]
    pub fn multiply_batch_into<T: DenseScalar>(
        &self,
        alpha: f64,
        b: ArrayView3<'_, T>,
        beta: f64,
        mut c: ArrayViewMut3<'_, T::Acc>,
    ) -> Result<(), BackendError> {
        let (batch, k, n) = b.dim();
        stacked("B", (batch, k, n), (batch, self.ncols(), n))?;
        stacked("C", c.dim(), (batch, self.nrows(), n))?;
        if batch == 0 || n == 0 {
            return Ok(());
        }
        for order in [Columns::MatrixByMatrix, Columns::ColumnByColumn] {
            if let (Some(b), Some(c)) = (as_one(b, order), as_one(c.view_mut(), order)) {
                return self.as_spmm().execute(alpha, T::erase(b), beta, T::erase_acc_mut(c));
            }
        }
        let together = gathered::<T>(self, batch, n);
        let is_large = self.nnz().saturating_mul(n * together) > SMALL;
        let each = |first: usize, mut c: ArrayViewMut3<'_, T::Acc>| {
            let mut memory = (together > 1).then(|| Gathered::new(self, together, n));
            for (at, mut c) in c.axis_chunks_iter_mut(Axis(0), together).enumerate() {
                let first = first + at * together;
                let b = b.slice_axis(Axis(0), Slice::from(first..first + c.len_of(Axis(0))));
                if let Some(memory) = &mut memory {
                    memory.multiply(self, Factors { alpha, beta }, &b, &mut c, is_large)?;
                    continue;
                }
                let (b, c) = (b.index_axis_move(Axis(0), 0), c.index_axis_move(Axis(0), 0));
                self.as_spmm().execute(alpha, T::erase(b), beta, T::erase_acc_mut(c))?;
            }
            Ok(())
        };
        if is_large && together > 1 {
            // On a thread of the pool, whose others then wait awake between copies and products. From outside of it
            // they would be woken for each, beside the threads of products, which are awake too.
            return join(|| each(0, c), || ()).0;
        }
        if is_large || self.nnz().saturating_mul(n).saturating_mul(batch) <= ALONE {
            return each(0, c);
        }
        let products = batch.div_ceil(together);
        let len = products.div_ceil(SHARES_PER_THREAD * current_num_threads()) * together;
        let shares: Vec<_> = c.axis_chunks_iter_mut(Axis(0), len).collect();
        let each = |(share, c)| each(share * len, c);
        shares.into_par_iter().enumerate().with_max_len(1).try_for_each(each)
    }
}

/// Zeros of a shape whose axes lie in memory in the order of those of `b`.
pub(super) fn like<T: DenseScalar>(
    b: &ArrayView3<'_, T>,
    dim: [usize; 3],
) -> Result<Array3<T::Acc>, BackendError> {
    let mut axes = [0, 1, 2];
    // The longest stride first. An axis that repeats one matrix has none, and counts as the longest.
    axes.sort_by_key(|&axis| match b.strides()[axis].unsigned_abs() {
        0 => 0,
        stride => usize::MAX - stride,
    });
    let mut place = [0; 3];
    axes.into_iter().enumerate().for_each(|(at, axis)| place[axis] = at);
    Ok(zeros("C", axes.map(|axis| dim[axis]))?.permuted_axes(place))
}

/// Batch and columns as the columns of one matrix, if they are evenly apart in that order.
fn as_one<S: RawData>(batch: ArrayBase<S, Ix3>, order: Columns) -> Option<ArrayBase<S, Ix2>> {
    let mut rows_first = batch.permuted_axes(match order {
        Columns::MatrixByMatrix => [1, 0, 2],
        Columns::ColumnByColumn => [1, 2, 0],
    });
    let merged = rows_first.merge_axes(Axis(1), Axis(2));
    merged.then(|| rows_first.index_axis_move(Axis(1), 0))
}

/// Checks a batch of matrices as one matrix of all their rows.
pub(super) fn stacked(
    operand: &'static str,
    (found_batch, found_rows, found_cols): (usize, usize, usize),
    (batch, rows, cols): (usize, usize, usize),
) -> Result<(), BackendError> {
    if (found_batch, found_rows, found_cols) == (batch, rows, cols) {
        return Ok(());
    }
    let (found_rows, rows) = (found_batch * found_rows, batch * rows);
    Err(BackendError::Shape { operand, found_rows, found_cols, rows, cols })
}
