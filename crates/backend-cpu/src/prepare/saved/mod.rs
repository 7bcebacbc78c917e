//! The layout that a plan saves for a machine, so that a process that loads the plan need not make it.
//!
//! A plan's [attachment](Attachment) holds the numbers on which decisions rest, and the copy of the matrix
//! that they led to. Loading takes the decisions again, by the same functions, and uses the copy where it
//! lies in the file. Kernels rely on what the copy says, so all of it is checked first: O(nnz) in parallel, a
//! small part of a product.

mod numbers;
#[cfg(test)]
mod tests;

use girih_formats::Tiling;
use girih_planner::file::{Attachment, AttachmentError};
use girih_planner::{Fingerprint, Schedule};
use thiserror::Error;

use super::{LayoutBuilder, LayoutSource, Parts, schedule_numbers};
use crate::NAME;
use crate::kernels::CpuScalar;
use crate::lowering::{Case, CpuLowering};
use numbers::{RecordedNumbers, ReplayedNumbers, SavedNumbers};

/// Increases when a layout, or the meaning of a number, changes: what older versions saved is then made anew.
const VERSION: u32 = 3;

/// The attached array that holds the numbers, as JSON.
const NUMBERS: &str = "numbers";

/// Why a saved layout is not used.
#[derive(Debug, Error)]
pub(crate) enum LoadError {
    /// It was saved for other decisions, or another matrix.
    #[error("the layout was kept for another matrix or other decisions")]
    Outdated,
    /// It contradicts itself or the matrix: no version of girih wrote it.
    #[error("the layout that the plan keeps is not one: {0}")]
    Broken(String),
    /// The plan itself can't be run.
    #[error("{0}")]
    Unsupported(String),
}

/// What a layout is for: it is used if all of this is the same.
pub(crate) fn key(case: &Case) -> String {
    let machine = case.machine;
    format!(
        "layout {VERSION}, {}, {} threads, {:?}, caches of {} and {} bytes",
        case.isa, case.threads, machine.vendor, machine.private, machine.last_level
    )
}

/// Makes the attachment that [`load`] takes; `None` for tilings that are not copied.
///
/// # Errors
/// If the plan can't be run.
pub(crate) fn save<T: CpuScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    matrix: Option<&Fingerprint>,
    case: Case,
) -> Result<Option<Attachment>, String> {
    if !matches!(tiling, Tiling::Csr(_)) || schedule.columns().is_some() {
        return Ok(None);
    }
    let (of_schedule, split) = schedule_numbers(tiling, schedule, &case)?;
    let built = LayoutBuilder::new(tiling, schedule.tasks(), &split, LayoutSource::Matrix);
    let mut recorded = RecordedNumbers::new(built);
    CpuLowering::decide(case, of_schedule, &mut recorded);
    let (built, numbers) = recorded.into_parts(matrix.copied());
    let json = serde_json::to_vec(&numbers).map_err(|e| e.to_string())?;
    let attached = || -> Result<Attachment, AttachmentError> {
        let all = Attachment::new(NAME, key(&case))?.with_array(NUMBERS, json)?;
        built.csr_layout.iter().try_fold(all, |all, layout| layout.save(all))
    };
    attached().map(Some).map_err(|e| e.to_string())
}

/// Takes the decisions again by the numbers of an attachment, and its copy of the matrix. O(nnz) in parallel
/// to check the copy; large arrays are shared with the attachment.
///
/// # Errors
/// If the layout is not for these decisions, or is none.
pub(crate) fn load<'a, T: CpuScalar>(
    tiling: &'a Tiling<T>,
    schedule: &Schedule,
    matrix: Option<&Fingerprint>,
    case: Case,
    saved: &'a Attachment,
) -> Result<Parts<'a, T>, LoadError> {
    let json = saved.array::<u8>(NUMBERS);
    let json = json.ok_or_else(|| LoadError::Broken(format!("it has no {NUMBERS}")))?;
    let numbers: SavedNumbers = serde_json::from_slice(json)
        .map_err(|e| LoadError::Broken(format!("its {NUMBERS} are not read: {e}")))?;
    if numbers.matrix.as_ref() != matrix {
        return Err(LoadError::Outdated);
    }
    numbers.check(&case).map_err(LoadError::Broken)?;
    let (of_schedule, split) =
        schedule_numbers(tiling, schedule, &case).map_err(LoadError::Unsupported)?;
    let built = LayoutBuilder::new(tiling, schedule.tasks(), &split, LayoutSource::Saved(saved));
    let mut replayed = ReplayedNumbers::new(built, numbers);
    let lowering = CpuLowering::decide(case, of_schedule, &mut replayed);
    Ok(Parts { lowering, built: replayed.into_built()?, split })
}
