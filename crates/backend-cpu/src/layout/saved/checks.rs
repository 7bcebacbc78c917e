//! Reading the arrays of an attachment, and what must hold of them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use girih_formats::{Buffer, PAD_ROW, RowCsr, Scalar};
use girih_parallel::prelude::*;
use girih_planner::file::{AttachedElement, Attachment};

use crate::layout::row_of;

/// Columns that are checked at a time.
const CHUNK: usize = 1 << 16;

/// An array of an attachment.
pub(super) fn array<'a, E: AttachedElement>(
    from: &'a Attachment,
    name: &str,
) -> Result<&'a Buffer<E>, String> {
    from.array(name).ok_or_else(|| format!("it has no {name}"))
}

/// An array of records of `N` numbers each.
pub(super) fn records<'a, E: AttachedElement, const N: usize>(
    from: &'a Attachment,
    name: &str,
) -> Result<&'a [[E; N]], String> {
    match array::<E>(from, name)?.as_chunks() {
        (records, []) => Ok(records),
        _ => Err(format!("the last of its {name} is not whole")),
    }
}

/// Checks what must hold of a saved copy.
///
/// # Errors
/// `what`, if it does not hold.
pub(super) fn must(holds: bool, what: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| what.to_owned())
}

/// Rows of C that tasks of whole windows store and that were not found in a copy yet. Every row must be
/// stored once, so that no two threads write to one. Threads share it.
pub(super) struct UnwrittenRows {
    bits: Vec<AtomicU64>,
    /// Rows that there were to begin with.
    pub(super) count: usize,
}

impl UnwrittenRows {
    /// The rows of tasks, each a range of slots: O(m) in parallel.
    pub(super) fn from_tasks<T: Scalar>(a: &RowCsr<T>, tasks: &[Range<usize>]) -> Self {
        let words = a.layout().nrows().div_ceil(64);
        let bits: Vec<AtomicU64> = (0..words).map(|_| AtomicU64::new(0)).collect();
        let mark = |task: &Range<usize>| {
            let rows = task.clone().map(|slot| row_of(a, slot)).filter(|&row| row != PAD_ROW);
            rows.inspect(|&row| {
                bits[row as usize / 64].fetch_or(1 << (row % 64), Ordering::Relaxed);
            })
            .count()
        };
        let count = tasks.par_iter().map(mark).sum();
        Self { bits, count }
    }

    /// Takes rows; how many there are if all were still there, and each comes once.
    pub(super) fn take(&self, rows: impl IntoIterator<Item = u32>) -> Option<usize> {
        let mut taken = 0;
        for row in rows {
            let bit = 1 << (row % 64);
            let before = self.bits.get(row as usize / 64)?.fetch_and(!bit, Ordering::Relaxed);
            if before & bit == 0 {
                return None;
            }
            taken += 1;
        }
        Some(taken)
    }
}

/// Whether all columns lie in `range`: O(nnz) in parallel.
pub(super) fn are_within(cols: &[u32], range: &Range<usize>) -> bool {
    let of_chunk = |cols: &[u32]| {
        let (least, most) =
            cols.iter().fold((u32::MAX, 0), |(least, most), &col| (least.min(col), most.max(col)));
        cols.is_empty() || least as usize >= range.start && (most as usize) < range.end
    };
    cols.par_chunks(CHUNK).all(of_chunk)
}
