//! The layout that a plan keeps for a machine, so that a process that loads the plan need not make it.
//!
//! A plan's [attachment](Attachment) holds the numbers that decisions rest on, and the copy of the matrix that they
//! led to. Loading takes the decisions again, by the same functions, and the copy as it lies in the file. Kernels
//! rest on what the copy says, so all of it is checked first: O(nnz) in parallel, a small part of a product.

mod numbers;
#[cfg(test)]
mod tests;

use girih_formats::Tiling;
use girih_planner::{Attachment, AttachmentError, Fingerprint, Schedule};
use thiserror::Error;

use crate::NAME;
use crate::exec::split::Split;
use crate::isa::KernelScalar;
use crate::lowering::{Case, CpuLowering};
use crate::prepare::work;
use crate::prepare::{Made, Source};
use numbers::{Noted, Noting, Numbers};

/// Increased when a layout, or the meaning of a number, changes: what older versions kept is then made anew.
const VERSION: u32 = 1;

/// The attached array that holds the numbers, as JSON.
const NUMBERS: &str = "numbers";

/// Why a kept layout is not used.
#[derive(Debug, Error)]
pub(crate) enum NotLoaded {
    /// It was kept for other decisions, or another matrix.
    #[error("the layout was kept for another matrix or other decisions")]
    Outdated,
    /// What it says can't be: no version of girih wrote it.
    #[error("the layout that the plan keeps is not one: {0}")]
    Broken(String),
    /// The plan itself can't be run.
    #[error("{0}")]
    Unsupported(String),
}

/// What a layout is for: it is used where all of this is the same.
pub(crate) fn key(case: &Case) -> String {
    let machine = case.machine;
    format!(
        "layout {VERSION}, {}, {} threads, {:?}, caches of {} and {} bytes",
        case.isa, case.threads, machine.vendor, machine.private, machine.last_level
    )
}

/// Makes what [`load`] takes; `None` for tilings that are not copied.
///
/// # Errors
/// If the plan can't be run.
pub(crate) fn save<T: KernelScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    matrix: Option<&Fingerprint>,
    case: Case,
) -> Result<Option<Attachment>, String> {
    if !matches!(tiling, Tiling::Csr(_)) || schedule.columns().is_some() {
        return Ok(None);
    }
    let (work, split) = work(tiling, schedule, &case)?;
    let mut facts = Noting::new(Made::new(tiling, schedule.tasks(), &split, Source::Matrix));
    CpuLowering::decide(case, work, &mut facts);
    let (made, numbers) = facts.into_parts(matrix.copied());
    let json = serde_json::to_vec(&numbers).map_err(|e| e.to_string())?;
    let attached = || -> Result<Attachment, AttachmentError> {
        let all = Attachment::new(NAME, key(&case))?.with_array(NUMBERS, json)?;
        made.relaid.iter().try_fold(all, |all, relaid| relaid.save(all))
    };
    attached().map(Some).map_err(|e| e.to_string())
}

/// What was decided and loaded, and the sums of split windows.
pub(crate) type Loaded<'a, T> =
    (CpuLowering, Made<'a, T>, Split<<T as girih_formats::Scalar>::Acc>);

/// Takes the decisions again by the numbers of an attachment, and its copy of the matrix: O(nnz) in parallel for
/// checking it. Large arrays are shared with the attachment.
///
/// # Errors
/// If the layout is not for these decisions, or is none.
pub(crate) fn load<'a, T: KernelScalar>(
    tiling: &'a Tiling<T>,
    schedule: &Schedule,
    matrix: Option<&Fingerprint>,
    case: Case,
    saved: &'a Attachment,
) -> Result<Loaded<'a, T>, NotLoaded> {
    let json = saved.array::<u8>(NUMBERS);
    let json = json.ok_or_else(|| NotLoaded::Broken(format!("it has no {NUMBERS}")))?;
    let numbers: Numbers = serde_json::from_slice(json)
        .map_err(|e| NotLoaded::Broken(format!("its {NUMBERS} are not read: {e}")))?;
    if numbers.matrix.as_ref() != matrix {
        return Err(NotLoaded::Outdated);
    }
    numbers.check(&case).map_err(NotLoaded::Broken)?;
    let (work, split) = work(tiling, schedule, &case).map_err(NotLoaded::Unsupported)?;
    let made = Made::new(tiling, schedule.tasks(), &split, Source::Saved(saved));
    let mut facts = Noted::new(made, numbers);
    let lowering = CpuLowering::decide(case, work, &mut facts);
    Ok((lowering, facts.into_made()?, split))
}
