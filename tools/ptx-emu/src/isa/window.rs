//! The state space that an address operand is in, and what lies at the address.

use crate::ast;
use crate::asynch::access::name;
use crate::asynch::footprint::Space;
use crate::machine::registers::Source;
use crate::machine::{Cluster, Warp};
use crate::memory::{self, from_generic, shared_of, space_of};
use crate::program::{Address, Decoder};
use crate::report::{AccessKind, Problem};

/// How the bits of an address are to be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Window {
    /// No space named: a generic address.
    Generic,
    /// `.shared`, `.shared::cta`: an address in the CTA's window.
    Cta,
    /// `.shared::cluster`: an address in the window of the cluster, which holds the CTA's own.
    Cluster,
    /// `.global`.
    Global,
}

impl Window {
    /// Takes the space of an address that must be in the CTA's own shared memory.
    pub(crate) fn of_own(d: &mut Decoder<'_>) -> Self {
        d.choice(&[("shared", Self::Cta), ("shared::cta", Self::Cta)]).unwrap_or(Self::Generic)
    }

    /// Takes the space of an address that may be in the shared memory of any CTA of the cluster.
    pub(crate) fn of_any(d: &mut Decoder<'_>) -> Self {
        d.choice(&[
            ("shared", Self::Cta),
            ("shared::cta", Self::Cta),
            ("shared::cluster", Self::Cluster),
        ])
        .unwrap_or(Self::Generic)
    }

    /// The bits of an address in a lane.
    pub(crate) fn bits(self, warp: &Warp, address: &Address, lane: usize) -> u64 {
        let base = warp.registers.value(address.base, lane);
        let sum = base.wrapping_add_signed(address.offset);
        match self {
            Self::Cta | Self::Cluster => sum & 0xFFFF_FFFF,
            _ => sum,
        }
    }

    /// The CTA, by rank, and the offset in its shared memory that a lane's address means. Bytes are
    /// checked to exist, the CTA not to have exited.
    pub(crate) fn shared(
        self,
        warp: &Warp,
        cluster: &Cluster,
        address: &Address,
        lane: usize,
        (bytes, align): (u32, u32),
        access: AccessKind,
    ) -> Result<(u32, u32), Problem> {
        let bits = self.bits(warp, address, lane);
        let names_shared = address.space == Some(ast::Space::Shared);
        let in_window = match self {
            Self::Cta | Self::Cluster => bits,
            _ if names_shared => bits & 0xFFFF_FFFF,
            _ if space_of(bits) == memory::Space::SharedCluster => {
                from_generic(memory::Space::SharedCluster, bits)
            }
            _ => {
                let memory = format!("generic address {bits:#x}, which is not in shared memory");
                return Err(Problem::OutOfBounds { access, memory });
            }
        };
        let (rank, offset) = shared_of(in_window);
        let elsewhere = self == Self::Cta && rank != warp.rank();
        let Some(cta) = cluster.ctas.get(rank as usize).filter(|_| !elsewhere) else {
            let memory = format!(
                "shared address {in_window:#x}, which is in CTA {rank} of the cluster, not in {}",
                if elsewhere { "the executing one" } else { "any that there is" }
            );
            return Err(Problem::OutOfBounds { access, memory });
        };
        let end = u64::from(offset) + u64::from(bytes);
        if end > u64::from(cta.shared.end()) || offset < cluster.context.shared_start() {
            let memory = format!(
                "{bytes} bytes at shared address {offset:#x} of CTA {rank} of the cluster, where \
                 memory ends at {:#x}",
                cta.shared.end()
            );
            return Err(Problem::OutOfBounds { access, memory });
        }
        if offset % align != 0 {
            let memory = name(cluster, Space::Shared(rank), u64::from(offset), u64::from(bytes));
            return Err(Problem::Misaligned { access, memory, align });
        }
        Ok((rank, offset))
    }

    /// The generic address of global bytes in a lane; they are checked to be within an allocation.
    pub(crate) fn global(
        warp: &Warp,
        cluster: &Cluster,
        address: &Address,
        lane: usize,
        (bytes, align): (u64, u32),
        access: AccessKind,
    ) -> Result<u64, Problem> {
        let at = Self::Global.bits(warp, address, lane);
        if !at.is_multiple_of(u64::from(align)) {
            let memory = name(cluster, Space::Global, at, bytes);
            return Err(Problem::Misaligned { access, memory, align });
        }
        check_global(cluster, at, bytes, access)?;
        Ok(at)
    }
}

/// Checks that global bytes are within an allocation, one that may be written where they are to be.
pub(crate) fn check_global(
    cluster: &Cluster,
    at: u64,
    bytes: u64,
    access: AccessKind,
) -> Result<(), Problem> {
    let allocation = cluster.context.global.nearest(at);
    let inside = allocation.is_some_and(|found| {
        let offset = at - found.base();
        offset <= found.bytes()
            && bytes <= found.bytes() - offset
            && (access == AccessKind::Read || found.is_writable())
    });
    if inside {
        Ok(())
    } else {
        Err(Problem::OutOfBounds { access, memory: name(cluster, Space::Global, at, bytes) })
    }
}

/// An operand's value in a lane.
pub(crate) fn value(warp: &Warp, source: Source, lane: usize) -> u32 {
    warp.registers.value(source, lane) as u32
}
