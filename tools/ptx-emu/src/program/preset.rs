//! Values that a launch knows and an instruction reads like a register.

/// A coordinate of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Axis {
    X,
    Y,
    Z,
}

/// What a register says of the shared memory that is the system's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reserved {
    /// Where it begins, and its parts.
    Begin,
    /// Where what is in use ends.
    End,
    /// All of its bytes.
    Capacity,
}

/// What the machine writes into a row of every warp before its first instruction: special registers
/// that do not change while a thread lives, and addresses that only a launch knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Preset {
    /// `%tid`.
    Thread(Axis),
    /// `%ntid`.
    Threads(Axis),
    /// `%ctaid`.
    Cta(Axis),
    /// `%nctaid`.
    Ctas(Axis),
    /// `%clusterid`.
    Cluster(Axis),
    /// `%nclusterid`.
    Clusters(Axis),
    /// `%cluster_ctaid`.
    CtaInCluster(Axis),
    /// `%cluster_nctaid`.
    CtasInCluster(Axis),
    /// `%cluster_ctarank`.
    ClusterRank,
    /// `%cluster_nctarank`.
    ClusterSize,
    /// `%is_explicit_cluster`, as 0 or 1.
    ExplicitCluster,
    /// `%laneid`.
    Lane,
    /// `%warpid`.
    Warp,
    /// `%nwarpid`.
    Warps,
    /// `%smid`.
    Sm,
    /// `%nsmid`.
    Sms,
    /// `%gridid`.
    Grid,
    /// `%lanemask_eq`.
    LanesEqual,
    /// `%lanemask_le`.
    LanesLessEqual,
    /// `%lanemask_lt`.
    LanesLess,
    /// `%lanemask_ge`.
    LanesGreaterEqual,
    /// `%lanemask_gt`.
    LanesGreater,
    /// `%dynamic_smem_size`.
    DynamicShared,
    /// `%total_smem_size`.
    TotalShared,
    /// `%envreg0` to `%envreg31`.
    Environment(u32),
    /// `%reserved_smem_offset_…`.
    Reserved(Reserved),
    /// The shared address of an offset in the CTA's own memory.
    Shared(u32),
    /// The generic address of the module's `.global` or `.const` variable of this index.
    Variable(u32),
}

/// Special registers that change while a thread runs; only `mov` reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Clock {
    /// `%clock`: the low half of `%clock64`.
    Low,
    /// `%clock_hi`.
    High,
    /// `%clock64`.
    Full,
    /// `%globaltimer_lo`.
    NanosecondsLow,
    /// `%globaltimer_hi`.
    NanosecondsHigh,
    /// `%globaltimer`.
    Nanoseconds,
}

impl Preset {
    /// The preset that a special register reads, and its width in bits.
    pub(crate) fn named(name: &str) -> Option<(Self, u32)> {
        let name = name.strip_prefix('%')?;
        if let Some((stem, axis)) = name.split_once('.') {
            let axis = match axis {
                "x" => Axis::X,
                "y" => Axis::Y,
                "z" => Axis::Z,
                _ => return None,
            };
            let preset = match stem {
                "tid" => Self::Thread(axis),
                "ntid" => Self::Threads(axis),
                "ctaid" => Self::Cta(axis),
                "nctaid" => Self::Ctas(axis),
                "clusterid" => Self::Cluster(axis),
                "nclusterid" => Self::Clusters(axis),
                "cluster_ctaid" => Self::CtaInCluster(axis),
                "cluster_nctaid" => Self::CtasInCluster(axis),
                _ => return None,
            };
            return Some((preset, 32));
        }
        let preset = match name {
            "cluster_ctarank" => Self::ClusterRank,
            "cluster_nctarank" => Self::ClusterSize,
            "is_explicit_cluster" => return Some((Self::ExplicitCluster, 1)),
            "laneid" => Self::Lane,
            "warpid" => Self::Warp,
            "nwarpid" => Self::Warps,
            "smid" => Self::Sm,
            "nsmid" => Self::Sms,
            "gridid" => return Some((Self::Grid, 64)),
            "lanemask_eq" => Self::LanesEqual,
            "lanemask_le" => Self::LanesLessEqual,
            "lanemask_lt" => Self::LanesLess,
            "lanemask_ge" => Self::LanesGreaterEqual,
            "lanemask_gt" => Self::LanesGreater,
            "dynamic_smem_size" => Self::DynamicShared,
            "total_smem_size" => Self::TotalShared,
            "reserved_smem_offset_begin" | "reserved_smem_offset_0" | "reserved_smem_offset_1" => {
                Self::Reserved(Reserved::Begin)
            }
            "reserved_smem_offset_end" => Self::Reserved(Reserved::End),
            "reserved_smem_offset_cap" => Self::Reserved(Reserved::Capacity),
            _ => Self::Environment(environment(name)?),
        };
        Some((preset, 32))
    }
}

/// The number of an `envreg`.
fn environment(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("envreg")?;
    let number: u32 = digits.parse().ok().filter(|&number| number < 32)?;
    (digits == number.to_string()).then_some(number)
}

impl Clock {
    /// The clock that a special register reads.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "%clock" => Self::Low,
            "%clock_hi" => Self::High,
            "%clock64" => Self::Full,
            "%globaltimer_lo" => Self::NanosecondsLow,
            "%globaltimer_hi" => Self::NanosecondsHigh,
            "%globaltimer" => Self::Nanoseconds,
            _ => return None,
        })
    }

    /// Its width in bits.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Full | Self::Nanoseconds => 64,
            _ => 32,
        }
    }
}
