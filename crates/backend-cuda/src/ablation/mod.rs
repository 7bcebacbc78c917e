//! Steps of the ablations that papers report, as configurations of this crate's kernels.
//!
//! A [`Variant`] is a kernel with something left out, or added, that products never run: one stage instead of
//! three, no producers, a cluster. Its kernel is compiled when it is [prepared](crate::CudaBackend::prepare_variant),
//! and is in no [catalog](crate::CudaKernels). The macros that it defines are listed in
//! `sm90_bcsr_spmm/ablation.cuh` and `sm90_two_four_spmm/consume.cuh`; all else is sizes. Which variants make up the ladder
//! of which paper is data of whoever measures them: `girih ablation`.

use girih_backend::Unsupported;
use girih_formats::{DType, FormatSpec, ScalesPer};
use girih_planner::Plan;

use crate::DenseConfig;
use crate::kernels::sm90_bcsr_spmm::{BLOCK, Switch};
use crate::kernels::sm90_bmat_spmm::Arithmetic;
use crate::kernels::sm90_two_four_spmm::Narrow;
use crate::kernels::{Kernel, quantize_e4m3, sm90_bcsr_spmm, sm90_bmat_spmm, sm90_two_four_spmm};

/// A step of an ablation.
///
/// ```
/// use girih_backend_cuda::ablation::Variant;
///
/// let alone = Variant::find("bcsr-alone").expect("it is in the table");
/// assert!(Variant::all().contains(&alone));
/// assert_eq!(Variant::find("bcsr"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    name: &'static str,
    runs: Runs,
    partitions: bool,
}

/// What it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// What products in CSR run.
    Csr,
    Bcsr(sm90_bcsr_spmm::Config),
    /// The rung of [`DenseConfig::ladder`] with this index.
    Dense(usize),
    Bmat(sm90_bmat_spmm::Config),
    TwoFour(sm90_two_four_spmm::Config),
}

use Switch::{AllArrive, Alone, Clears, Elements, Persistent, SharesA};

/// BCSR's: warpgroups, their columns, stages, CTAs to a multiprocessor, threads that copy.
const fn bcsr(name: &'static str, sizes: [u32; 5], switches: &'static [Switch]) -> Variant {
    let runs = Runs::Bcsr(sm90_bcsr_spmm::Config::ablated(sizes, switches));
    Variant { name, runs, partitions: false }
}

const fn dense(name: &'static str, rung: usize) -> Variant {
    Variant { name, runs: Runs::Dense(rung), partitions: false }
}

/// BMat's: warps, units of 32 columns of each, warps that copy, tiles of a stage, stages, CTAs to a multiprocessor.
const fn bmat(name: &'static str, sizes: [u32; 6], partitions: bool) -> Variant {
    Variant { name, runs: Runs::Bmat(sm90_bmat_spmm::Config::ablated(sizes)), partitions }
}

/// 2:4's: stages, CTAs of a cluster, whether metadata are loaded late.
const fn two_four(name: &'static str, stages: u32, cluster: u32, late: bool) -> Variant {
    let config = sm90_two_four_spmm::Config::ablated(stages, cluster, late);
    Variant { name, runs: Runs::TwoFour(config), partitions: false }
}

/// 2:4's in e4m3: columns, stages, whether metadata are loaded late, how sums are added.
const fn e4m3(name: &'static str, sizes: (u32, u32), late: bool, sums: Narrow) -> Variant {
    let config = sm90_two_four_spmm::Config::ablated_narrow(sizes, late, sums);
    Variant { name, runs: Runs::TwoFour(config), partitions: false }
}

/// The sizes of AsyncSparse's kernel: two warpgroups of 256 columns, three stages. A warp copies, where the paper's
/// warpgroup hands its registers over: those of a thread are limited to what it is launched with.
const FULL: [u32; 5] = [2, 256, 3, 1, 32];

