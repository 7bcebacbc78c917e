//! The faults, how their kernels are launched, and what is to be found.

use ptx_emu::asynch::mbarrier::MbarrierError as Rule;
use ptx_emu::report::Problem;

/// What a kernel gets besides its output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    /// Nothing.
    None,
    /// As many words: 100, 101, …
    Words(u32),
    /// A map of a tensor of as many words.
    Tensor { cols: u32, rows: u32, box_dims: [u32; 2], swizzle: bool },
}

/// How a fault shows.
#[derive(Debug)]
pub(crate) enum Expect {
    /// By this report.
    Report(fn(&Problem) -> bool),
    /// By a launch that is refused.
    Refusal,
    /// By a result that is not that of the repaired kernel: no rule is broken.
    Result,
}

/// A pair of kernels.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) source: &'static str,
    pub(crate) grid: u32,
    pub(crate) block: u32,
    pub(crate) input: Input,
    /// Words of output.
    pub(crate) output: usize,
    pub(crate) expect: Expect,
}

macro_rules! case {
    ($name:literal, $grid:literal x $block:literal, $input:expr, $output:literal, $expect:expr) => {
        Case {
            name: $name,
            source: include_str!(concat!($name, ".ptx")),
            grid: $grid,
            block: $block,
            input: $input,
            output: $output,
            expect: $expect,
        }
    };
}

macro_rules! report {
    ($pattern:pat) => {
        Expect::Report(|problem| matches!(problem, $pattern))
    };
}

macro_rules! rule {
    ($pattern:pat) => {
        Expect::Report(|problem| matches!(problem, Problem::Mbarrier { error: $pattern, .. }))
    };
}

const NONE: Input = Input::None;
const BLOCK: Input = Input::Words(16);
const TENSOR: Input = Input::Tensor { cols: 16, rows: 32, box_dims: [16, 8], swizzle: false };
const SWIZZLED: Input = Input::Tensor { cols: 32, rows: 32, box_dims: [32, 4], swizzle: true };

