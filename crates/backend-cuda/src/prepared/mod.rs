//! Plans made ready: what each format uploads and launches ([`launch`], pure), and a plan on a device.

mod csr;
#[expect(unsafe_code, reason = "kernels are launched on raw device memory")]
pub(crate) mod host;
pub(crate) mod launch;
#[expect(unsafe_code, reason = "kernels are launched on raw device memory")]
mod on_device;
#[expect(dead_code, reason = "some of it is for kernels that are being added")]
pub(crate) mod tensor_map;
mod work;

use girih_backend::Rounding;
use girih_formats::{FormatKind, Tiling, for_any_tiling};
use girih_planner::Plan;

use crate::Arch;
use launch::Image;
pub use on_device::CudaPrepared;

/// The formats that there are kernels for, and the only architecture they run on, if there is one.
const FORMATS: [(FormatKind, Option<Arch>); 1] = [(FormatKind::Csr, None)];

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
pub(crate) fn image(plan: &Plan) -> Image {
    let (tasks, n) = (plan.schedule().tasks(), plan.options().n);
    for_any_tiling!(plan.tiling(), tiling => match tiling {
        Tiling::Csr(a) => csr::image(a, tasks, n),
        _ => unreachable!("it was asked whether the plan is supported"),
    })
}

/// How products of a plan round.
pub(crate) fn rounding(plan: &Plan) -> Rounding {
    Rounding::exact_inputs(plan.dtype())
}
