//! Global memory: allocations, each on its own, with guard gaps between.

use std::sync::Arc;

use super::{Allocation, GLOBAL_BASE};

/// All allocations. Copies share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Global {
    /// By address.
    allocations: Vec<Arc<Allocation>>,
    /// Their addresses.
    bases: Vec<u64>,
    next: u64,
}

/// Unused addresses after each allocation.
const GUARD: u64 = 1 << 20;

impl Global {
    /// Adds an allocation of uninitialized bytes.
    pub(crate) fn allocate(&mut self, name: String, bytes: u64) -> Arc<Allocation> {
        let allocation = Arc::new(Allocation::new(name, self.take(bytes), bytes));
        self.allocations.push(Arc::clone(&allocation));
        allocation
    }

    /// Adds an allocation that kernels may only read.
    pub(crate) fn allocate_constant(&mut self, name: String, bytes: u64) -> Arc<Allocation> {
        let mut allocation = Allocation::new(name, self.take(bytes), bytes);
        allocation.make_constant();
        let allocation = Arc::new(allocation);
        self.allocations.push(Arc::clone(&allocation));
        allocation
    }

    fn take(&mut self, bytes: u64) -> u64 {
        let base = GLOBAL_BASE + self.next;
        self.bases.push(base);
        self.next = (self.next + bytes + GUARD).next_multiple_of(GUARD);
        base
    }

    /// The allocations by address.
    pub(crate) fn allocations(&self) -> &[Arc<Allocation>] {
        &self.allocations
    }

    /// The index of the allocation that an address is in.
    #[inline]
    pub(crate) fn index_of(&self, address: u64) -> Option<usize> {
        let after = self.bases.partition_point(|&base| base <= address);
        let index = after.checked_sub(1)?;
        let allocation = &self.allocations[index];
        (address - allocation.base() < allocation.bytes()).then_some(index)
    }

    /// The allocation that an address is in, or else the last one before it.
    #[inline]
    pub(crate) fn nearest(&self, address: u64) -> Option<&Arc<Allocation>> {
        let after = self.bases.partition_point(|&base| base <= address);
        self.allocations.get(after.checked_sub(1)?)
    }
}
