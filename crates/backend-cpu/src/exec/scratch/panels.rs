//! Scratch for packed panels of B; [which](crate::lowering::packing) are packed is decided elsewhere.

use girih_formats::Scalar;

use super::{LentBuffer, ScratchPool};
use crate::lowering::PanelConfig;

/// Scratch for packed panels of B: their rows next to each other, a few vectors wide.
///
/// Rows of A that use rows of B far apart take more of B through the caches than these hold. A panel of a few
/// columns is small enough to stay there. Packed, its rows fill cache lines and pages that in B hold other
/// columns too.
#[derive(Debug)]
pub(crate) struct PanelScratch<T: Scalar>(ScratchPool<T>);

impl<T: Scalar> PanelScratch<T> {
    /// One panel, or one for each thread; `None` if there is no memory for it.
    pub(crate) fn new(config: &PanelConfig) -> Option<Self> {
        let len = config.rows.checked_mul(config.row_stride())?;
        ScratchPool::new(config.copies, len).ok().map(Self)
    }

    /// Scratch for a panel; `None` while other products use all of it.
    pub(crate) fn lend(&self) -> Option<LentBuffer<'_, T>> {
        self.0.lend()
    }
}
