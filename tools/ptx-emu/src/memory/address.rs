//! Address spaces and their windows in generic space.
//!
//! PTX ISA, "State Spaces" and "Generic Addressing". Global and constant addresses are generic
//! addresses. A shared address has 32 bits: in the low 24 an offset, above it the rank of a CTA in its
//! cluster. So it is on Hopper: the window of a CTA lies within that of the cluster, and the address of
//! a CTA's own variable has the CTA's rank in it. Without clusters the rank is 0.

/// An address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    /// Any of the others, by windows.
    Generic,
    /// Global.
    Global,
    /// Constant.
    Const,
    /// Parameters of the kernel.
    Param,
    /// A thread's own memory, and the parameters of device functions.
    Local,
    /// Shared memory of the executing CTA (`.shared::cta`).
    Shared,
    /// Shared memory of the cluster (`.shared::cluster`).
    SharedCluster,
}

/// Generic address of shared address 0.
pub(crate) const SHARED_WINDOW: u64 = 0x0100_0000_0000;
/// Generic address of local address 0.
pub(crate) const LOCAL_WINDOW: u64 = 0x0200_0000_0000;
/// Generic address of parameter address 0.
pub(crate) const PARAM_WINDOW: u64 = 0x0300_0000_0000;
/// Where allocations start.
pub(crate) const GLOBAL_BASE: u64 = 0x7000_0000_0000;
/// Where a kernel's shared variables start: the first KiB is the system's, as on the device, so
/// that shared address 0 is nobody's.
pub(crate) const SHARED_START: u32 = 1024;

const WINDOW: u64 = 1 << 32;

/// The space that a generic address is in.
pub(crate) fn space_of(generic: u64) -> Space {
    match generic {
        SHARED_WINDOW..LOCAL_WINDOW if generic - SHARED_WINDOW < WINDOW => Space::SharedCluster,
        LOCAL_WINDOW..PARAM_WINDOW if generic - LOCAL_WINDOW < WINDOW => Space::Local,
        PARAM_WINDOW..GLOBAL_BASE if generic - PARAM_WINDOW < WINDOW => Space::Param,
        _ => Space::Global,
    }
}

/// The generic address of an address in a space.
pub(crate) fn to_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Generic | Space::Global | Space::Const => address,
        Space::Shared | Space::SharedCluster => SHARED_WINDOW.wrapping_add(address),
        Space::Local => LOCAL_WINDOW.wrapping_add(address),
        Space::Param => PARAM_WINDOW.wrapping_add(address),
    }
}

/// The address in a space of a generic address, which must lie in that space's window.
pub(crate) fn from_generic(space: Space, generic: u64) -> u64 {
    match space {
        Space::Generic | Space::Global | Space::Const => generic,
        Space::Shared | Space::SharedCluster => generic.wrapping_sub(SHARED_WINDOW),
        Space::Local => generic.wrapping_sub(LOCAL_WINDOW),
        Space::Param => generic.wrapping_sub(PARAM_WINDOW),
    }
}

/// Bits of a shared address below the rank.
pub(crate) const RANK_SHIFT: u32 = 24;

/// The rank of the CTA and the offset in its memory that a shared address means.
pub(crate) fn shared_of(address: u64) -> (u32, u32) {
    ((address >> RANK_SHIFT) as u32 & 0xFF, (address & 0xFF_FFFF) as u32)
}

/// The shared address of an offset in the memory of the CTA of a rank.
pub(crate) fn shared_address(rank: u32, offset: u32) -> u64 {
    u64::from(rank) << RANK_SHIFT | u64::from(offset)
}
