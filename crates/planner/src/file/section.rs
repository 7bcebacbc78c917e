//! The arrays of a plan, by name.

use std::fmt::{self, Display};

use bytemuck::{Pod, cast_slice};
use girih_formats::tilings::{Array, ArrayName, Elements};
use girih_formats::{DType, FormatKind, Scalar, for_any_tiling};
use serde::{Deserialize, Serialize};

use super::{PAGE, PlanFileError};
use crate::ordering::Placement;
use crate::plan::Plan;

/// Which array a section holds: named as the accessors of the format types are.
///
/// Plan files hold the position in this list: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum SectionKind {
    RowSlots,
    RowPtr,
    ColIdx,
    BlockRowPtr,
    BlockColIdx,
    WindowPtr,
    WindowColIdx,
    EllColIdx,
    TileColIdx,
    TileBits,
    TileValuePtr,
    Metadata,
    Values,
    Tasks,
    SlotRowPtr,
    Slots,
    TaskCols,
    PartitionPtr,
    NewRows,
    NewCols,
    /// An array of an attachment: there may be several.
    Attached,
    /// Values in e4m3.
    Codes,
    /// What values in e4m3 are multiplied by.
    Scales,
}

impl Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RowSlots => "row_slots",
            Self::RowPtr => "row_ptr",
            Self::ColIdx => "col_idx",
            Self::BlockRowPtr => "block_row_ptr",
            Self::BlockColIdx => "block_col_idx",
            Self::WindowPtr => "window_ptr",
            Self::WindowColIdx => "window_col_idx",
            Self::EllColIdx => "ell_col_idx",
            Self::TileColIdx => "tile_col_idx",
            Self::TileBits => "tile_bits",
            Self::TileValuePtr => "tile_value_ptr",
            Self::Metadata => "metadata",
            Self::Values => "values",
            Self::Tasks => "tasks",
            Self::SlotRowPtr => "slot_row_ptr",
            Self::Slots => "slots",
            Self::TaskCols => "task_cols",
            Self::PartitionPtr => "partition_ptr",
            Self::NewRows => "new_rows",
            Self::NewCols => "new_cols",
            Self::Attached => "attached",
            Self::Codes => "codes",
            Self::Scales => "scales",
        })
    }
}

/// What an array is made of. Plan files hold the position in this list: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Element {
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
    /// Four u64: first window, one past the last, first tile, one past the last.
    Task,
    /// Two u32: first column of C, one past the last.
    ColRange,
    U8,
    /// Two f32: real and imaginary part.
    C32,
    /// Two f64: real and imaginary part.
    C64,
    /// An 8-bit float with four bits of exponent.
    E4m3,
}

impl Element {
    /// Bytes of one.
    pub(super) const fn size(self) -> u64 {
        match self {
            Self::U8 | Self::E4m3 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::F32 => 4,
            Self::U64 | Self::F64 | Self::ColRange | Self::C32 => 8,
            Self::C64 => 16,
            Self::Task => 32,
        }
    }
}

impl From<DType> for Element {
    fn from(dtype: DType) -> Self {
        match dtype {
            DType::F16 => Self::F16,
            DType::Bf16 => Self::Bf16,
            DType::F32 => Self::F32,
            DType::F64 => Self::F64,
            DType::C32 => Self::C32,
            DType::C64 => Self::C64,
        }
    }
}

impl Element {
    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C32 => "c32",
            Self::C64 => "c64",
            Self::E4m3 => "e4m3",
            Self::Task => "task",
            Self::ColRange => "col_range",
        }
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where an array lies and what it must be: a row of the header's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SectionRow {
    pub(super) kind: SectionKind,
    pub(super) element: Element,
    pub(super) offset: u64,
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) hash: u64,
}

/// An array to be written.
pub(super) struct Section<'a> {
    pub(super) kind: SectionKind,
    pub(super) element: Element,
    pub(super) bytes: &'a [u8],
}

impl<'a> Section<'a> {
    fn new<T: Pod>(kind: SectionKind, element: Element, array: &'a [T]) -> Self {
        debug_assert_eq!(element.size(), size_of::<T>() as u64);
        Self { kind, element, bytes: cast_slice(array) }
    }
}

