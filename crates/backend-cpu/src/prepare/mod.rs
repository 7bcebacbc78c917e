//! What is done once for a plan: its numbers are found, the decisions taken, and what was decided is made.

mod builder;
pub(crate) mod saved;

use girih_formats::Tiling;
use girih_planner::Schedule;

use crate::exec::split::Split;
use crate::isa::KernelScalar;
use crate::lowering::{Case, CpuLowering, Work};
pub(crate) use builder::{Made, Source};

/// What the schedule says of a tiling, and the sums of split windows.
///
/// # Errors
/// If these don't fit in memory.
pub(crate) fn work<T: KernelScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    case: &Case,
) -> Result<(Work, Split<T::Acc>), String> {
    let (tasks, columns) = (schedule.tasks(), schedule.columns());
    // Parts of a window that differ by columns write to their own elements of C: nothing to add up.
    let cut = if columns.is_some() { &[] } else { &tasks[..] };
    let split = Split::new(tiling, cut, case.stored)?;
    let work = Work { tasks: tasks.len(), by_columns: columns.is_some(), split: split.sums() };
    Ok((work, split))
}

/// What [`Prepared::of`](crate::exec::Prepared::of) would decide, without copies of the matrix.
///
/// # Errors
/// As [`Prepared::of`](crate::exec::Prepared::of).
pub(crate) fn lowered<T: KernelScalar>(
    tiling: &Tiling<T>,
    schedule: &Schedule,
    case: Case,
) -> Result<CpuLowering, String> {
    let (work, split) = work(tiling, schedule, &case)?;
    let mut counted = Made::new(tiling, schedule.tasks(), &split, Source::Nowhere);
    Ok(CpuLowering::decide(case, work, &mut counted))
}
