//! Where the bytes at an address are.

use std::sync::Arc;

use super::{Allocation, RANK_SHIFT, Space, from_generic, shared_of, space_of};
use crate::asynch::footprint::Space as Bytes;
use crate::machine::Context;
use crate::report::{AccessKind, Problem};

/// Where bytes are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target<'a> {
    /// In the shared memory of the CTA of a rank.
    Shared {
        /// The rank.
        cta: u32,
        /// Where in it.
        offset: u32,
    },
    /// In global memory.
    Global {
        /// The allocation.
        allocation: &'a Arc<Allocation>,
        /// Where in it.
        offset: u64,
    },
    /// In the thread's local memory.
    Local(u32),
    /// Among the kernel's parameters.
    Param(u32),
}

/// Bytes as reports name them.
pub(crate) fn describe(space: Space, address: u64, bytes: u64) -> String {
    let s = if bytes == 1 { "" } else { "s" };
    let place = match space {
        Space::Shared | Space::SharedCluster => match shared_of(address) {
            (0, offset) => format!("shared memory at {offset:#x}"),
            (rank, offset) => format!("shared memory of CTA rank {rank} at {offset:#x}"),
        },
        Space::Local => format!("local memory at {address:#x}"),
        Space::Param => format!("parameters at {address:#x}"),
        Space::Generic | Space::Global | Space::Const => format!("global memory at {address:#x}"),
    };
    format!("{bytes} byte{s} of {place}")
}

impl<'a> Target<'a> {
    /// The bytes so many further on.
    #[inline]
    pub(crate) fn plus(&self, bytes: u32) -> Target<'a> {
        match *self {
            Self::Shared { cta, offset } => Self::Shared { cta, offset: offset + bytes },
            Self::Global { allocation, offset } => {
                Self::Global { allocation, offset: offset + u64::from(bytes) }
            }
            Self::Local(offset) => Self::Local(offset + bytes),
            Self::Param(offset) => Self::Param(offset + bytes),
        }
    }

    /// The memory and the first byte's place in it, where others can see it.
    pub(crate) fn place(&self) -> Option<(Bytes, u64)> {
        match *self {
            Self::Shared { cta, offset } => Some((Bytes::Shared(cta), u64::from(offset))),
            Self::Global { allocation, offset } => {
                Some((Bytes::Global, allocation.base() + offset))
            }
            Self::Local(_) | Self::Param(_) => None,
        }
    }
}

impl Context {
    /// Where the bytes at an address are that a thread of CTA `rank` accesses.
    ///
    /// # Errors
    /// Out of bounds, or not a multiple of `align`.
    #[inline]
    pub(crate) fn resolve(
        &self,
        rank: u32,
        space: Space,
        address: u64,
        bytes: u64,
        align: u32,
        kind: AccessKind,
    ) -> Result<Target<'_>, Problem> {
        if address & u64::from(align - 1) != 0 {
            let memory = describe(space, address, bytes);
            return Err(Problem::Misaligned { access: kind, memory, align });
        }
        match space {
            Space::Generic => {
                let space = space_of(address);
                let address = from_generic(space, address);
                self.resolve(rank, space, address, bytes, align, kind)
            }
            Space::Shared | Space::SharedCluster => {
                let (cta, offset) = shared_of(address);
                let there = offset >= self.shared_start()
                    && u64::from(offset) + bytes <= u64::from(self.shared_end())
                    && cta < self.cluster_size()
                    && address >> 32 == 0
                    && (space == Space::SharedCluster || cta == rank);
                if there {
                    Ok(Target::Shared { cta, offset })
                } else {
                    Err(self.no_shared(rank, space, address, bytes, kind))
                }
            }
            Space::Global | Space::Const => {
                if let Some(allocation) = self.global.nearest(address) {
                    let offset = address - allocation.base();
                    if offset.saturating_add(bytes) <= allocation.bytes() {
                        if kind != AccessKind::Read && !allocation.is_writable() {
                            let what = format!("write to constant {}", allocation.name());
                            return Err(Problem::Operand { what });
                        }
                        return Ok(Target::Global { allocation, offset });
                    }
                }
                Err(self.no_global(address, bytes, kind))
            }
            Space::Local => match u32::try_from(address) {
                Ok(offset) if address + bytes <= u64::from(self.kernel.local_bytes) => {
                    Ok(Target::Local(offset))
                }
                _ => Err(out_of_bounds(space, address, bytes, kind, "outside of its variables")),
            },
            Space::Param => {
                if kind != AccessKind::Read {
                    let what = "the parameters of a kernel cannot be written".to_owned();
                    return Err(Problem::Operand { what });
                }
                match u32::try_from(address) {
                    Ok(offset) if address + bytes <= self.params.len() as u64 => {
                        Ok(Target::Param(offset))
                    }
                    _ => Err(out_of_bounds(space, address, bytes, kind, "past the parameters")),
                }
            }
        }
    }

    #[cold]
    fn no_shared(
        &self,
        own: u32,
        space: Space,
        address: u64,
        bytes: u64,
        kind: AccessKind,
    ) -> Problem {
        let (start, end) = (self.shared_start(), self.shared_end());
        let (cta, _) = shared_of(address);
        let why = if cta >= self.cluster_size() {
            format!("the cluster has {} CTAs", self.cluster_size())
        } else if space == Space::Shared && cta != own {
            format!(
                "that is CTA {cta} of the cluster; the window of the executing one has its rank, \
                 {own}, from bit {RANK_SHIFT} of its addresses up"
            )
        } else if end == start {
            "the CTA has none".to_owned()
        } else {
            format!("the CTA has {start:#x} to {end:#x}")
        };
        out_of_bounds(space, address, bytes, kind, &why)
    }

    #[cold]
    fn no_global(&self, address: u64, bytes: u64, kind: AccessKind) -> Problem {
        let allocations = self.global.allocations();
        let before = self.global.nearest(address);
        let after = allocations.iter().find(|allocation| allocation.base() > address);
        let near = 1 << 20;
        let why = match (before, after) {
            (Some(before), _) if address - before.base() < before.bytes() + near => {
                let past = (address - before.base()).saturating_add(bytes) - before.bytes();
                format!("{past} past the {} of {}", before.bytes(), before.name())
            }
            (_, Some(after)) if after.base() - address <= near => {
                format!("{} before {}", after.base() - address, after.name())
            }
            _ => "not near any allocation".to_owned(),
        };
        out_of_bounds(Space::Global, address, bytes, kind, &why)
    }
}

#[cold]
fn out_of_bounds(space: Space, address: u64, bytes: u64, access: AccessKind, why: &str) -> Problem {
    Problem::OutOfBounds { access, memory: format!("{}: {why}", describe(space, address, bytes)) }
}
