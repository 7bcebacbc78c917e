//! Plans made ready: what each format uploads and launches ([`launch`](crate::launch), pure), and a plan on a device.

#[expect(unsafe_code, reason = "products are enqueued on raw device memory")]
mod device_product;
#[expect(unsafe_code, reason = "products are enqueued on raw device memory")]
mod enqueue;
#[expect(unsafe_code, reason = "kernels are launched on raw device memory")]
pub(crate) mod host;
#[expect(unsafe_code, reason = "kernels are launched on raw device memory")]
mod launched;
pub(crate) mod lowering;
#[expect(unsafe_code, reason = "a kernel is launched on raw device memory")]
mod new_values;
mod on_device;
mod on_host;
mod packed_b;
pub(crate) mod panels;
mod product;
mod refresh;
#[expect(unsafe_code, reason = "products are enqueued on raw device memory")]
mod sampled;
pub(crate) mod sddmm_layout;
mod source;
mod total;
mod upload;
pub(crate) mod value_map;

use girih_backend::{E4m3Sums, Rounding};
use girih_formats::{
    AnyTiling, DType, FormatKind, FormatSpec, Scalar, Tiling, TwoFour, for_real_tiling,
};
use girih_planner::{Plan, Precision};

use crate::ablation::{Runs, Variant};
use crate::kernels::sm90_dense_gemm::{self, DenseConfig, FullBlocks};
use crate::kernels::{
    csr_spmm, hybrid, sm90_bcsr_spmm, sm90_bmat_spmm, sm90_two_four_spmm, sm90_wcsr_spmm,
};
use crate::launch::{DevicePlan, Machine};

pub use device_product::DeviceProduct;
pub(crate) use launched::Launched;
pub use on_device::{CudaPrepared, OperandRows};
pub use sampled::CudaSddmm;
pub use sddmm_layout::SddmmLayout;
pub(crate) use source::Source;
#[cfg(test)]
pub(crate) use total::{Requested, Total};
pub(crate) use upload::upload;

/// What multiplies, where more than one kernel could.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiplier {
    /// A plan in BCSR whose blocks are all there.
    full: FullBlocks,
    /// In place of what would be chosen, a plan that it is [for](Variant::supports).
    variant: Option<Variant>,
}

impl From<FullBlocks> for Multiplier {
    fn from(full: FullBlocks) -> Self {
        Self { full, variant: None }
    }
}

impl From<Variant> for Multiplier {
    fn from(variant: Variant) -> Self {
        Self { full: FullBlocks::Fastest, variant: Some(variant) }
    }
}

/// What is uploaded and launched for a plan that is [supported](crate::kernels::supported::supports), on such a
/// device: O(nnz).
pub(crate) fn device_plan(plan: &Plan, machine: Machine, multiplier: Multiplier) -> DevicePlan {
    let made = of_format(plan, machine, multiplier);
    // A step of an ablation is what it is.
    if !machine.copies_b || multiplier.variant.is_some() {
        return made;
    }
    let is_csr = plan.spec().kind() == FormatKind::Csr;
    made.copying_b(plan.options().n, is_csr, machine.cache_bytes)
}

/// What the kernels of a plan's format need.
fn of_format(plan: &Plan, machine: Machine, multiplier: Multiplier) -> DevicePlan {
    let Multiplier { full, variant } = multiplier;
    let multiprocessors = machine.multiprocessors;
    let (schedule, n, precision) = (plan.schedule(), plan.options().n, plan.precision());
    let runs = variant.map(|variant| variant.runs());
    let tasks = schedule.tasks();
    let mut made = match plan.tiling() {
        AnyTiling::C32(Tiling::Csr(a)) => {
            return csr_spmm::device_plan(&csr_spmm::Rows::of(a), tasks, n, machine);
        }
        AnyTiling::C64(Tiling::Csr(a)) => {
            return csr_spmm::device_plan(&csr_spmm::Rows::of(a), tasks, n, machine);
        }
        real => for_real_tiling!(real, tiling => match (tiling, runs) {
            (Tiling::Bcsr(a), Some(Runs::Bcsr(config))) => {
                sm90_bcsr_spmm::device_plan(a, Some(config), multiprocessors)
            }
            (Tiling::Bcsr(a), Some(Runs::Dense(rung))) => {
                let config = DenseConfig::ladder(plan.dtype())[rung].config;
                sm90_dense_gemm::device_plan(a, machine, FullBlocks::Dense(config))
            }
            (Tiling::BMat(a), Some(Runs::Bmat(config))) => {
                sm90_bmat_spmm::device_plan(a, schedule, n, precision, Some(config))
            }
            (Tiling::TwoFour(a), Some(Runs::TwoFour(config))) => two_four(a, n, machine, Some(config)),
            (Tiling::Csr(a), _) => csr_spmm::device_plan(&csr_spmm::Rows::of(a), tasks, n, machine),
            (Tiling::Bcsr(a), _) => sm90_dense_gemm::device_plan(a, machine, full),
            (Tiling::BMat(a), _) => sm90_bmat_spmm::device_plan(a, schedule, n, precision, None),
            (Tiling::Wcsr(a), _) => {
                let windows = sm90_wcsr_spmm::Windows::of(a);
                let cut = (&tasks[..], schedule.reduction());
                sm90_wcsr_spmm::device_plan(&windows, cut, n, machine)
            }
            (Tiling::Hybrid(a), _) => hybrid::device_plan(a, schedule, n, machine),
            (Tiling::TwoFour(a), _) => two_four(a, n, machine, None),
            _ => unreachable!("plans are checked to be supported first"),
        }, complex => unreachable!("plans are checked to be supported first")),
    };
    if let Some(variant) = variant {
        made.kernels.iter_mut().for_each(|kernel| variant.name_kernel(kernel));
    }
    made
}

