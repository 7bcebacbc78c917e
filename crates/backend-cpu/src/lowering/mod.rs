//! What this backend decides about a plan, as a value that products are run by.
//!
//! [`CpuLowering`] is derived from numbers of the matrix ([`Facts`]), of the machine and of the plan ([`Case`]) by
//! functions that know nothing of kernels: [`csr`] decides how CSR is laid out, [`packing`] which panels of B are
//! packed, [`prefetch`] what is prefetched. [`product`] decides what is left once a product's columns are known.
//! [`Prepared`](crate::exec::Prepared) is made from it and reads nothing else; [`describe`] prints it.

pub(crate) mod csr;
mod describe;
mod facts;
pub(crate) mod packing;
mod prefetch;
mod product;
#[cfg(test)]
mod snapshots;

use girih_formats::{FormatSpec, Scalar, Tiling};

pub(crate) use csr::{Layout, Sorting, SortingMade, Tiles, TilesMade};
pub(crate) use facts::Facts;
pub(crate) use packing::{Panels, Piece};
pub(crate) use prefetch::PrefetchA;
pub(crate) use product::{PackedBy, Product};

use crate::Isa;
use crate::machine::Machine;
use crate::thresholds::{GATHER_ROWS_MAX, GATHER_ROWS_MIN, GATHER_RUN_COLS};

/// A decision with its reason: one sentence, with the numbers that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decided<T> {
    pub(crate) choice: T,
    pub(crate) why: String,
}

impl<T> Decided<T> {
    pub(crate) fn new(choice: T, why: impl Into<String>) -> Self {
        Self { choice, why: why.into() }
    }
}

/// What decisions depend on beside the matrix itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) spec: FormatSpec,
    /// Rows and columns of A.
    pub(crate) m: usize,
    pub(crate) k: usize,
    /// Entries of A, and values stored with what fills tiles up.
    pub(crate) nnz: usize,
    pub(crate) stored: usize,
    /// Columns of B that the plan is for.
    pub(crate) n: usize,
    pub(crate) threads: usize,
    /// Bytes of a value of A or B, and of a sum.
    pub(crate) value_bytes: usize,
    pub(crate) sum_bytes: usize,
    pub(crate) isa: Isa,
    pub(crate) machine: Machine,
}

impl Case {
    /// A tiling that is multiplied by `n` columns.
    pub(crate) fn of<T: Scalar>(
        tiling: &Tiling<T>,
        n: usize,
        threads: usize,
        isa: Isa,
        machine: Machine,
    ) -> Self {
        let spec = tiling.spec();
        let tile = match spec {
            FormatSpec::Bcsr { block_rows, block_cols } => block_rows * block_cols,
            FormatSpec::Wcsr { window_rows, pad_cols } => window_rows * pad_cols,
            FormatSpec::BlockedEll { block_size } => block_size * block_size,
            FormatSpec::TwoFour => 2,
            FormatSpec::Csr => 1,
            FormatSpec::BMat { .. } => 0,
        };
        Self {
            spec,
            m: tiling.nrows(),
            k: tiling.ncols(),
            nnz: tiling.nnz(),
            stored: tiling.nnz().max(tile.saturating_mul(tiling.n_tiles() as usize)),
            n,
            threads,
            value_bytes: size_of::<T>(),
            sum_bytes: size_of::<T::Acc>(),
            isa,
            machine,
        }
    }

    /// Columns of a line: sums in 64 bytes.
    pub(crate) fn lanes(&self) -> usize {
        64 / self.sum_bytes
    }

    /// Whether a value is its own accumulator, so that kernels read it where it is.
    pub(crate) fn is_wide(&self) -> bool {
        self.value_bytes == self.sum_bytes
    }

    /// Bytes of a row of B with `n` columns.
    pub(crate) fn row_bytes(&self, n: usize) -> usize {
        n.saturating_mul(self.value_bytes)
    }

    /// The kernel that multiplies the tiling itself.
    fn kernel(&self) -> Kernel {
        match self.spec {
            FormatSpec::Csr => Kernel::Rows,
            FormatSpec::BMat { .. } | FormatSpec::TwoFour => Kernel::Decoded,
            _ => Kernel::Strips,
        }
    }
}

