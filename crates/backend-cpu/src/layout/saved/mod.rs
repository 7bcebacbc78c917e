//! Copies of CSR as arrays that a plan keeps, and back. Kernels rest on them, so all of them are checked.

use std::ops::Range;

use girih_formats::{Buffer, PAD_ROW, RowCsr, Scalar};
use girih_planner::{AttachedElement, Attachment, AttachmentError};
use rayon::prelude::*;

use crate::isa::KernelScalar;
use crate::kernels::ahead::AHEAD;
use crate::kernels::patterns::{PATTERNS, TILE_ROWS, Tile};
use crate::kernels::sorted::Run;
use crate::layout::fill::Slab;
use crate::layout::order::lanes;
use crate::layout::sorted::{Ranges, Sorted, follow};
use crate::layout::tiles::Patterns;
use crate::layout::{Relaid, row_of};
use crate::lowering::{Sorting, SortingMade, Tiles};

const COL_IDX: &str = "col_idx";
const VALUES: &str = "values";
/// Of each slab of each task: its tiles, and where its columns and values begin and end.
const SLABS: &str = "slabs";
/// Of each tile: its rows, and how many columns each pattern has.
const TILES: &str = "tiles";
/// Of each part of each task: its runs of slices, runs of rows, rows, columns and values.
const PARTS: &str = "parts";
/// Lengths and counts.
const SLICES: &str = "slices";
const RUNS: &str = "runs";
const ROWS: &str = "rows";

/// Columns that are checked at a time.
const CHUNK: usize = 1 << 16;

impl<T: KernelScalar> Relaid<T> {
    /// The attachment with the arrays of this copy, the large ones shared.
    ///
    /// # Errors
    /// If a plan can't have them.
    pub(crate) fn save(&self, to: Attachment) -> Result<Attachment, AttachmentError> {
        let values = |values: &Buffer<T::Acc>| T::Acc::data(values.clone());
        match self {
            Self::Patterns(patterns) => {
                let slabs = || patterns.tasks.iter().flatten();
                let of_slab = |Slab { tiles, cols, values }: &Slab| {
                    [tiles.len(), cols.start, cols.end, values.start, values.end]
                };
                let numbers: Vec<u64> = slabs().flat_map(of_slab).map(|n| n as u64).collect();
                let tiles = slabs().flat_map(|slab| &slab.tiles);
                let tiles = tiles.flat_map(|tile| tile.rows.into_iter().chain(tile.counts));
                to.with_array(SLABS, numbers)?
                    .with_array(TILES, tiles.collect::<Vec<u32>>())?
                    .with_array(COL_IDX, patterns.col_idx.clone())?
                    .with_array(VALUES, values(&patterns.values))
            }
            Self::Sorted(sorted) => {
                let of_part = |Ranges { slices, runs, rows, cols, values }: &Ranges| {
                    [slices, runs, rows, cols, values].map(|range| range.len() as u64)
                };
                let parts: Vec<u64> = sorted.tasks.iter().flat_map(of_part).collect();
                let runs = |runs: &[Run]| -> Vec<u32> {
                    runs.iter().flat_map(|run| [run.len, run.count]).collect()
                };
                to.with_array(PARTS, parts)?
                    .with_array(SLICES, runs(&sorted.slices))?
                    .with_array(RUNS, runs(&sorted.runs))?
                    .with_array(ROWS, sorted.rows.clone())?
                    .with_array(COL_IDX, sorted.col_idx.clone())?
                    .with_array(VALUES, values(&sorted.values))
            }
        }
    }
}

/// An array of an attachment.
fn array<'a, E: AttachedElement>(
    from: &'a Attachment,
    name: &str,
) -> Result<&'a Buffer<E>, String> {
    from.array(name).ok_or_else(|| format!("it has no {name}"))
}

/// An array of records of so many numbers each.
fn records<'a, E: AttachedElement, const N: usize>(
    from: &'a Attachment,
    name: &str,
) -> Result<&'a [[E; N]], String> {
    match array::<E>(from, name)?.as_chunks() {
        (records, []) => Ok(records),
        _ => Err(format!("the last of its {name} is not whole")),
    }
}

/// What must hold of a kept copy, or what does not.
fn must(holds: bool, what: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| what.to_owned())
}

/// Rows of C that tasks of whole windows store and that no tile had yet: every one is stored once, so that no two
/// threads write to one.
struct RowsLeft {
    bits: Vec<u64>,
    count: usize,
}

