//! What launches depend on besides a plan.

use crate::{CsrLayout, CtaOrder};

/// What of a device decides what is uploaded and launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) multiprocessors: u32,
    /// Bytes of its second-level cache.
    pub(crate) cache_bytes: u64,
    /// Bytes per second of its memory, and of that cache.
    pub(crate) memory_bandwidth: u64,
    pub(crate) cache_bandwidth: u64,
    /// How products in CSR are laid out, in place of what would be chosen.
    pub(crate) csr_layout: Option<CsrLayout>,
    /// In which order CTAs go through rows and columns, in place of what would be chosen.
    pub(crate) cta_order: Option<CtaOrder>,
    /// Whether a B is copied whose rows are no whole vectors, where that saves time.
    pub(crate) copies_b: bool,
}
