//! New values on an old pattern: the map from CSR entries to tile slots.

use std::mem;

use bytemuck::Pod;
use girih_parallel::prelude::*;

use super::shared::fill::{Locate, Sink, StripPlaces, for_each_chunk};
use super::shared::read_back::Rows;
use super::shared::windows::{Pool, occupied, split_at_ends, window_chunks, zeroed};
use super::spec::FormatSpec;
use super::tile_format::{Array, Elements, TileFormat};
use super::tiling::{Tiling, on_format};
use crate::buffer::Buffer;
use crate::csr::{check_len, check_offsets, first_error};
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;

/// For each entry of a CSR matrix, the slot it fills in the value array of one tiling.
///
/// Made by [`Tiling::slot_map`], used by [`Tiling::refresh_values`]. Eight bytes per entry and row.
#[derive(Clone, Debug)]
pub struct SlotMap {
    index: Index,
    row_ptr: Buffer<u64>,
    slots: Buffer<u64>,
}

impl SlotMap {
    /// Takes ownership of a map that was made earlier, say read from a file, and checks that it can
    /// be one of `tiling`: O(nnz), in parallel.
    ///
    /// # Errors
    /// If an array has the wrong length, `row_ptr` is not an offset array, the tiling is
    /// pattern-only, or a slot is not in the window of its row.
    pub fn try_new<T: Scalar>(
        tiling: &Tiling<T>,
        row_ptr: impl Into<Buffer<u64>>,
        slots: impl Into<Buffer<u64>>,
    ) -> Result<Self, FormatError> {
        let (row_ptr, slots) = (row_ptr.into(), slots.into());
        let values = tiling.values().ok_or(FormatError::NoValues)?;
        check_len("slots", slots.len(), tiling.nnz())?;
        check_offsets("row_ptr", &row_ptr, tiling.nrows(), slots.len())?;
        on_format!(tiling, t => check_slots(&t.places(), &row_ptr, &slots, values.len()))?;
        Ok(Self { index: Index::of(tiling), row_ptr, slots })
    }

    /// The slot of every entry, in CSR order.
    #[must_use]
    pub fn slots(&self) -> &Buffer<u64> {
        &self.slots
    }

    /// Offsets of the rows of the CSR matrix in [`slots`](Self::slots).
    #[must_use]
    pub fn row_ptr(&self) -> &Buffer<u64> {
        &self.row_ptr
    }
}

/// What decides where a tiling keeps its entries: all of it but the values. Shares the arrays.
#[derive(Clone, Debug)]
pub(super) struct Index {
    spec: FormatSpec,
    layout: RowLayout,
    ncols: usize,
    arrays: Vec<IndexArray>,
}

#[derive(Clone, Debug)]
enum IndexArray {
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
}