/// A family of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kernel {
    /// Rows of CSR as they stand.
    Rows,
    /// Rows of CSR sorted by their lengths.
    Sorted,
    /// Tiles of four rows of CSR, their columns grouped by which of the rows hold them.
    Tiles,
    /// Dense strips: windows whose rows share the rows of B that they meet.
    Strips,
    /// Rows of BMat and 2:4, decoded to columns and values first.
    Decoded,
}

/// Windows that the schedule splits, and scratch for their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitSums {
    pub(crate) windows: usize,
    pub(crate) parts: usize,
    /// Columns that there is scratch for at a time, and its bytes.
    pub(crate) cols: usize,
    pub(crate) bytes: usize,
}

/// What the schedule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Tasks of the schedule.
    pub(crate) tasks: usize,
    /// Whether it cuts windows by columns too.
    pub(crate) by_columns: bool,
    pub(crate) split: SplitSums,
}

/// Every decision that is taken when a plan is prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuLowering {
    pub(crate) case: Case,
    pub(crate) work: Work,
    pub(crate) layout: Decided<Layout>,
    pub(crate) packing: Decided<Option<Panels>>,
    /// Whether rows of B are prefetched.
    pub(crate) prefetch_b: Decided<bool>,
    pub(crate) prefetch_a: Decided<PrefetchA>,
    /// Whether the rows of B that a strip meets are gathered first.
    pub(crate) gather: Decided<bool>,
}

impl CpuLowering {
    /// Decides, and has `facts` make what is decided.
    pub(crate) fn decide(case: Case, work: Work, facts: &mut impl Facts) -> Self {
        let gather = gather(&case);
        let (layout, packing, prefetch_b) = match case.kernel() {
            _ if work.by_columns => by_columns(),
            Kernel::Rows => csr::of_csr(&case, facts),
            kernel => {
                let panels = match kernel {
                    Kernel::Strips => packing::for_strips(&case),
                    _ => packing::for_decoded(&case),
                };
                let layout = Decided::new(Layout::AsStored, "tiles are not copied");
                let prefetch = Decided::new(false, "only copies of CSR prefetch rows of B");
                (layout, packing::made(panels, facts), prefetch)
            }
        };
        let prefetch_a = prefetch::of_a(&case, facts);
        Self { case, work, layout, packing, prefetch_b, prefetch_a, gather }
    }
}

/// Decisions where the schedule cuts windows by columns.
fn by_columns() -> (Decided<Layout>, Decided<Option<Panels>>, Decided<bool>) {
    let why = "the schedule cuts windows by columns";
    (Decided::new(Layout::AsStored, why), Decided::new(None, why), Decided::new(false, why))
}

/// Whether rows of B are gathered for strips.
fn gather(case: &Case) -> Decided<bool> {
    let rows = case.spec.window_rows();
    let run = match case.spec {
        FormatSpec::Bcsr { block_cols, .. } => block_cols,
        FormatSpec::BlockedEll { block_size } => block_size,
        _ => 1,
    };
    match () {
        () if case.kernel() != Kernel::Strips => {
            Decided::new(false, "rows of B are gathered for dense strips only")
        }
        () if !case.isa.gathers() => {
            let why =
                format!("with {} a strip is several lines wide, or it was not measured", case.isa);
            Decided::new(false, why)
        }
        () if !case.is_wide() => {
            Decided::new(false, "values of 16 bits are widened piece by piece")
        }
        () if !(GATHER_ROWS_MIN..=GATHER_ROWS_MAX).contains(&rows) => {
            let why = format!(
                "windows of {rows} rows; {GATHER_ROWS_MIN} to {GATHER_ROWS_MAX} gain by it"
            );
            Decided::new(false, why)
        }
        () if run > GATHER_RUN_COLS => Decided::new(
            false,
            format!("blocks of {run} columns; up to {GATHER_RUN_COLS} fit the scratch"),
        ),
        () => Decided::new(
            true,
            format!("all {rows} rows of a window go through the rows of B that it meets"),
        ),
    }
}
