//! The sections of a plan file, as arrays.

use bytemuck::{Pod, cast_slice};
use girih_formats::tilings::{ArrayName, ArraySource};
use girih_formats::{Buffer, E4m3, Scalar};
use xxhash_rust::xxh3::xxh3_64;

use super::PlanFileError;
use super::section::{Element, SectionKind, SectionRow};
use super::source::Source;

/// The sections, as arrays.
pub(super) struct Arrays<'a, S> {
    pub(super) source: &'a S,
    pub(super) rows: &'a [SectionRow],
    pub(super) check_hashes: bool,
}

impl<S: Source> Arrays<'_, S> {
    pub(super) fn has(&self, kind: SectionKind) -> bool {
        self.rows.iter().any(|row| row.kind == kind)
    }

    pub(super) fn get<T: Pod>(
        &self,
        kind: SectionKind,
        element: Element,
    ) -> Result<Buffer<T>, PlanFileError> {
        let bad = |reason: String| PlanFileError::section(&kind, reason);
        let row = self.rows.iter().find(|row| row.kind == kind);
        let row = row.ok_or_else(|| bad("it is missing".to_owned()))?;
        if row.element != element {
            return Err(bad(format!("it holds {} and not {element}", row.element)));
        }
        self.read(&kind.to_string(), row)
    }

    /// An array whose element is known to be `T`.
    pub(super) fn read<T: Pod>(
        &self,
        name: &str,
        row: &SectionRow,
    ) -> Result<Buffer<T>, PlanFileError> {
        let array = self.source.array::<T>(row.offset, row.count)?;
        if self.check_hashes && xxh3_64(cast_slice(&array)) != row.hash {
            return Err(PlanFileError::HashMismatch { what: format!("section {name}") });
        }
        Ok(array)
    }

    pub(super) fn u32s(&self, kind: SectionKind) -> Result<Buffer<u32>, PlanFileError> {
        self.get(kind, Element::U32)
    }

    pub(super) fn u64s(&self, kind: SectionKind) -> Result<Buffer<u64>, PlanFileError> {
        self.get(kind, Element::U64)
    }
}

impl<S: Source> ArraySource for Arrays<'_, S> {
    type Error = PlanFileError;

    fn u16s(&self, name: ArrayName) -> Result<Buffer<u16>, PlanFileError> {
        self.get(name.into(), Element::U16)
    }

    fn u32s(&self, name: ArrayName) -> Result<Buffer<u32>, PlanFileError> {
        self.get(name.into(), Element::U32)
    }

    fn u64s(&self, name: ArrayName) -> Result<Buffer<u64>, PlanFileError> {
        self.get(name.into(), Element::U64)
    }

    fn codes(&self) -> Result<Buffer<E4m3>, PlanFileError> {
        self.get(SectionKind::Codes, Element::E4m3)
    }

    fn scales(&self) -> Result<Buffer<f32>, PlanFileError> {
        self.get(SectionKind::Scales, Element::F32)
    }

    fn values<T: Scalar>(&self) -> Result<Buffer<T>, PlanFileError> {
        self.get(SectionKind::Values, T::DTYPE.into())
    }
}
