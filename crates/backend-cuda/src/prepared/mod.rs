//! Plans made ready: what each format uploads and launches ([`launch`], pure), and a plan on a device.

mod bcsr;
mod csr;
#[expect(unsafe_code, reason = "kernels are launched on raw device memory")]
pub(crate) mod host;
pub(crate) mod launch;
#[expect(unsafe_code, reason = "kernels are launched on raw device memory")]
mod launched;
#[expect(unsafe_code, reason = "products are enqueued on raw device memory")]
mod on_device;
mod panel;
pub(crate) mod tensor_map;
mod upload;
mod wcsr;

use girih_backend::{Rounding, Unsupported};
use girih_formats::{DType, FormatKind, FormatSpec, Tiling, for_any_tiling};
use girih_planner::Plan;

use crate::Arch;
use crate::kernels::sm90_bcsr_spmm::BLOCK;
use launch::Image;
pub(crate) use launched::Launched;
pub(crate) use on_device::DeviceProduct;
pub use on_device::{CudaPrepared, OperandRows};
pub(crate) use upload::upload;

/// The formats that there are kernels for, and the only architecture they run on, if there is one.
const FORMATS: [(FormatKind, Option<Arch>); 3] = [
    (FormatKind::Csr, None),
    (FormatKind::Bcsr, Some(Arch::SM_90A)),
    (FormatKind::Wcsr, Some(Arch::SM_90A)),
];

/// How the results of parts of a window are added up that several blocks of threads compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reduction {
    /// They are kept, and added in order when all are there: C has the same bits every time.
    #[default]
    Ordered,
    /// Each is added to C when it is there: no room and no second pass, but sums round in an order that
    /// changes from one product to the next. Formats whose kernels have no such mode ignore it.
    Atomic,
}

/// What an image is made for, besides the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) reduction: Reduction,
    pub(crate) multiprocessors: u32,
}

/// The blocks that there are kernels for.
const BCSR: FormatSpec = FormatSpec::Bcsr { block_rows: BLOCK, block_cols: BLOCK };

/// Refuses plans that [gather](Plan::gathers) B, for operands on the device.
pub(crate) fn takes_b_as_it_is(backend: &str, plan: &Plan) -> Result<(), Unsupported> {
    if plan.gathers().is_none() {
        return Ok(());
    }
    let reason = "B on the device is not gathered; plan in the permuted space, or multiply operands \
                  on the host";
    Err(Unsupported { backend: backend.to_owned(), reason: reason.to_owned() })
}

/// The formats that there are kernels for on an architecture.
pub(crate) fn formats(arch: Arch) -> Vec<FormatKind> {
    let there = |only: Option<Arch>| only.is_none_or(|only| only == arch);
    FORMATS.into_iter().filter(|&(_, only)| there(only)).map(|(kind, _)| kind).collect()
}

/// Whether there are kernels for a plan; `arch` is the device's, if there is one.
///
/// # Errors
/// The reason, if there are none.
pub(crate) fn supports(plan: &Plan, arch: Option<Arch>) -> Result<(), String> {
    let kind = plan.spec().kind();
    let Some((_, only)) = FORMATS.into_iter().find(|&(known, _)| known == kind) else {
        let known = FORMATS.map(|(kind, _)| kind.name()).join(", ");
        return Err(format!("it has kernels for {known}, and the plan is {kind}"));
    };
    if let (Some(needs), Some(arch)) = (only, arch)
        && needs != arch
    {
        return Err(format!("its kernels for {kind} need {needs}, and the device is {arch}"));
    }
    if let FormatSpec::Wcsr { window_rows, .. } = plan.spec() {
        wcsr::check(plan.dtype(), window_rows)?;
    }
    let (spec, dtype) = (plan.spec(), plan.dtype());
    if kind == FormatKind::Bcsr && (spec != BCSR || dtype == DType::F64) {
        return Err(format!(
            "its kernels for bcsr take {BCSR} of f16, bf16 or f32, not {spec} of {dtype}"
        ));
    }
    // What is added up where rests on the schedule, so it is checked against these very tiles.
    let schedule = plan.schedule();
    schedule.check(plan.tiling()).map_err(|error| error.to_string())?;
    match schedule.columns() {
        Some(_) => {
            Err("its kernels take all columns of C, and the schedule cuts windows by them"
                .to_owned())
        }
        None => Ok(()),
    }
}

/// What is uploaded and launched for a plan that is [supported](supports): O(nnz).
pub(crate) fn image(plan: &Plan, setup: &Setup) -> Image {
    let (tasks, n) = (plan.schedule().tasks(), plan.options().n);
    for_any_tiling!(plan.tiling(), tiling => match tiling {
        Tiling::Csr(a) => csr::image(a, tasks, n, setup.multiprocessors),
        Tiling::Bcsr(a) => bcsr::image(a),
        Tiling::Wcsr(a) => wcsr::image(a, tasks, n, setup),
        _ => unreachable!("it was asked whether the plan is supported"),
    })
}

/// How products of a plan round.
pub(crate) fn rounding(plan: &Plan) -> Rounding {
    match plan.spec().kind() {
        FormatKind::Csr => Rounding::exact_inputs(plan.dtype()),
        _ => tensor_cores(plan.dtype()),
    }
}

/// How tensor cores round. Addends are cut to 25 bits below the largest, and sums to 24, both toward
/// zero: for each entry that is at most 2⁻²² of what was summed so far. f32 is rounded to TF32 before.
fn tensor_cores(dtype: DType) -> Rounding {
    let input_unit = if dtype == DType::F32 { 2f64.powi(-11) } else { 0.0 };
    Rounding { input_unit, unit: 2f64.powi(-22) }
}
