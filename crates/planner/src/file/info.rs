//! What a plan file says of itself.

use super::header::Header;
use super::prologue::Prologue;

/// What a plan file says of itself, beside the plan that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanFileInfo {
    /// Major and minor version of its format.
    pub version: (u16, u16),
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of its header.
    pub header_bytes: u64,
    /// Its arrays, in the order of the file: the plan's own, then those of its attachments.
    pub sections: Vec<SectionInfo>,
}

/// An array of a plan file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SectionInfo {
    /// Its name, as the accessors of the format types are named or as its backend calls it.
    pub name: String,
    /// Which of the plan's [attachments](crate::Plan::attachments) it belongs to; `None` for the plan's
    /// own.
    pub attachment: Option<usize>,
    /// What it is made of: `u32`, `f16`, `task`.
    pub element: &'static str,
    /// Number of elements.
    pub count: u64,
    /// Bytes of all elements.
    pub bytes: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

impl PlanFileInfo {
    pub(super) fn of(prologue: &Prologue, header: &Header) -> Self {
        let own = header.sections.iter().map(|row| (row.kind.to_string(), None, row));
        let attached = header.attachments.iter().enumerate().flat_map(|(i, attachment)| {
            attachment.arrays.iter().map(move |(name, row)| (name.clone(), Some(i), row))
        });
        let section = |(name, attachment, row): (_, _, &super::section::SectionRow)| SectionInfo {
            name,
            attachment,
            element: row.element.name(),
            count: row.count,
            bytes: row.bytes,
            offset: row.offset,
        };
        Self {
            version: prologue.version,
            file_bytes: prologue.file_len,
            header_bytes: prologue.header_len,
            sections: own.chain(attached).map(section).collect(),
        }
    }
}