/// The arrays of a plan, in file order.
pub(super) fn sections(plan: &Plan) -> Vec<Section<'_>> {
    let mut list = Vec::new();
    if let Some(slots) = plan.tiling.layout().slots() {
        list.push(Section::new(SectionKind::RowSlots, Element::U32, slots.as_slice()));
    }
    for_any_tiling!(&plan.tiling, t => list.extend(t.arrays().into_iter().map(Section::from)));
    list.push(Section::new(SectionKind::Tasks, Element::Task, plan.schedule.tasks().as_slice()));
    if let Some(columns) = plan.schedule.columns() {
        let (ranges, partitions) = (columns.ranges.as_slice(), columns.partition_ptr.as_slice());
        list.push(Section::new(SectionKind::TaskCols, Element::ColRange, ranges));
        list.push(Section::new(SectionKind::PartitionPtr, Element::U64, partitions));
    }
    if let Some(map) = &plan.slot_map {
        list.push(Section::new(SectionKind::SlotRowPtr, Element::U64, map.row_ptr().as_slice()));
        list.push(Section::new(SectionKind::Slots, Element::U64, map.slots().as_slice()));
    }
    let Placement { rows, cols } = &plan.placement;
    for (kind, order) in [(SectionKind::NewRows, rows), (SectionKind::NewCols, cols)] {
        list.extend(order.iter().map(|p| Section::new(kind, Element::U32, p.as_slice())));
    }
    list
}

/// Bytes of the arrays that hold the matrix.
pub(crate) fn tile_bytes(plan: &Plan) -> u64 {
    use SectionKind as Kind;
    let others = [
        Kind::Tasks,
        Kind::TaskCols,
        Kind::PartitionPtr,
        Kind::SlotRowPtr,
        Kind::Slots,
        Kind::NewRows,
        Kind::NewCols,
    ];
    let tiles = sections(plan).into_iter().filter(|s| !others.contains(&s.kind));
    tiles.map(|s| s.bytes.len() as u64).sum()
}

impl From<ArrayName> for SectionKind {
    fn from(name: ArrayName) -> Self {
        match name {
            ArrayName::RowPtr => Self::RowPtr,
            ArrayName::ColIdx => Self::ColIdx,
            ArrayName::BlockRowPtr => Self::BlockRowPtr,
            ArrayName::BlockColIdx => Self::BlockColIdx,
            ArrayName::WindowPtr => Self::WindowPtr,
            ArrayName::WindowColIdx => Self::WindowColIdx,
            ArrayName::EllColIdx => Self::EllColIdx,
            ArrayName::TileColIdx => Self::TileColIdx,
            ArrayName::TileBits => Self::TileBits,
            ArrayName::TileValuePtr => Self::TileValuePtr,
            ArrayName::Metadata => Self::Metadata,
            ArrayName::Values => Self::Values,
            ArrayName::Codes => Self::Codes,
            ArrayName::Scales => Self::Scales,
        }
    }
}

impl<'a, T: Scalar> From<Array<'a, T>> for Section<'a> {
    fn from(array: Array<'a, T>) -> Self {
        let kind = array.name.into();
        match array.elements {
            Elements::U16(array) => Self::new(kind, Element::U16, array.as_slice()),
            Elements::U32(array) => Self::new(kind, Element::U32, array.as_slice()),
            Elements::U64(array) => Self::new(kind, Element::U64, array.as_slice()),
            Elements::Values(array) => Self::new(kind, T::DTYPE.into(), array.as_slice()),
            Elements::E4m3(array) => Self::new(kind, Element::E4m3, array.as_slice()),
            Elements::F32(array) => Self::new(kind, Element::F32, array.as_slice()),
        }
    }
}

/// Checks that the table describes the rest of the file completely: every array on the page after
/// the one before, the last one ending on the last page, none of the plan's own twice.
pub(super) fn check_rows(
    rows: &[(String, SectionRow)],
    header_end: u64,
    file_len: u64,
    format: FormatKind,
) -> Result<(), PlanFileError> {
    let mut end = header_end;
    for (i, (name, row)) in rows.iter().enumerate() {
        let bad = |reason: String| Err(PlanFileError::section(name, reason));
        if row.count.checked_mul(row.element.size()) != Some(row.bytes) {
            return bad(format!(
                "{} elements of {} are not {} bytes",
                row.count, row.element, row.bytes
            ));
        }
        if row.offset % PAGE != 0 {
            return bad(format!("offset {} is not page-aligned", row.offset));
        }
        if row.offset < end {
            return bad(format!("offset {} overlaps what ends at {end}", row.offset));
        }
        if row.offset - end >= PAGE {
            return bad(format!("bytes {end}..{} before it belong to nothing", row.offset));
        }
        end = match row.offset.checked_add(row.bytes) {
            Some(end) if end <= file_len => end,
            _ => return bad(format!("{} bytes at {} leave the file", row.bytes, row.offset)),
        };
        let is_own = row.kind != SectionKind::Attached;
        if is_own && rows[..i].iter().any(|(_, r)| r.kind == row.kind) {
            return bad(format!("it stands twice in a {format} plan"));
        }
    }
    if end.checked_next_multiple_of(PAGE) != Some(file_len) {
        return Err(PlanFileError::header(format!(
            "the sections end at {end} and the file at {file_len}, not on the same page"
        )));
    }
    Ok(())
}
