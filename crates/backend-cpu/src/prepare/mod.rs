//! What is done once for a plan: count numbers, take decisions, make what was decided.
//!
//! [`build`] does all three, [`lower`] the first two without copies. [`saved`] keeps numbers and copies in a
//! plan and takes them from there.

mod builder;
pub(crate) mod saved;

use girih_formats::{Scalar, Tiling};
use girih_planner::Schedule;

use crate::exec::split::SplitWindows;
use crate::kernels::CpuScalar;
use crate::lowering::{Case, CpuLowering, ScheduleNumbers};
pub(crate) use builder::{LayoutBuilder, LayoutSource};

/// Decisions, what was made by them, and scratch for the sums of split windows.
pub(crate) struct Parts<'a, T: CpuScalar> {
    pub(crate) lowering: CpuLowering,
    pub(crate) built: LayoutBuilder<'a, T>,
    pub(crate) split: SplitWindows<<T as Scalar>::Acc>,
}

/// Counts, decides and makes. The schedule must be valid for the tiling.
///
/// # Errors
/// If the sums of split windows don't fit in memory.
pub(crate) fn build<'a, T: CpuScalar>(
    tiling: &'a Tiling<T>,
    schedule: &Schedule,
    case: Case,
    source: LayoutSource<'a>,
) -> Result<Parts<'a, T>, String> {
    let (numbers, split) = schedule_numbers(tiling, schedule, &case)?;
    let mut built = LayoutBuilder::new(tiling, schedule.tasks(), &split, source);
    let lowering = CpuLowering::decide(case, numbers, &mut built);
    Ok(Parts { lowering, built, split })
}

/// Decides as [`build`] does, without copies of the matrix.
///
/// # Errors
/// As [`build`].
pub(crate) fn lower<T: CpuScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    case: Case,
) -> Result<CpuLowering, String> {
    Ok(build(tiling, schedule, case, LayoutSource::CountOnly)?.lowering)
}

/// Numbers of the schedule, and scratch for the sums of the windows that it splits.
///
/// # Errors
/// If these don't fit in memory.
fn schedule_numbers<T: CpuScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    case: &Case,
) -> Result<(ScheduleNumbers, SplitWindows<T::Acc>), String> {
    let (tasks, columns) = (schedule.tasks(), schedule.columns());
    // Parts of a window that differ by columns write to their own elements of C: nothing to add up.
    let split_tasks = if columns.is_some() { &[] } else { &tasks[..] };
    let split = SplitWindows::new(tiling, split_tasks, case.stored)?;
    let by_columns = columns.is_some();
    let numbers = ScheduleNumbers { tasks: tasks.len(), by_columns, split: split.sums() };
    Ok((numbers, split))
}
