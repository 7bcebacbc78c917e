//! Limits of a device.

/// What a device can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Streaming multiprocessors: bounds how many CTAs are resident at once.
    pub multiprocessors: u32,
    /// Threads of a CTA.
    pub threads_per_cta: u32,
    /// Extent of a CTA along each axis.
    pub cta_extent: [u32; 3],
    /// 32-bit registers of a CTA.
    pub registers_per_cta: u32,
    /// 32-bit registers of a thread.
    pub registers_per_thread: u32,
    /// Bytes of shared memory of a CTA, static and dynamic together.
    pub shared_per_cta: u32,
    /// Bytes of static shared memory of a CTA.
    pub static_shared_per_cta: u32,
    /// CTAs of a cluster without opting in to more.
    pub portable_cluster: u32,
    /// CTAs of a cluster.
    pub largest_cluster: u32,
    /// Bytes of parameters of a kernel.
    pub parameter_bytes: u32,
}

impl Device {
    /// An H100 or H200 SXM (compute capability 9.0): CUDA Programming Guide, "Technical
    /// Specifications per Compute Capability".
    #[must_use]
    pub fn h100() -> Self {
        Self {
            multiprocessors: 132,
            threads_per_cta: 1024,
            cta_extent: [1024, 1024, 64],
            registers_per_cta: 65536,
            registers_per_thread: 255,
            shared_per_cta: 227 << 10,
            static_shared_per_cta: 48 << 10,
            portable_cluster: 8,
            largest_cluster: 16,
            parameter_bytes: 32764,
        }
    }
}