/// Every variant.
const VARIANTS: [Variant; 36] = [
    Variant { name: "csr", runs: Runs::Csr, partitions: false },
    bcsr("bcsr-elements", [1, 256, 1, 1, 128], &[Elements, AllArrive, Clears]),
    bcsr("bcsr-alone", [1, 256, 3, 1, 0], &[Alone, AllArrive, Clears]),
    bcsr("bcsr-all-arrive", FULL, &[AllArrive, Clears]),
    bcsr("bcsr-clears", FULL, &[Clears]),
    bcsr("bcsr-full", FULL, &[]),
    bcsr("bcsr-persistent", FULL, &[Persistent, Clears]),
    bcsr("bcsr-cluster", FULL, &[SharesA]),
    // By width of a tile: as many CTAs as there is space for.
    bcsr("bcsr-64", [1, 64, 3, 4, 32], &[]),
    bcsr("bcsr-2x64", [2, 64, 3, 3, 32], &[]),
    bcsr("bcsr-128", [1, 128, 3, 3, 32], &[]),
    bcsr("bcsr-2x128", [2, 128, 3, 1, 32], &[]),
    bcsr("bcsr-256", [1, 256, 3, 1, 32], &[]),
    dense("dense-waits", 0),
    dense("dense-wide", 1),
    dense("dense-ring", 2),
    dense("dense-two-consumers", 3),
    dense("dense-persistent", 4),
    dense("dense-order", 5),
    dense("dense-cluster", 6),
    dense("dense-stores", 7),
    bmat("bmat-one-buffer", [8, 1, 1, 1, 1, 2], false),
    bmat("bmat-several-mma", [4, 2, 1, 1, 1, 2], false),
    bmat("bmat-buffers", [4, 2, 2, 4, 3, 2], false),
    bmat("bmat-partitions", [4, 2, 2, 4, 3, 2], true),
    two_four("two-four-waits", 1, 1, true),
    two_four("two-four-ring", 3, 1, true),
    two_four("two-four-metadata", 3, 1, false),
    two_four("two-four-deep", 5, 1, false),
    two_four("two-four-cluster", 5, 2, false),
    two_four("two-four-cluster-of-four", 5, 4, false),
    e4m3("e4m3-waits", (256, 1), true, Narrow::Fast),
    e4m3("e4m3-two-stages", (256, 2), true, Narrow::Fast),
    e4m3("e4m3-metadata", (256, 2), false, Narrow::Fast),
    e4m3("e4m3-deep", (256, 5), false, Narrow::Fast),
    e4m3("e4m3-in-f32", (128, 8), false, Narrow::InF32),
];

impl Variant {
    /// Every variant.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &VARIANTS
    }

    /// The variant of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        VARIANTS.into_iter().find(|variant| variant.name == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The format that it multiplies.
    #[must_use]
    pub fn spec(&self) -> FormatSpec {
        match self.runs {
            Runs::Csr => FormatSpec::Csr,
            Runs::Bcsr(_) | Runs::Dense(_) => {
                FormatSpec::Bcsr { block_rows: BLOCK, block_cols: BLOCK }
            }
            Runs::Bmat(_) => FormatSpec::BMat { pattern_only: false },
            Runs::TwoFour(config) if config.is_narrow() => {
                FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row }
            }
            Runs::TwoFour(_) => FormatSpec::TwoFour,
        }
    }

    /// Whether its persistent workers need a schedule with
    /// [partitions](girih_planner::Schedule::sm_aligned), where others have a task for each window.
    #[must_use]
    pub fn wants_partitions(&self) -> bool {
        self.partitions
    }

    /// Whether it multiplies a value type.
    #[must_use]
    pub fn has(&self, dtype: DType) -> bool {
        match self.runs {
            Runs::Csr => true,
            Runs::Dense(rung) => rung < DenseConfig::ladder(dtype).len(),
            Runs::Bmat(_) => dtype == DType::F32,
            Runs::TwoFour(config) if config.is_narrow() => quantize_e4m3::DTYPES.contains(&dtype),
            Runs::Bcsr(_) | Runs::TwoFour(_) => matches!(dtype, DType::F16 | DType::Bf16),
        }
    }

    /// Whether it multiplies a plan.
    ///
    /// # Errors
    /// The format or value type that it is not for.
    pub fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        let (spec, dtype, name) = (plan.spec(), plan.dtype(), self.name);
        let is_narrow = |spec| matches!(spec, FormatSpec::TwoFourE4m3 { .. });
        if spec.kind() != self.spec().kind() || is_narrow(spec) != is_narrow(self.spec()) {
            let reason = format!("{name} multiplies {}, not {spec}", self.spec());
            return Err(Unsupported::Format { format: spec.kind(), reason });
        }
        if !self.has(dtype) {
            let reason = format!("{name} does not multiply {dtype}");
            return Err(Unsupported::ValueType { dtype, reason });
        }
        Ok(())
    }

    pub(crate) fn runs(&self) -> Runs {
        self.runs
    }

    /// Tells a kernel that only this variant has from those of products and of other variants.
    pub(crate) fn name_kernel(&self, kernel: &mut Kernel) {
        let is_shared =
            kernel.stem == quantize_e4m3::STEM || matches!(self.runs, Runs::Csr | Runs::Dense(_));
        if !is_shared {
            kernel.config = format!("{} {}", kernel.config, self.name);
        }
    }

    /// The kernel that only this variant has, for a value type that it [has](Self::has).
    fn own_kernel(&self, dtype: DType) -> Option<Kernel> {
        let mut kernel = match self.runs {
            Runs::Csr | Runs::Dense(_) => return None,
            Runs::Bcsr(config) => config.kernel(dtype),
            Runs::Bmat(config) => config.kernel(Arithmetic::Tf32, false),
            Runs::TwoFour(config) => config.kernel(dtype),
        };
        self.name_kernel(&mut kernel);
        Some(kernel)
    }
}

/// The kernels that only variants have, each in a binary of its own: in bf16, or in f32 where they multiply that alone.
/// (Those of f16 differ by the name of an instruction.)
#[must_use]
pub fn kernels() -> Vec<Kernel> {
    let of = |variant: &Variant| {
        let dtype = if variant.has(DType::Bf16) { DType::Bf16 } else { DType::F32 };
        variant.own_kernel(dtype)
    };
    VARIANTS.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests;
