//! Where the entries of a hybrid stand.

use girih_parallel::prelude::*;

use crate::buffer::Buffer;
use crate::csr::{check_index_lists, check_offsets, first_error};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::tilings::spec;

/// All arrays of a [`Hybrid`] but the values.
pub(crate) struct HybridIndex {
    pub(crate) window_ptr: Buffer<u64>,
    pub(crate) window_col_idx: Buffer<u32>,
    pub(crate) row_ptr: Buffer<u64>,
    pub(crate) col_idx: Buffer<u32>,
}

impl HybridIndex {
    /// Whether the arrays are those of a hybrid: offsets ascend, columns are in range, no window is both.
    pub(super) fn check(
        &self,
        layout: &RowLayout,
        ncols: usize,
        pad_cols: usize,
    ) -> Result<(), FormatError> {
        let Self { window_ptr, window_col_idx, row_ptr, col_idx } = self;
        check_offsets("window_ptr", window_ptr, layout.n_windows(), window_col_idx.len())?;
        spec::check_padded_lists(
            "window_ptr",
            "window_col_idx",
            window_ptr,
            window_col_idx,
            pad_cols,
            ncols,
        )?;
        check_offsets("row_ptr", row_ptr, layout.n_slots(), col_idx.len())?;
        check_index_lists("col_idx", row_ptr, col_idx, ncols)?;
        first_error((0..layout.n_windows()).into_par_iter(), |w| {
            let inconsistent =
                |position, reason| FormatError::Inconsistent { what: "row_ptr", position, reason };
            let slots = layout.window(w);
            let has_entries = row_ptr[slots.start] < row_ptr[slots.end];
            if has_entries && window_ptr[w] < window_ptr[w + 1] {
                let reason = "a window that is packed has rows with entries too";
                return Err(inconsistent(slots.start, reason));
            }
            let mut filled = slots.filter(|&slot| row_ptr[slot] < row_ptr[slot + 1]);
            match filled.find(|&slot| layout.row(slot).is_none()) {
                Some(slot) => Err(inconsistent(slot, "an empty slot has entries")),
                None => Ok(()),
            }
        })
    }
}