/// What a plan in 2:4 needs, by what its values are stored in.
fn two_four<T: Scalar>(
    a: &TwoFour<T>,
    n: usize,
    machine: Machine,
    ablated: Option<sm90_two_four_spmm::Config>,
) -> DevicePlan {
    match a.e4m3() {
        Some(narrow) => sm90_two_four_spmm::narrow_device_plan(a, narrow, n, machine, ablated),
        None => sm90_two_four_spmm::device_plan(a, machine, ablated),
    }
}

/// How products of a plan round, or those of a step of an ablation.
pub(crate) fn rounding(plan: &Plan, variant: Option<Variant>) -> Rounding {
    let (dtype, precision) = (plan.dtype(), plan.precision());
    if let FormatSpec::TwoFourE4m3 { .. } = plan.spec() {
        return match variant.map(|variant| variant.runs()) {
            Some(Runs::TwoFour(config)) if !config.sums_in_f32() => e4m3(plan.ncols()),
            _ => e4m3(sm90_two_four_spmm::TOGETHER),
        };
    }
    match plan.spec().kind() {
        FormatKind::Csr => Rounding::exact_inputs(dtype),
        FormatKind::BMat if dtype == DType::F32 && precision == Precision::F32 => {
            Rounding::exact_inputs(dtype)
        }
        FormatKind::BMat if dtype == DType::F32 && precision == Precision::ThreeTf32 => {
            three_tf32()
        }
        _ => tensor_cores(dtype),
    }
}

/// How three products of TF32 round that make one of f32.
///
/// The first part of an operand x is x rounded to 11 bits, and what is left has 13 bits at the most. The
/// second part takes those but the last two, and with the last one rounded: what it lacks is at most
/// 2⁻²³·|x|. The product of two second parts, which is left out, is at most 2⁻²² of the whole. Together that
/// is less than 2u + u² for u = 2⁻²². An entry's tile is added up by three instructions on [tensor
/// cores](tensor_cores), and to the tiles before it in f32.
///
/// The second part of an operand below 2⁻¹¹⁵ is subnormal, and rounded by up to half of TF32's least subnormal, 2⁻¹³⁷.
/// That is u of 2⁻¹¹⁵.
fn three_tf32() -> Rounding {
    let Rounding { unit, .. } = tensor_cores(DType::F32);
    let unit = 3.0 * unit + 2f64.powi(-24);
    let least_operand = 2f64.powi(-115);
    Rounding { input_unit: 2f64.powi(-22), unit, least_operand, e4m3: None }
}

/// How tensor cores round. Addends are cut to 25 bits below the largest, and sums to 24, both toward
/// zero: for each entry that is at most 2⁻²² of what was summed so far. f32 is rounded to TF32 before.
fn tensor_cores(dtype: DType) -> Rounding {
    let input_unit = if dtype == DType::F32 { 2f64.powi(-11) } else { 0.0 };
    Rounding::tensor_cores(dtype, input_unit, 2f64.powi(-22))
}

/// How tensor cores round sums of e4m3 that are added up in f32 for every `columns` columns of A. An instruction adds up
/// to 32 products and what was summed before: each is cut to 13 bits below the largest, toward zero, and the sum to as
/// many. So an instruction is off by at most 34 · 2⁻¹³ of the largest, and those of `columns` columns by as much of the
/// sum of magnitudes each.
///
/// (DeepSeek-V3, arXiv 2412.19437, §3.3.2; Xie et al., MMA-Sim, arXiv 2511.10909.)
pub(crate) fn e4m3(columns: usize) -> Rounding {
    let instructions = columns.div_ceil(64) as f64;
    let partial = instructions * 34.0 * 2f64.powi(-13);
    // What was summed before is as large as it was found, not as it is.
    let partial = partial * (1.0 + partial);
    // The least normal number of e4m3.
    let (least_operand, e4m3) = (2f64.powi(-6), Some(E4m3Sums { partial }));
    Rounding { least_operand, e4m3, ..Rounding::exact_inputs(DType::F32) }
}