impl Index {
    pub(super) fn of<T: Scalar>(tiling: &Tiling<T>) -> Self {
        let index = |array: Array<'_, T>| match array.elements {
            Elements::U16(array) => Some(IndexArray::U16(array.clone())),
            Elements::U32(array) => Some(IndexArray::U32(array.clone())),
            Elements::U64(array) => Some(IndexArray::U64(array.clone())),
            Elements::Values(_) | Elements::E4m3(_) | Elements::F32(_) => None,
        };
        let (spec, layout, ncols) = (tiling.spec(), tiling.layout().clone(), tiling.ncols());
        Self {
            spec,
            layout,
            ncols,
            arrays: tiling.arrays().into_iter().filter_map(index).collect(),
        }
    }

    /// Equality that costs O(1) where the arrays are shared.
    pub(super) fn same(&self, other: &Self) -> bool {
        let same_slots = match (self.layout.slots(), other.layout.slots()) {
            (Some(a), Some(b)) => same(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        same_slots
            && self.spec == other.spec
            && self.ncols == other.ncols
            && self.layout.nrows() == other.layout.nrows()
            && self.layout.window_rows() == other.layout.window_rows()
            && self.arrays.len() == other.arrays.len()
            && self.arrays.iter().zip(&other.arrays).all(|pair| match pair {
                (IndexArray::U16(a), IndexArray::U16(b)) => same(a, b),
                (IndexArray::U32(a), IndexArray::U32(b)) => same(a, b),
                (IndexArray::U64(a), IndexArray::U64(b)) => same(a, b),
                _ => false,
            })
    }
}

fn same<I: Pod + PartialEq>(a: &Buffer<I>, b: &Buffer<I>) -> bool {
    std::ptr::eq(&a[..], &b[..]) || a == b
}

impl<T: Scalar> Tiling<T> {
    /// Maps each entry of the matrix this tiling was built from to the slot that holds its value.
    ///
    /// O(nnz + slots · k/4 for 2:4, stored elements for dense tiles), in parallel.
    ///
    /// # Errors
    /// [`FormatError::Mismatch`] or [`FormatError::PatternMismatch`] if `pattern` is not the one the
    /// tiling was built from: an entry has no slot, or a nonzero of the tiling is no entry.
    /// [`FormatError::NoValues`] for a pattern-only BMat.
    pub fn slot_map(&self, pattern: CsrPattern<'_>) -> Result<SlotMap, FormatError> {
        T::slot_map(self, pattern)
    }

    /// [`slot_map`](Self::slot_map), [compiled once](crate::compiled).
    pub(crate) fn map_of_slots(&self, pattern: CsrPattern<'_>) -> Result<SlotMap, FormatError> {
        let values = self.values().ok_or(FormatError::NoValues)?;
        for (what, found, expected) in [
            ("nrows", pattern.nrows(), self.nrows()),
            ("ncols", pattern.ncols(), self.ncols()),
            ("nnz", pattern.nnz(), self.nnz()),
        ] {
            check_same(what, found, expected)?;
        }
        let slots = on_format!(self, t => {
            let nonzeros = |slots: &[u64]| {
                slots.iter().filter(|&&slot| !values[slot as usize].is_zero()).count()
            };
            let is_all = |slots: &[u64], slot| nonzeros(slots) == t.count_nonzeros(slot);
            map_slots(&t.places(), pattern, values.len(), &is_all)
        })?;
        let row_ptr = pattern.row_ptr().to_vec().into();
        Ok(SlotMap { index: Index::of(self), row_ptr, slots })
    }

    /// Replaces the values, given in the order of the CSR matrix that `map` was made for.
    ///
    /// One parallel scatter, O(nnz); fill-in and padding stay zero. The value array is copied first
    /// if it is shared with another tiling or mapped from a file.
    ///
    /// # Errors
    /// [`FormatError::Length`] if there are not as many values as entries, and
    /// [`FormatError::OtherTiling`] if `map` is of another tiling; the tiling is then as it was.
    pub fn refresh_values(&mut self, map: &SlotMap, values: &[T]) -> Result<(), FormatError> {
        T::refresh_values(self, map, values)
    }

    /// [`refresh_values`](Self::refresh_values), [compiled once](crate::compiled).
    pub(crate) fn scatter_values(
        &mut self,
        map: &SlotMap,
        values: &[T],
    ) -> Result<(), FormatError> {
        check_len("values", values.len(), map.slots.len())?;
        if !map.index.same(&Index::of(self)) {
            return Err(FormatError::OtherTiling);
        }
        let Some(buffer) = self.values_mut() else { return Err(FormatError::NoValues) };
        let mut taken = mem::take(buffer);
        on_format!(&*self, t => {
            let places = t.places();
            let (layout, n_strips) = (places.layout(), places.n_strips());
            let strip_ptr = &|w| places.strip_ptr(w);
            scatter(StripPlaces { layout, n_strips, strip_ptr }, map, values, taken.make_mut());
        });
        if let Some(buffer) = self.values_mut() {
            *buffer = taken;
        }
        Ok(())
    }
}

fn check_same(what: &'static str, found: usize, expected: usize) -> Result<(), FormatError> {
    if found == expected {
        return Ok(());
    }
    Err(FormatError::Mismatch { what, found: found as u64, expected: expected as u64 })
}

/// Notes the slots of one row, which live `offset` past their places in the strip.
struct Record<'a> {
    slots: &'a mut [u64],
    offset: usize,
}

impl Sink for Record<'_> {
    #[inline(always)]
    fn put(&mut self, i: usize, place: usize) {
        self.slots[i] = (self.offset + place) as u64;
    }
}

