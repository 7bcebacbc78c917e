//! Permuting vectors and the rows of dense operands.

use girih_parallel::prelude::*;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};

use super::Permutation;
use crate::error::ReorderError;

/// Elements that one task moves at least.
const TASK_ELEMENTS: usize = 1 << 14;

/// Columns of a strip that is permuted in place: a cache line of the widest value type or more, and
/// enough to amortize reading the permutation.
const STRIP_COLS: usize = 16;

impl Permutation {
    /// The vector with `x[i]` at position `new(i)`. O(n), in parallel.
    ///
    /// # Errors
    /// If `x` is of another length.
    pub fn apply_slice<T: Copy + Send + Sync>(&self, x: &[T]) -> Result<Vec<T>, ReorderError> {
        self.check_applies("elements", x.len())?;
        let order = self.order();
        Ok(order.par_iter().with_min_len(TASK_ELEMENTS).map(|&old| x[old as usize]).collect())
    }

    /// Moves `x[i]` to position `new(i)`. O(n), in parallel, with a copy of `x` and 4 bytes per element
    /// besides it: to follow the cycles instead would save the copy, and wait for memory at every step.
    ///
    /// # Errors
    /// If `x` is of another length.
    pub fn apply_slice_in_place<T: Copy + Send + Sync>(
        &self,
        x: &mut [T],
    ) -> Result<(), ReorderError> {
        let moved = self.apply_slice(x)?;
        x.copy_from_slice(&moved);
        Ok(())
    }

    /// The row-major array whose row `new(i)` is row `i` of `dense`, which may have any strides.
    /// O(rows · columns), in parallel.
    ///
    /// # Errors
    /// If `dense` has another number of rows.
    ///
    /// ```
    /// use girih_reorder::Permutation;
    /// use ndarray::array;
    ///
    /// let p = Permutation::try_new(vec![2, 0, 1])?;
    /// let b = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    /// let permuted = p.apply_dense_rows(b.view())?;
    /// assert_eq!(permuted, array![[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]]);
    /// # Ok::<(), girih_reorder::ReorderError>(())
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "ndarray's views are passed by value")]
    pub fn apply_dense_rows<T>(&self, dense: ArrayView2<'_, T>) -> Result<Array2<T>, ReorderError>
    where
        T: Copy + Default + Send + Sync,
    {
        let (nrows, ncols) = dense.dim();
        self.check_applies("rows", nrows)?;
        let order = self.order();
        let mut permuted = Array2::from_elem((nrows, ncols), T::default());
        if let Some(rows) = permuted.as_slice_mut()
            && ncols > 0
        {
            let rows = rows.par_chunks_mut(ncols).zip(&order);
            rows.with_min_len(TASK_ELEMENTS.div_ceil(ncols)).for_each(|(row, &old)| {
                let from = dense.row(old as usize);
                match from.as_slice() {
                    Some(from) => row.copy_from_slice(from),
                    None => row.iter_mut().zip(&from).for_each(|(to, &v)| *to = v),
                }
            });
        }
        Ok(permuted)
    }

    /// Moves row `i` of `dense` to row `new(i)`. O(rows · columns); strips of columns in parallel;
    /// besides `dense`, 4 bytes per row and a strip's row per task.
    ///
    /// # Errors
    /// If `dense` has another number of rows.
    pub fn apply_dense_rows_in_place<T>(
        &self,
        mut dense: ArrayViewMut2<'_, T>,
    ) -> Result<(), ReorderError>
    where
        T: Copy + Send + Sync,
    {
        let (nrows, ncols) = dense.dim();
        self.check_applies("rows", nrows)?;
        let order = self.order();
        let leaders = cycle_leaders(&order);
        let strip_cols = ncols.div_ceil(girih_parallel::current_num_threads()).max(STRIP_COLS);
        let strips: Vec<_> = dense.axis_chunks_iter_mut(Axis(1), strip_cols).collect();
        strips.into_par_iter().for_each(|mut strip| {
            let mut saved = Vec::with_capacity(strip.ncols());
            for &leader in &leaders {
                saved.clear();
                saved.extend(strip.row(leader));
                let mut to = leader;
                loop {
                    let from = order[to] as usize;
                    if from == leader {
                        break;
                    }
                    copy_row(&mut strip, from, to);
                    to = from;
                }
                strip.row_mut(to).iter_mut().zip(&saved).for_each(|(to, &v)| *to = v);
            }
        });
        Ok(())
    }
}

/// Overwrites row `to` with row `from`, another one.
fn copy_row<T: Copy>(rows: &mut ArrayViewMut2<'_, T>, from: usize, to: usize) {
    let (mut above, mut below) = rows.view_mut().split_at(Axis(0), from.max(to));
    let (mut first, mut second) = (above.row_mut(from.min(to)), below.row_mut(0));
    if from < to {
        second.assign(&first);
    } else {
        first.assign(&second);
    }
}

/// The smallest index of every cycle that moves something.
fn cycle_leaders(order: &[u32]) -> Vec<usize> {
    let mut seen = vec![false; order.len()];
    let mut leaders = Vec::new();
    for leader in 0..order.len() {
        if seen[leader] || order[leader] as usize == leader {
            continue;
        }
        leaders.push(leader);
        let mut at = leader;
        while !seen[at] {
            seen[at] = true;
            at = order[at] as usize;
        }
    }
    leaders
}
