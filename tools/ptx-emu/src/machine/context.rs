//! What all warps of a launch share and none changes.

use std::sync::{Arc, Mutex};

use super::{Device, Kernel};
use crate::memory::Global;
use crate::memory::published::Messages;

/// When asynchronous operations complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Timing {
    /// Only when no warp of the cluster can go on without: the oldest first, one at a time.
    #[default]
    Late,
    /// As soon as they are issued.
    Eager,
    /// At moments that the seed decides.
    Random(u64),
}

/// In which order warps execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Round-robin, each as far as it goes.
    #[default]
    Fixed,
    /// As the seed decides, in short turns.
    Random(u64),
}

/// A launch, as its warps see it.
#[derive(Debug)]
pub(crate) struct Context {
    /// What is executed.
    pub(crate) kernel: Arc<Kernel>,
    /// Where.
    pub(crate) device: Device,
    /// CTAs by axis.
    pub(crate) grid: [u32; 3],
    /// Threads of a CTA by axis.
    pub(crate) block: [u32; 3],
    /// CTAs of a cluster by axis.
    pub(crate) cluster: [u32; 3],
    /// Whether the launch or the kernel names a cluster shape.
    pub(crate) explicit_cluster: bool,
    /// Parameter space.
    pub(crate) params: Vec<u8>,
    /// Bytes of dynamic shared memory.
    pub(crate) dynamic_shared: u32,
    /// Global memory.
    pub(crate) global: Global,
    /// Address of the workspace of a cooperative launch whose kernel asks for it, or 0.
    pub(crate) workspace: u64,
    /// Addresses of the variables of the kernel's module, by index.
    pub(crate) variables: Vec<u64>,
    /// When asynchronous operations complete.
    pub(crate) timing: Timing,
    /// In which order warps execute.
    pub(crate) schedule: Schedule,
    /// Instructions that the warps of a cluster may execute together.
    pub(crate) step_limit: u64,
    /// Registers of each thread at its start, where the launch says.
    pub(crate) registers: Option<u32>,
    /// Whether races between ordinary accesses are looked for.
    pub(crate) races: bool,
    /// Whether reads of uninitialized memory are reported.
    pub(crate) poison: bool,
    /// What strong stores to global memory tell.
    pub(crate) published: Mutex<Messages>,
}

impl Context {
    /// Warps of a CTA.
    pub(crate) fn warps_per_cta(&self) -> u32 {
        self.block.iter().product::<u32>().div_ceil(32)
    }

    /// Clusters of the grid.
    pub(crate) fn n_clusters(&self) -> u32 {
        self.grid.iter().product::<u32>() / self.cluster_size()
    }

    /// CTAs of a cluster.
    pub(crate) fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// `%ctaid` of a CTA, by its cluster's number and its rank.
    pub(crate) fn cta_index(&self, cluster: u32, rank: u32) -> [u32; 3] {
        let clusters = std::array::from_fn(|i| self.grid[i] / self.cluster[i]);
        let first = super::preset::coordinates(cluster, clusters);
        let within = super::preset::coordinates(rank, self.cluster);
        std::array::from_fn(|i| first[i] * self.cluster[i] + within[i])
    }

    /// Where shared memory starts that the kernel may access: after the system's part, unless the kernel
    /// asks where that is.
    #[inline]
    pub(crate) fn shared_start(&self) -> u32 {
        self.kernel.shared_start
    }

    /// Where dynamic shared memory starts.
    pub(crate) fn dynamic_shared_start(&self) -> u32 {
        self.kernel.shared_end.next_multiple_of(self.kernel.dynamic_shared_align.max(16))
    }

    /// End of shared memory.
    pub(crate) fn shared_end(&self) -> u32 {
        self.dynamic_shared_start() + self.dynamic_shared
    }
}