/// The slot of every entry of `pattern`, in a tiling of `stored` values. `is_all` says of the slots of a row's entries,
/// and the row's slot in the layout, whether they hold all that is not zero there.
fn map_slots<L: Locate>(
    locator: &L,
    pattern: CsrPattern<'_>,
    stored: usize,
    is_all: &(dyn Fn(&[u64], usize) -> bool + Sync),
) -> Result<Buffer<u64>, FormatError> {
    let layout = locator.layout();
    let strip_len = stored / locator.n_strips();
    let mut slots: Buffer<u64> = zeroed(&[pattern.nnz()])?;
    let mut rows =
        split_at_ends(slots.make_mut(), pattern.row_ptr()[1..].iter().map(|&p| p as usize));
    let chunks = window_chunks(layout, pattern.row_ptr(), usize::MAX);
    // Rows as the windows hold them: each chunk takes the slices it will write.
    let parts: Vec<Vec<&mut [u64]>> = chunks
        .iter()
        .map(|windows| {
            let rows_of = |w| occupied(layout, w).map(|(_, row)| row);
            windows.clone().flat_map(rows_of).map(|row| mem::take(&mut rows[row])).collect()
        })
        .collect();
    let pool = Pool::new();
    let map_chunk = |windows: std::ops::Range<usize>, part: Vec<&mut [u64]>| {
        pool.with(
            || locator.scratch(),
            |scratch| {
                let mut part = part.into_iter();
                for w in windows {
                    locator.load(scratch, w);
                    for ((r, row), slots) in occupied(layout, w).zip(&mut part) {
                        let cols = pattern.row(row);
                        if !locator.holds(scratch, w, r, cols) {
                            return Err(FormatError::PatternMismatch { row });
                        }
                        let offset = strip_offset(locator.n_strips(), r, strip_len);
                        locator.locate(scratch, w, r, cols, &mut Record { slots, offset });
                        if !is_all(slots, w * layout.window_rows() + r) {
                            return Err(FormatError::PatternMismatch { row });
                        }
                    }
                }
                Ok(())
            },
        )
    };
    let outcomes: Vec<Result<(), FormatError>> = chunks
        .into_par_iter()
        .with_max_len(1)
        .zip(parts)
        .map(|(windows, part)| map_chunk(windows, part))
        .collect();
    // The first in window order, whatever the chunks.
    outcomes.into_iter().collect::<Result<(), FormatError>>()?;
    Ok(slots)
}

fn check_slots<L: Locate>(
    locator: &L,
    row_ptr: &[u64],
    slots: &[u64],
    stored: usize,
) -> Result<(), FormatError> {
    let layout = locator.layout();
    let strip_len = stored / locator.n_strips();
    first_error((0..layout.n_windows()).into_par_iter(), |w| {
        for (r, row) in occupied(layout, w) {
            let offset = strip_offset(locator.n_strips(), r, strip_len);
            let window =
                (offset + locator.strip_ptr(w)) as u64..(offset + locator.strip_ptr(w + 1)) as u64;
            let entries = row_ptr[row] as usize..row_ptr[row + 1] as usize;
            if !slots[entries].iter().all(|slot| window.contains(slot)) {
                return Err(FormatError::PatternMismatch { row });
            }
        }
        Ok(())
    })
}

/// Where the strip of a window's row `r` begins in the value array.
#[inline(always)]
fn strip_offset(n_strips: usize, r: usize, strip_len: usize) -> usize {
    if n_strips == 1 { 0 } else { r * strip_len }
}

fn scatter<T: Scalar>(places: StripPlaces<'_>, map: &SlotMap, from: &[T], values: &mut [T]) {
    let StripPlaces { layout, n_strips, .. } = places;
    let strip_len = values.len() / n_strips;
    for_each_chunk(places, &map.row_ptr, values, &|windows, mut strips| {
        if layout.is_natural() && n_strips == 1 {
            // The entries of these windows stand one after the other.
            let row = |w: usize| (w * layout.window_rows()).min(layout.nrows());
            let [first, end] = [windows.start, windows.end].map(|w| map.row_ptr[row(w)] as usize);
            let (strip, strip_start) = strips.of_row(0);
            for (&slot, &value) in map.slots[first..end].iter().zip(&from[first..end]) {
                strip[slot as usize - strip_start] = value;
            }
            return;
        }
        for w in windows {
            for (r, row) in occupied(layout, w) {
                let entries = map.row_ptr[row] as usize..map.row_ptr[row + 1] as usize;
                let (strip, strip_start) = strips.of_row(r);
                let offset = strip_offset(n_strips, r, strip_len);
                for (&slot, &value) in map.slots[entries.clone()].iter().zip(&from[entries]) {
                    strip[slot as usize - offset - strip_start] = value;
                }
            }
        }
    });
}
