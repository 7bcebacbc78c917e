//! Memory: address spaces, allocations, shared memory, and the order of accesses to them.
//!
//! What makes one thread's accesses happen before another's (PTX ISA, "Memory Consistency Model"):
//!
//! | instruction | tells | learns |
//! |---|---|---|
//! | `bar.sync`, `bar.red`, `barrier` alike | at arrival, to all who meet | when all have arrived |
//! | `bar.arrive` | at arrival | nothing |
//! | `bar.warp.sync` | to the members | from the members |
//! | `barrier.cluster.arrive` | to the cluster; `.relaxed` what its last fence covered | nothing |
//! | `barrier.cluster.wait` | nothing | from all that arrived |
//! | `mbarrier.arrive`, but for `.relaxed` | to those who wait for the phase | nothing |
//! | `mbarrier.test_wait`, `.try_wait` that succeed, but for `.relaxed` | nothing | from the phase's arrivals and from the operations that completed on it |
//! | `st.release`, `red.release`, `atom.release`, `.acq_rel` | to who reads there | |
//! | `ld.acquire`, `atom.acquire`, `.acq_rel` | | from what was told there |
//! | `st.relaxed`, `st.volatile`, `red`, `atom` | what the last fence covered | |
//! | `ld.relaxed`, `ld.volatile`, `atom` | | with the next fence |
//! | `fence`, `membar` | with later strong stores | what strong loads found |
//! | `shfl`, `vote`, `match`, `redux`, `elect` | nothing | nothing |
//! | the end of a kernel | all | |
//!
//! Telling at an address reaches those within the scope of the instruction (and of the fence), if
//! theirs includes the teller. Read-modify-writes keep what was told there before; stores replace it.

mod access;
mod address;
mod allocation;
mod cell;
pub(crate) mod clock;
mod global;
mod known;
mod pages;
pub(crate) mod published;
mod readers;
mod rows;
pub(crate) mod shadow;
mod shared;
mod strong;
mod target;
#[cfg(test)]
mod tests;

pub(crate) use access::Request;
pub(crate) use address::{
    GLOBAL_BASE, RANK_SHIFT, SHARED_START, SHARED_WINDOW, Space, from_generic, shared_address,
    shared_of, space_of, to_generic,
};
pub(crate) use allocation::Allocation;
pub(crate) use global::Global;
pub(crate) use shared::Shared;
pub(crate) use strong::{Order, Strength};
pub(crate) use target::Target;
