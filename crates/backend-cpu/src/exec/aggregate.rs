//! What the products of rows come to: maxima, minima and means, from the entries as stored.

use std::borrow::Cow;

use girih_backend::{Aggregation, Unsupported};
use girih_formats::{Buffer, FormatError, FormatKind, RealAccumulator, RealNumber, RowCsr, Scalar};
use girih_simd::{Output, RowBlock, RowMap, Source, Total};
use ndarray::{ArrayView2, ArrayViewMut2};

use super::Prepared;
use crate::kernels::CpuScalar;

/// Entries and rows of a task: long enough to hide what a task costs, short enough to share out. A row is not
/// cut.
const TASK_ENTRIES: u64 = 1 << 12;

impl<T: CpuScalar> Prepared<T> {
    /// Computes an aggregation of operands of the right shape.
    ///
    /// # Errors
    /// If there is no memory for a copy of B.
    pub(super) fn aggregate_rows(
        &self,
        a: &RowCsr<T>,
        aggregation: Aggregation,
        b: &ArrayView2<'_, T>,
        mut c: ArrayViewMut2<'_, T::Acc>,
    ) -> Result<(), FormatError> {
        let n = b.ncols();
        if c.is_empty() {
            return Ok(());
        }
        let copy;
        let b = if n == 1 || b.strides()[1] == 1 {
            Source::new(b)
        } else {
            copy = row_major(b)?;
            Source { ptr: copy.as_ptr(), row_stride: n as isize, col_stride: 1 }
        };
        let (total, sign) = match aggregation {
            Aggregation::Mean => (Total::Mean, T::Acc::ONE),
            Aggregation::Min => (Total::Greatest, T::Acc::from_f64(-1.0)),
            // Others are refused before.
            _ => (Total::Greatest, T::Acc::ONE),
        };
        let out = Output::new(&mut c, sign, T::Acc::ZERO);
        let row_ptr: &[u64] = a.csr().row_ptr();
        // Rows before a slot count as work too: there may be many without entries.
        let work = |slot: usize| row_ptr[slot] + slot as u64;
        let slots = row_ptr.len() - 1;
        let first_of = |task: usize| first_where(slots, |s| work(s) >= task as u64 * TASK_ENTRIES);
        let tasks = work(slots).div_ceil(TASK_ENTRIES) as usize;
        self.team.for_each(tasks, 1, |task| {
            let rows = first_of(task)..first_of(task + 1);
            let entries = row_ptr[rows.start] as usize..row_ptr[rows.end] as usize;
            let block = RowBlock {
                row_ptr: &row_ptr[rows.start..=rows.end],
                entries: (entries.start as u64, entries.end as u64),
                first: entries.start as u64,
                col_idx: &a.csr().col_idx()[entries.clone()],
                values: &self.signed(&a.csr().values()[entries], aggregation),
            };
            let map = RowMap::for_slots(a.layout(), rows.start, rows.len());
            self.kernels.aggregate(&block, total, b, &out, map, n);
        });
        Ok(())
    }

    /// Values in the accumulation type, with their signs changed for a minimum.
    fn signed<'a>(&self, values: &'a [T], aggregation: Aggregation) -> Cow<'a, [T::Acc]> {
        let wide = match T::as_acc(values) {
            Some(values) => Cow::Borrowed(values),
            None => {
                let mut wide = vec![T::Acc::ZERO; values.len()];
                self.kernels.widen(values, &mut wide);
                Cow::Owned(wide)
            }
        };
        match aggregation {
            Aggregation::Min => Cow::Owned(negated(&wide).collect()),
            _ => wide,
        }
    }
}

/// Values with their signs changed: what the least product is found by.
fn negated<A: RealAccumulator>(values: &[A]) -> impl Iterator<Item = A> {
    let minus_one = A::from_f64(-1.0);
    values.iter().map(move |&value| minus_one * value)
}

/// Whether kernels know the aggregation, in this format.
pub(crate) fn known_aggregation(
    format: FormatKind,
    aggregation: Aggregation,
) -> Result<(), Unsupported> {
    let reason = match (format, aggregation) {
        (FormatKind::Csr, Aggregation::Max | Aggregation::Min | Aggregation::Mean) => return Ok(()),
        (FormatKind::Csr, other) => format!("its kernels lack {other:?}"),
        (other, _) => format!("its kernels for {other} add up products; plan csr"),
    };
    Err(Unsupported::Aggregation { reason })
}

/// The first of `0..len` for which a condition holds that holds for all after it; `len` if for none.
fn first_where(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (0, len);
    while start < end {
        let middle = start.midpoint(end);
        if holds(middle) {
            end = middle;
        } else {
            start = middle + 1;
        }
    }
    start
}

/// B with its rows next to each other.
fn row_major<T: Scalar>(b: &ArrayView2<'_, T>) -> Result<Buffer<T>, FormatError> {
    let mut copy = Buffer::zeroed(b.len())?;
    copy.make_mut().iter_mut().zip(b).for_each(|(to, &from)| *to = from);
    Ok(copy)
}