impl RowsLeft {
    /// The rows of tasks, each a range of slots: O(m).
    fn of<T: Scalar>(a: &RowCsr<T>, tasks: &[Range<usize>]) -> Self {
        let mut left = Self { bits: vec![0; a.layout().nrows().div_ceil(64)], count: 0 };
        for slot in tasks.iter().flat_map(Clone::clone) {
            let row = row_of(a, slot);
            if row != PAD_ROW {
                left.bits[row as usize / 64] |= 1 << (row % 64);
                left.count += 1;
            }
        }
        left
    }

    /// Whether the row was left.
    fn take(&mut self, row: u32) -> bool {
        let Some(bits) = self.bits.get_mut(row as usize / 64) else { return false };
        let bit = 1 << (row % 64);
        let was_left = *bits & bit != 0;
        *bits &= !bit;
        self.count -= usize::from(was_left);
        was_left
    }
}

/// Whether all columns lie in a range: O(nnz) in parallel.
fn are_within(cols: &[u32], range: &Range<usize>) -> bool {
    let of_chunk = |cols: &[u32]| {
        let (least, most) =
            cols.iter().fold((u32::MAX, 0), |(least, most), &col| (least.min(col), most.max(col)));
        cols.is_empty() || least as usize >= range.start && (most as usize) < range.end
    };
    cols.par_chunks(CHUNK).all(of_chunk)
}

impl<T: KernelScalar> Patterns<T> {
    /// The copy of an attachment, for tasks as [`new`](Self::new) takes them.
    ///
    /// # Errors
    /// What of it can't be.
    pub(crate) fn load(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        how: &Tiles,
        from: &Attachment,
    ) -> Result<Self, String> {
        let k = a.csr().ncols();
        let slab_cols = how.slab_cols.unwrap_or(usize::MAX);
        let n_slabs = k.div_ceil(slab_cols).max(1);
        let slabs = records::<u64, 5>(from, SLABS)?;
        must(slabs.len() == tasks.len() * n_slabs, "its slabs are not those of the tasks")?;
        let flat = records::<u32, { TILE_ROWS + PATTERNS }>(from, TILES)?;
        let mut tiles = flat.iter().map(|tile| {
            let (rows, counts) = tile.split_at(TILE_ROWS);
            let mut tile = Tile { rows: [0; TILE_ROWS], counts: [0; PATTERNS] };
            tile.rows.copy_from_slice(rows);
            tile.counts.copy_from_slice(counts);
            tile
        });
        let (col_idx, values) = (array::<u32>(from, COL_IDX)?, array::<T::Acc>(from, VALUES)?);
        let n_cols = a.csr().nnz();
        let as_new = col_idx.len() == n_cols + AHEAD && values.len() == n_cols;
        must(as_new, "its columns and values are not as many as A's")?;
        must(are_within(&col_idx[n_cols..], &(0..k.max(1))), "its last columns are not in A")?;
        let mut read = Vec::with_capacity(tasks.len());
        for of_task in slabs.chunks(n_slabs) {
            let slab = |&[n_tiles, c0, c1, v0, v1]: &[u64; 5]| {
                let [n_tiles, c0, c1, v0, v1] = [n_tiles, c0, c1, v0, v1].map(|n| n as usize);
                let lies = c0 <= c1 && c1 <= n_cols && v0 <= v1 && v1 <= values.len();
                must(lies, "its slabs leave its arrays")?;
                must(n_tiles <= tiles.len(), "it has fewer tiles than its slabs say")?;
                Ok(Slab {
                    tiles: tiles.by_ref().take(n_tiles).collect(),
                    cols: c0..c1,
                    values: v0..v1,
                })
            };
            read.push(of_task.iter().map(slab).collect::<Result<Vec<_>, String>>()?);
        }
        must(tiles.next().is_none(), "it has more tiles than its slabs say")?;
        let mut left = RowsLeft::of(a, tasks);
        let first = read.iter().flat_map(|slabs| &slabs[0].tiles);
        let once = first.flat_map(|tile| tile.rows).all(|row| row == PAD_ROW || left.take(row));
        must(once && left.count == 0, "its tiles do not have each row once")?;
        read.par_iter().try_for_each(|slabs| {
            slabs.iter().enumerate().try_for_each(|(s, slab)| {
                let cols = s * slab_cols..k.min(slab_cols.saturating_mul(s + 1));
                check_slab(slab, &slabs[0], &col_idx[slab.cols.clone()], &cols)
            })
        })?;
        let (col_idx, values) = (col_idx.clone(), values.clone());
        Ok(Self { ahead: false, slab_cols: how.slab_cols, tasks: read, col_idx, values })
    }
}

