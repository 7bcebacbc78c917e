//! The rows of B that panels hold: their bytes, and which caches hold a panel of them.

use super::config::{fits_each_thread, panel_cols, shares};
use crate::lowering::Case;
use crate::machine::Machine;
use crate::thresholds::{CACHE_BEYOND_PRIVATE, CACHE_PRIVATE_PANEL, PACK_ROW_BYTES};

/// Rows of B, all or those of a slab.
pub(super) struct RowsOfB {
    k: usize,
    pub(super) row_bytes: usize,
    /// Bytes of one vector of all rows.
    pub(super) vector_bytes: usize,
}

impl RowsOfB {
    /// `k` rows, if they are wide enough to be packed.
    ///
    /// # Errors
    /// The reason against packing.
    pub(super) fn try_new(case: &Case, k: usize) -> Result<Self, String> {
        let too_large = || "B is larger than the address space".to_owned();
        let row_bytes = case.n.checked_mul(case.value_bytes).ok_or_else(too_large)?;
        if row_bytes < PACK_ROW_BYTES {
            return Err(format!("rows of B have {row_bytes} bytes; {PACK_ROW_BYTES} are needed"));
        }
        let vector_bytes = k.checked_mul(case.lanes() * case.value_bytes).ok_or_else(too_large)?;
        k.checked_mul(row_bytes).ok_or_else(too_large)?;
        Ok(Self { k, row_bytes, vector_bytes })
    }

    /// Bytes of all rows.
    pub(super) fn bytes(&self) -> usize {
        self.k * self.row_bytes
    }

    /// The least width of a row with which B takes at least `bytes` bytes.
    pub(super) fn least_row(&self, bytes: usize) -> usize {
        PACK_ROW_BYTES.max(bytes.div_ceil(self.k.max(1)))
    }

    /// Whether a core's own caches hold most of a panel of `vectors` vectors.
    pub(super) fn panel_stays(&self, vectors: usize, machine: Machine) -> bool {
        vectors * self.vector_bytes <= machine.private / 4 * CACHE_PRIVATE_PANEL
    }

    /// The reason against packing if such a panel does not stay.
    pub(super) fn require_panel_stays(
        &self,
        vectors: usize,
        machine: Machine,
    ) -> Result<(), String> {
        if self.panel_stays(vectors, machine) {
            return Ok(());
        }
        let bytes = vectors * self.vector_bytes;
        Err(format!("a core's own caches don't hold a panel of {bytes} bytes"))
    }

    /// The reason against packing if a core's own caches hold most of B.
    pub(super) fn require_beyond_core(&self, machine: Machine) -> Result<(), String> {
        let (bytes, needed) = (self.bytes(), beyond_core(machine));
        if bytes >= needed {
            return Ok(());
        }
        Err(format!("B has {bytes} bytes; {needed} are needed"))
    }

    /// Into how many shares of the tasks each panel is divided where threads have panels of their own; 1 for
    /// a single thread.
    ///
    /// # Errors
    /// The reason why all threads would pack together, which gains nothing over a cache that they share.
    pub(super) fn shares(&self, case: &Case, vectors: usize) -> Result<usize, String> {
        let &Case { n, threads, machine, .. } = case;
        if threads < 2 {
            return Ok(1);
        }
        let count = panel_cols(vectors, case.lanes(), n).count();
        if !fits_each_thread(threads, vectors * self.vector_bytes, machine) {
            return Err(format!(
                "the last-level cache does not hold a panel for each of {threads} threads"
            ));
        }
        shares(count, threads).ok_or_else(|| {
            format!("{count} panels can't be divided equally among {threads} threads")
        })
    }
}

/// Bytes of a B of which a core's own caches hold no more than half.
pub(super) const fn beyond_core(machine: Machine) -> usize {
    CACHE_BEYOND_PRIVATE * machine.private
}
