//! Rows of CSR, as the kernel's work is made of them: all of a matrix, or those of a hybrid that are not packed.

use std::borrow::Cow;

use girih_formats::{Buffer, CsrPattern, Hybrid, PAD_ROW, RowCsr, RowLayout, Scalar};

use super::statistics::rows_of_slots;

/// Which row of C stands in a slot.
pub(super) trait RowOfSlot {
    /// `None` if the slot is empty.
    fn row(&self, slot: usize) -> Option<usize>;
}

impl RowOfSlot for RowLayout {
    fn row(&self, slot: usize) -> Option<usize> {
        RowLayout::row(self, slot)
    }
}

/// Slots' rows of C.
enum Slots<'a> {
    Layout(&'a RowLayout),
    /// [`PAD_ROW`] where a slot is empty.
    Listed(Vec<u32>),
}

impl RowOfSlot for Slots<'_> {
    fn row(&self, slot: usize) -> Option<usize> {
        match self {
            Self::Layout(layout) => layout.row(slot),
            Self::Listed(rows) => (rows[slot] != PAD_ROW).then_some(rows[slot] as usize),
        }
    }
}

/// Rows of C by the slots of A, none of which anyone else computes.
pub(crate) struct Rows<'a, T: Scalar> {
    /// Rows and columns of the matrix.
    pub(super) shape: (usize, usize),
    /// Bytes of the matrix's arrays.
    pub(super) bytes: u64,
    /// Where each slot's entries begin.
    pub(super) row_ptr: Cow<'a, [u64]>,
    pub(super) col_idx: Buffer<u32>,
    pub(super) values: Buffer<T>,
    /// Of the slots; `None` if they are only some of the matrix's.
    pub(super) pattern: Option<CsrPattern<'a>>,
    slots: Slots<'a>,
}

impl<'a, T: Scalar> Rows<'a, T> {
    /// All rows of a matrix.
    pub(crate) fn of(a: &'a RowCsr<T>) -> Self {
        let csr = a.csr();
        Self {
            shape: (a.layout().nrows(), csr.ncols()),
            bytes: a.bytes(),
            row_ptr: Cow::Borrowed(csr.row_ptr()),
            col_idx: csr.col_idx().clone(),
            values: csr.values().clone(),
            pattern: Some(csr.pattern()),
            slots: Slots::Layout(a.layout()),
        }
    }

    /// The rows of a hybrid's windows that are not packed, also those without entries: O(slots + entries).
    pub(crate) fn besides_packed(a: &'a Hybrid<T>) -> Self {
        let layout = a.layout();
        let windows = || (0..layout.n_windows()).filter(|&w| !a.is_packed(w));
        let slots = || windows().flat_map(|w| layout.window(w));
        // Rows of packed windows have no entries, so each row begins where the one before ends.
        let ends = slots().map(|slot| a.row_ptr()[slot + 1]);
        let row_ptr: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let mut values = Vec::with_capacity(a.col_idx().len());
        windows().for_each(|w| values.extend_from_slice(&a.values()[a.window_values(w)]));
        let row = |slot| layout.row(slot).map_or(PAD_ROW, |row| row as u32);
        Self {
            shape: (a.nrows(), a.ncols()),
            bytes: a.bytes(),
            row_ptr: Cow::Owned(row_ptr),
            col_idx: a.col_idx().clone(),
            values: values.into(),
            pattern: None,
            slots: Slots::Listed(slots().map(row).collect()),
        }
    }

    /// What says where slots' rows go.
    pub(super) fn order(&self) -> &impl RowOfSlot {
        &self.slots
    }

    /// The row of C of every slot, if that is not the slot's number.
    pub(crate) fn listed(&self) -> Vec<u32> {
        match &self.slots {
            Slots::Layout(layout) => rows_of_slots(layout, self.row_ptr.len() - 1),
            Slots::Listed(rows) => rows.clone(),
        }
    }
}
