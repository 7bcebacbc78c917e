//! Reading a copy with sorted rows.

use std::ops::Range;

use girih_formats::RowCsr;
use girih_parallel::prelude::*;
use girih_planner::file::Attachment;
use girih_simd::{PREFETCH_AHEAD, Run, lanes};

use super::checks::{UnwrittenRows, are_within, array, must, records};
use super::{COL_IDX, PARTS, ROWS, RUNS, SLICES, VALUES};
use crate::kernels::CpuScalar;
use crate::layout::sorted::{PartRanges, SortedCsr, are_consecutive};
use crate::lowering::{SortConfig, SortCounts};

impl<T: CpuScalar> SortedCsr<T> {
    /// Reads the copy of an attachment and checks all of it, for tasks as [`new`](Self::new) takes them.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub(crate) fn load(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        config: &SortConfig,
        from: &Attachment,
    ) -> Result<(Self, SortCounts), String> {
        let (k, lanes) = (a.csr().ncols(), lanes::<T>());
        let parts = records::<u64, 5>(from, PARTS)?;
        let n_parts = parts.len() / tasks.len().max(1);
        must(n_parts > 0 && n_parts * tasks.len() == parts.len(), "its parts are not the tasks'")?;
        let runs = |name| -> Result<Vec<Run>, String> {
            let runs = records::<u32, 2>(from, name)?;
            Ok(runs.iter().map(|&[len, count]| Run { len, count }).collect())
        };
        let (slices, runs) = (runs(SLICES)?, runs(RUNS)?);
        let rows = array::<u32>(from, ROWS)?;
        let (col_idx, values) = (array::<u32>(from, COL_IDX)?, array::<T::Acc>(from, VALUES)?);
        let n_cols = col_idx.len().checked_sub(PREFETCH_AHEAD).ok_or("it has too few columns")?;
        let lens = [slices.len(), runs.len(), rows.len(), n_cols, values.len()];
        let (mut next, mut read) = ([0; 5], Vec::with_capacity(parts.len()));
        for &part in parts {
            let mut ranges = [0, 1, 2, 3, 4].map(|i| {
                let start = next[i];
                next[i] =
                    usize::try_from(part[i]).map_or(usize::MAX, |len| len.saturating_add(start));
                start..next[i]
            });
            let lie = ranges.iter().zip(lens).all(|(range, len)| range.end <= len);
            must(lie, "its parts leave its arrays")?;
            let [slices, runs, rows, cols, values] = ranges.each_mut().map(std::mem::take);
            read.push(PartRanges { slices, runs, rows, cols, values });
        }
        must(next == lens, "its arrays are longer than its parts say")?;
        must(are_within(col_idx, &(0..k.max(1))), "its columns are not in A")?;
        must(
            a.layout().is_natural() || slices.is_empty(),
            "slices are for rows in their own order",
        )?;
        let is_run = |(slots, parts): (&Range<usize>, &[PartRanges])| {
            !slots.is_empty() || parts.iter().all(|part| part.rows.is_empty())
        };
        must(
            tasks.iter().zip(read.chunks(n_parts)).all(is_run),
            "a task without whole windows has rows",
        )?;
        let unwritten = UnwrittenRows::from_tasks(a, tasks);
        // Rows that a part has in all, and in slices.
        let check = |part: &PartRanges| -> Result<(usize, usize), String> {
            let (slices, runs) = (&slices[part.slices.clone()], &runs[part.runs.clone()]);
            let n_slices: u64 = slices.iter().map(|run| u64::from(run.count)).sum();
            let counted = part.holds(slices, runs, lanes);
            must(counted, "its runs do not have as many rows, columns and values as its parts")?;
            let of_slices: usize =
                slices.iter().map(|run| run.len as usize * run.count as usize).sum();
            let cols = &col_idx[part.cols.clone()][..of_slices];
            must(
                are_within(cols, &(0..(k + 1).saturating_sub(lanes))),
                "columns of slices are not in A",
            )?;
            let (first, rows) = rows[part.rows.clone()].split_at(n_slices as usize);
            let of_slice = |&row: &u32| row..row.saturating_add(lanes as u32);
            let taken = unwritten.take(first.iter().flat_map(of_slice).chain(rows.iter().copied()));
            Ok((taken.ok_or("its parts have a row twice")?, first.len() * lanes))
        };
        let of_parts = read.par_iter().map(check).collect::<Result<Vec<_>, String>>()?;
        let (taken, sliced_rows) =
            of_parts.into_iter().fold((0, 0), |a: (usize, usize), b| (a.0 + b.0, a.1 + b.1));
        must(taken == unwritten.count, "its parts lack rows")?;
        let in_order = read.iter().flat_map(|part| {
            let slices: u64 = slices[part.slices.clone()].iter().map(|r| u64::from(r.count)).sum();
            let len = move |i| if i < slices as usize { lanes as u32 } else { 1 };
            rows[part.rows.clone()].iter().enumerate().flat_map(move |(i, &row)| row..row + len(i))
        });
        let consecutive = are_consecutive(a, in_order);
        let counts = SortCounts { sliced_rows, parts: n_parts, consecutive };
        let sorted = Self {
            consecutive,
            prefetches_b: config.prefetch_b,
            parts: n_parts,
            tasks: read,
            slices,
            runs,
            rows: rows.to_vec(),
            col_idx: col_idx.clone(),
            values: values.clone(),
        };
        Ok((sorted, counts))
    }
}
