//! What decisions depend on besides the matrix itself.

use girih_formats::{FormatSpec, Scalar, Tiling};
use girih_simd::VECTOR_BYTES;

use crate::Isa;
use crate::machine::Machine;
use crate::thresholds::{LINE_BYTES, WIDEN_COLS, WIDEN_ENTRIES, WIDEN_VECTORS};

/// Sizes of a product, and the machine that it runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) spec: FormatSpec,
    /// Rows and columns of A.
    pub(crate) m: usize,
    pub(crate) k: usize,
    /// Entries of A, and values stored including the zeros that fill tiles.
    pub(crate) nnz: usize,
    pub(crate) stored: usize,
    /// Columns of B that the plan is for.
    pub(crate) n: usize,
    /// Whether it is for a single product, for which no copy is made.
    pub(crate) once: bool,
    pub(crate) threads: usize,
    /// Bytes of a value of A or B, and of a sum.
    pub(crate) value_bytes: usize,
    pub(crate) sum_bytes: usize,
    pub(crate) isa: Isa,
    pub(crate) machine: Machine,
}

impl Case {
    /// The case of a tiling that is multiplied by `n` columns.
    pub(crate) fn new<T: Scalar>(
        tiling: &Tiling<T>,
        n: usize,
        threads: usize,
        isa: Isa,
        machine: Machine,
    ) -> Self {
        let spec = tiling.spec();
        let tile = spec.tile().values.unwrap_or(0);
        Self {
            spec,
            m: tiling.nrows(),
            k: tiling.ncols(),
            nnz: tiling.nnz(),
            stored: tiling.nnz().max(tile.saturating_mul(tiling.n_tiles() as usize)),
            n,
            once: false,
            threads,
            value_bytes: size_of::<T>(),
            sum_bytes: size_of::<T::Acc>(),
            isa,
            machine,
        }
    }

    /// Columns of a vector: sums in 64 bytes.
    pub(crate) fn lanes(&self) -> usize {
        VECTOR_BYTES / self.sum_bytes
    }

    /// Whether a value is its own accumulator, so that kernels read values in place.
    pub(crate) fn is_wide(&self) -> bool {
        self.value_bytes == self.sum_bytes
    }

    /// Whether a B of `n` columns is widened to the type of sums first: where its rows are no whole vectors, so that
    /// kernels would load part of one for every entry, and entries use rows often enough.
    pub(super) fn widens_b(&self, n: usize) -> bool {
        let most = match self.isa.masks_halves() {
            true => WIDEN_COLS,
            false => WIDEN_VECTORS * self.lanes(),
        };
        let least = if n == 1 { 1 } else { WIDEN_ENTRIES };
        let is_partial = !n.is_multiple_of(self.lanes());
        !self.is_wide() && is_partial && n < most && self.nnz >= self.k.saturating_mul(least)
    }

    /// Elements from a row to the next in a copy of B of `n` columns whose rows begin with cache lines, or divide one.
    pub(crate) fn line_stride(&self, n: usize) -> usize {
        let line = LINE_BYTES / self.value_bytes;
        if n > line { n.next_multiple_of(line) } else { n.next_power_of_two() }
    }

    /// Bytes of a row of B with `n` columns.
    pub(crate) fn row_bytes(&self, n: usize) -> usize {
        n.saturating_mul(self.value_bytes)
    }

    /// Bytes of a row of B as kernels read it: of sums if B is widened before.
    pub(super) fn read_row_bytes(&self, n: usize, widens_b: bool) -> usize {
        n.saturating_mul(if widens_b { self.sum_bytes } else { self.value_bytes })
    }

    /// The kernel that multiplies the tiling as stored.
    pub(super) fn kernel(&self) -> Kernel {
        match self.spec {
            FormatSpec::Csr => Kernel::Rows,
            FormatSpec::BMat { .. } | FormatSpec::TwoFour => Kernel::Decoded,
            _ => Kernel::Strips,
        }
    }

    /// Whether each column of a strip stands alone, its values next to those of other columns.
    pub(super) fn has_single_columns(&self) -> bool {
        match self.spec {
            FormatSpec::Wcsr { .. } => true,
            FormatSpec::BlockedEll { block_size } => block_size == 1,
            FormatSpec::Bcsr { block_rows, block_cols } => {
                block_cols == 1 && (block_rows == 1 || !self.is_wide())
            }
            _ => false,
        }
    }
}

/// A family of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kernel {
    /// Rows of CSR as stored.
    Rows,
    /// Rows of CSR sorted by length.
    Sorted,
    /// Tiles of four rows of CSR. Their columns are grouped by which of the rows hold them.
    Tiles,
    /// Dense strips: windows whose rows share the rows of B that they use.
    Strips,
    /// Rows of BMat and 2:4, decoded to columns and values first.
    Decoded,
}
