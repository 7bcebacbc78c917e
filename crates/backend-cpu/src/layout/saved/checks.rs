//! Reading the arrays of an attachment, and what must hold of them.

use std::ops::Range;

use girih_formats::{Buffer, PAD_ROW, RowCsr, Scalar};
use girih_planner::file::{AttachedElement, Attachment};
use rayon::prelude::*;

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
/// stored once, so that no two threads write to one.
pub(super) struct UnwrittenRows {
    bits: Vec<u64>,
    pub(super) count: usize,
}

impl UnwrittenRows {
    /// The rows of tasks, each a range of slots: O(m).
    pub(super) fn from_tasks<T: Scalar>(a: &RowCsr<T>, tasks: &[Range<usize>]) -> Self {
        let mut left = Self { bits: vec![0; a.layout().nrows().div_ceil(64)], count: 0 };
        for slot in tasks.iter().flat_map(Clone::clone) {
            let row = row_of(a, slot);
            if row != PAD_ROW {
                left.bits[row as usize / 64] |= 1 << (row % 64);
                left.count += 1;
            }
        }
        left
    }

    /// Takes a row; whether it was still there.
    pub(super) fn take(&mut self, row: u32) -> bool {
        let Some(bits) = self.bits.get_mut(row as usize / 64) else { return false };
        let bit = 1 << (row % 64);
        let was_left = *bits & bit != 0;
        *bits &= !bit;
        self.count -= usize::from(was_left);
        was_left
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