/// Checks a slab of a task: its columns, which lie in `cols`, and that its tiles are some of the first slab's.
fn check_slab(
    slab: &Slab,
    first: &Slab,
    col_idx: &[u32],
    cols: &Range<usize>,
) -> Result<(), String> {
    let (mut n_cols, mut n_values) = (0, 0);
    let mut others = first.tiles.iter();
    for Tile { rows, counts } in &slab.tiles {
        must(others.any(|other| other.rows == *rows), "a slab has other tiles than the first")?;
        for (pattern, &count) in (1u32..).zip(counts) {
            n_cols += u64::from(count);
            n_values += u64::from(count) * u64::from(pattern.count_ones());
        }
    }
    let counted = n_cols == slab.cols.len() as u64 && n_values == slab.values.len() as u64;
    must(counted, "its tiles do not have as many columns and values as its slabs")?;
    must(are_within(col_idx, cols), "a slab's columns lie in another")
}

impl<T: KernelScalar> Sorted<T> {
    /// The copy of an attachment, for tasks as [`new`](Self::new) takes them.
    ///
    /// # Errors
    /// What of it can't be.
    pub(crate) fn load(
        a: &RowCsr<T>,
        tasks: &[Range<usize>],
        how: &Sorting,
        from: &Attachment,
    ) -> Result<(Self, SortingMade), String> {
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
        let n_cols = col_idx.len().checked_sub(AHEAD).ok_or("it has too few columns")?;
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
            read.push(Ranges { slices, runs, rows, cols, values });
        }
        must(next == lens, "its arrays are longer than its parts say")?;
        must(are_within(col_idx, &(0..k.max(1))), "its columns are not in A")?;
        must(
            a.layout().is_natural() || slices.is_empty(),
            "slices are for rows in their own order",
        )?;
        let mut left = RowsLeft::of(a, tasks);
        let mut sliced_rows = 0;
        for part in &read {
            let (slices, runs) = (&slices[part.slices.clone()], &runs[part.runs.clone()]);
            let n_slices: u64 = slices.iter().map(|run| u64::from(run.count)).sum();
            let single: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
            let entries = |runs: &[Run]| -> u128 {
                runs.iter().map(|run| u128::from(run.len) * u128::from(run.count)).sum()
            };
            let (of_slices, of_rows) = (entries(slices), entries(runs));
            let counted = n_slices + single == part.rows.len() as u64
                && of_slices + of_rows == part.cols.len() as u128
                && of_slices * lanes as u128 + of_rows == part.values.len() as u128;
            must(counted, "its runs do not have as many rows, columns and values as its parts")?;
            let cols = &col_idx[part.cols.clone()][..of_slices as usize];
            must(
                are_within(cols, &(0..(k + 1).saturating_sub(lanes))),
                "columns of slices are not in A",
            )?;
            let (first, rows) = rows[part.rows.clone()].split_at(n_slices as usize);
            let of_slice = |&row: &u32| row..row.saturating_add(lanes as u32);
            let once = first.iter().flat_map(of_slice).chain(rows.iter().copied());
            let once = once.fold(true, |once, row| once & left.take(row));
            must(once, "its parts have a row twice")?;
            sliced_rows += first.len() * lanes;
        }
        must(left.count == 0, "its parts lack rows")?;
        let in_order = read.iter().flat_map(|part| {
            let slices: u64 = slices[part.slices.clone()].iter().map(|r| u64::from(r.count)).sum();
            let len = move |i| if i < slices as usize { lanes as u32 } else { 1 };
            rows[part.rows.clone()].iter().enumerate().flat_map(move |(i, &row)| row..row + len(i))
        });
        let consecutive = follow(a, in_order);
        let made = SortingMade { sliced_rows, parts: n_parts, consecutive };
        let sorted = Self {
            consecutive,
            ahead: how.prefetch_b,
            parts: n_parts,
            tasks: read,
            slices,
            runs,
            rows: rows.to_vec(),
            col_idx: col_idx.clone(),
            values: values.clone(),
        };
        Ok((sorted, made))
    }
}