/// All of them.
pub(crate) const CASES: &[Case] = &[
    case!("deadlock", 1 x 1, NONE, 0, report!(Problem::Deadlock { .. })),
    case!("deadlock_barrier", 1 x 64, NONE, 0, report!(Problem::Deadlock { .. })),
    case!("full_wait", 1 x 1, BLOCK, 1, report!(Problem::Pending { .. } | Problem::Race { .. })),
    case!("phase", 1 x 1, BLOCK, 1, report!(Problem::Pending { .. } | Problem::Deadlock { .. })),
    case!(
        "empty_wait", 1 x 64, Input::Words(64), 1,
        report!(
            Problem::Pending { .. }
                | Problem::Race { .. }
                | Problem::Mbarrier { error: Rule::Arrivals { .. }, .. }
        )
    ),
    case!("bytes_missing", 1 x 1, BLOCK, 1, report!(Problem::Deadlock { .. })),
    case!("bytes_surplus", 1 x 1, BLOCK, 1, rule!(Rule::TransactionSurplus { .. })),
    case!(
        "bytes_early", 1 x 1, BLOCK, 1,
        report!(Problem::LateTransaction { .. } | Problem::Pending { .. } | Problem::Race { .. })
    ),
    case!("bytes_overflow", 1 x 1, NONE, 0, rule!(Rule::TransactionRange { .. })),
    case!("proxy_fence_store", 1 x 1, NONE, 4, report!(Problem::ProxyFence { .. })),
    case!("bulk_wait", 1 x 1, NONE, 4, report!(Problem::Pending { .. } | Problem::Race { .. })),
    case!("bulk_bounds", 1 x 1, Input::Words(8), 1, report!(Problem::OutOfBounds { .. })),
    case!("bulk_misaligned", 1 x 1, BLOCK, 1, report!(Problem::Misaligned { .. })),
    case!("cp_async_wait", 1 x 1, BLOCK, 1, report!(Problem::Pending { .. })),
    case!("bounds", 1 x 1, Input::Words(8), 1, report!(Problem::OutOfBounds { .. })),
    case!("misaligned", 1 x 1, Input::Words(8), 1, report!(Problem::Misaligned { .. })),
    case!("shared_bounds", 1 x 1, NONE, 0, report!(Problem::OutOfBounds { .. })),
    case!("poison", 1 x 1, NONE, 1, report!(Problem::Poison { .. })),
    case!("race_shared", 1 x 64, NONE, 1, report!(Problem::Race { .. } | Problem::Poison { .. })),
    case!("race_global", 2 x 1, NONE, 2, report!(Problem::Race { .. })),
    case!("divergence", 1 x 32, NONE, 0, report!(Problem::Divergence { .. })),
    case!("divergence_exit", 1 x 32, NONE, 32, report!(Problem::Divergence { .. })),
    case!("shuffle_exit", 1 x 32, NONE, 32, report!(Problem::Operand { .. })),
    case!("race_volatile", 1 x 32, NONE, 32, report!(Problem::Race { .. })),
    case!("cluster_start", 2 x 1, NONE, 2, report!(Problem::NotStarted { .. })),
    case!("registers", 1 x 256, NONE, 0, report!(Problem::Deadlock { .. })),
    case!("registers_shrink", 1 x 128, NONE, 0, report!(Problem::Registers { .. })),
    case!("shared_memory", 1 x 1, NONE, 0, Expect::Refusal),
    case!("leak_copy", 1 x 1, BLOCK, 0, report!(Problem::Leak { .. })),
    case!("leak_store", 1 x 1, NONE, 4, report!(Problem::Leak { .. })),
    case!("leak_barrier", 1 x 1, NONE, 0, report!(Problem::Leak { .. })),
    case!("mbarrier_uninitialized", 1 x 1, NONE, 0, rule!(Rule::NotInitialized)),
    case!("mbarrier_reinit", 1 x 1, NONE, 0, rule!(Rule::Alive)),
    case!("mbarrier_arrivals", 1 x 1, NONE, 0, rule!(Rule::Arrivals { .. })),
    case!("mbarrier_overwritten", 1 x 1, NONE, 0, report!(Problem::MbarrierTouched { .. })),
    case!(
        "mbarrier_unordered", 1 x 64, NONE, 0,
        report!(Problem::Race { .. } | Problem::Mbarrier { error: Rule::NotInitialized, .. })
    ),
    case!("cluster_exit", 2 x 1, BLOCK, 0, report!(Problem::Leak { .. } | Problem::Exited { .. })),
    case!("multicast_exit", 2 x 1, BLOCK, 0, report!(Problem::Leak { .. } | Problem::Exited { .. })),
    case!("cluster_arrive", 2 x 1, NONE, 0, report!(Problem::Leak { .. } | Problem::Exited { .. })),
    case!("tensor_bytes", 1 x 1, TENSOR, 1, rule!(Rule::TransactionSurplus { .. })),
    case!("tensor_destination", 1 x 1, TENSOR, 1, report!(Problem::OutOfBounds { .. })),
    case!("tensor_misaligned", 1 x 1, TENSOR, 1, report!(Problem::Misaligned { .. })),
    case!("tensor_swizzle", 1 x 1, SWIZZLED, 1, Expect::Result),
    case!("tensor_store_fence", 1 x 128, TENSOR, 1, report!(Problem::ProxyFence { .. })),
    case!("tensor_uncommitted", 1 x 128, TENSOR, 1, report!(Problem::Leak { .. })),
    case!("wgmma_proxy_fence", 1 x 128, NONE, 512, report!(Problem::ProxyFence { .. })),
    case!("wgmma_rank", 2 x 128, NONE, 1024, report!(Problem::Descriptor { .. })),
    case!(
        "wgmma_rank_leading", 2 x 128, NONE, 1024,
        report!(Problem::Descriptor { .. } | Problem::Poison { .. })
    ),
    case!("wgmma_accumulator", 1 x 128, NONE, 512, report!(Problem::InFlightRegister { .. })),
    case!("wgmma_a_register", 1 x 128, NONE, 512, report!(Problem::InFlightRegister { .. })),
    case!("wgmma_metadata", 1 x 128, NONE, 512, report!(Problem::InFlightRegister { .. })),
    case!("wgmma_metadata_dead", 1 x 128, NONE, 512, report!(Problem::DeadMetadata { .. })),
    case!("wgmma_commit", 1 x 128, NONE, 512, report!(Problem::InFlightRegister { .. })),
    case!("wgmma_fence", 1 x 128, NONE, 512, report!(Problem::WgmmaFence { .. })),
    case!(
        "wgmma_operand", 1 x 128, NONE, 512,
        report!(Problem::Pending { .. } | Problem::Race { .. })
    ),
    case!("wgmma_poison", 1 x 128, NONE, 512, report!(Problem::Poison { .. })),
    case!("wgmma_range", 1 x 128, NONE, 512, report!(Problem::Descriptor { .. })),
    case!("wgmma_offset", 1 x 128, NONE, 512, Expect::Result),
    case!("wgmma_divergence", 1 x 128, NONE, 512, report!(Problem::Deadlock { .. })),
];
