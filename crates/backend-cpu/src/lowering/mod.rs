//! Decisions: what this backend will do for a plan, as a value by which products run.
//!
//! [`CpuLowering`] follows from numbers of the matrix ([`MatrixNumbers`](crate::analyze::MatrixNumbers)), of
//! the machine and of the plan ([`Case`]). The functions that take the decisions know no kernel:
//!
//! - [`csr`] decides how CSR is laid out,
//! - [`packing`] decides which panels of B are packed,
//! - [`prefetch`] decides what is prefetched,
//! - [`strips`] decides whether the rows of B that a strip uses are packed,
//! - [`product`] decides what is left once a product's columns are known.
//!
//! [`Prepared`](crate::exec::Prepared) is made from it and reads nothing else; [`describe`] prints it.

mod case;
pub(crate) mod complex;
mod construct;
mod copies;
pub(crate) mod csr;
mod describe;
mod lines;
pub(crate) mod packing;
mod prefetch;
mod product;
#[cfg(test)]
mod snapshots;
mod strips;
#[cfg(test)]
mod testing;

pub(crate) use case::{Case, Kernel};
pub(crate) use construct::Construct;
pub(crate) use copies::{SortConfig, SortCounts, TileConfig, TileCounts};
pub(crate) use csr::LayoutChoice;
pub(crate) use packing::{PanelCols, PanelConfig};
pub(crate) use prefetch::PrefetchA;
pub(crate) use product::{PackedBy, ProductLowering};

/// A decision with its reason: one sentence, with the numbers that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision<T> {
    pub(crate) choice: T,
    pub(crate) why: String,
}

impl<T> Decision<T> {
    pub(crate) fn new(choice: T, why: impl Into<String>) -> Self {
        Self { choice, why: why.into() }
    }
}

/// Windows that the schedule splits, and scratch for their sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SplitSums {
    pub(crate) windows: usize,
    pub(crate) parts: usize,
    /// Columns that the scratch holds at a time, and its bytes.
    pub(crate) cols: usize,
    pub(crate) bytes: usize,
}

/// Numbers of the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduleNumbers {
    pub(crate) tasks: usize,
    /// Whether windows are cut by columns too.
    pub(crate) by_columns: bool,
    pub(crate) split: SplitSums,
}

/// Every decision that is taken when a plan is prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuLowering {
    pub(crate) case: Case,
    pub(crate) schedule: ScheduleNumbers,
    pub(crate) layout: Decision<LayoutChoice>,
    pub(crate) packing: Decision<Option<PanelConfig>>,
    /// Whether rows of B are prefetched.
    pub(crate) prefetch_b: Decision<bool>,
    pub(crate) prefetch_a: Decision<PrefetchA>,
    /// Whether the rows of B that a strip uses are packed first.
    pub(crate) strip_packing: Decision<bool>,
}

impl CpuLowering {
    /// Takes the decisions. `matrix` makes each copy as soon as it is decided, so that nothing is decided for
    /// which there is no memory.
    pub(crate) fn decide(
        case: Case,
        schedule: ScheduleNumbers,
        matrix: &mut impl Construct,
    ) -> Self {
        let (layout, packing, prefetch_b) = match case.kernel() {
            _ if schedule.by_columns => {
                let why = "the schedule cuts windows by columns";
                let layout = Decision::new(LayoutChoice::AsStored, why);
                (layout, Decision::new(None, why), Decision::new(false, why))
            }
            Kernel::Rows if case.once => {
                let why = "a copy takes longer than it saves a single product";
                let layout = Decision::new(LayoutChoice::AsStored, why);
                (layout, Decision::new(None, why), Decision::new(false, why))
            }
            Kernel::Rows => {
                let csr = csr::decide(&case, matrix);
                (csr.layout, csr.packing, csr.prefetch_b)
            }
            kernel => {
                let panels = match kernel {
                    Kernel::Strips => packing::for_strips(&case),
                    _ => packing::for_decoded(&case),
                };
                let layout = Decision::new(LayoutChoice::AsStored, "tiles are not copied");
                let prefetch = Decision::new(false, "only copies of CSR prefetch rows of B");
                (layout, packing::allocate(panels, matrix), prefetch)
            }
        };
        let prefetch_a = match case.once {
            true => Decision::new(PrefetchA::default(), "nothing is counted for a single product"),
            false => prefetch::decide_for_a(&case, matrix),
        };
        let strip_packing = strips::packing(&case);
        Self { case, schedule, layout, packing, prefetch_b, prefetch_a, strip_packing }
    }
}
