//! What can be wrong with a plan file.

use std::io;

use girih_formats::FormatError;
use thiserror::Error;

use super::AttachmentError;
use crate::schedule::ScheduleError;

/// A plan file that cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanFileError {
    /// The operating system refused.
    #[error("cannot {action} {place}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        place: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is larger than the caller allows.
    #[error("the file has {actual} bytes and the limit is {limit}; raise the limit to load it")]
    TooLarge {
        /// The file's length.
        actual: u64,
        /// The caller's limit.
        limit: u64,
    },
    /// The file does not begin as a plan does.
    #[error("not a plan file; `girih plan` makes one from a matrix")]
    NotAPlan,
    /// The file begins as a plan that went through a text-mode transfer.
    #[error("the plan was damaged by a transfer in text mode; transfer it again in binary mode")]
    TextModeDamage,
    /// The file was written by a later version.
    #[error(
        "the plan has format version {}.{} and this reader knows up to {}.{}; update girih or plan again",
        found.0, found.1, supported.0, supported.1
    )]
    TooNew {
        /// Major and minor version of the file.
        found: (u16, u16),
        /// Major and minor version of this reader.
        supported: (u16, u16),
    },
    /// The file needs something this reader does not know.
    #[error("the plan sets unknown flags {found:#x}; update girih or plan again")]
    UnknownFlags {
        /// The flags that are not known.
        found: u32,
    },
    /// The file ends early.
    #[error(
        "the plan is truncated: {actual} of {declared} bytes are there; transfer it again or plan again"
    )]
    Truncated {
        /// The length the file should have (at least, if that itself is cut off).
        declared: u64,
        /// The length it has.
        actual: u64,
    },
    /// More rows than the entries and the file justify.
    #[error(
        "{rows} rows for {entries} entries and {file_len} bytes would take far more memory than the file; if that is meant, set LoadOptions::allow_hypersparse"
    )]
    Hypersparse {
        /// Rows of the matrix.
        rows: u64,
        /// Its entries, as the header declares them.
        entries: u64,
        /// The file's length.
        file_len: u64,
    },
    /// The file goes on after its end.
    #[error(
        "the plan has {declared} bytes but the file has {actual}: something was appended to it"
    )]
    TrailingBytes {
        /// The length the file should have.
        declared: u64,
        /// The length it has.
        actual: u64,
    },
    /// Bytes are not the ones that were written.
    #[error("{what} is damaged: its hash does not match; transfer the file again or plan again")]
    HashMismatch {
        /// Which part: the prologue, the header or a section.
        what: String,
    },
    /// The prologue or the header contradicts itself or this reader.
    #[error("plan header: {reason}")]
    Header {
        /// What is wrong.
        reason: String,
    },
    /// The device that the plan was made for is none.
    #[error("the plan's target is not a machine: {reason}")]
    Target {
        /// What is wrong with it.
        reason: String,
    },
    /// The plan's reasons cannot be read.
    #[error("the plan's explanation cannot be read: {reason}")]
    Explanation {
        /// What is wrong with them.
        reason: String,
    },
    /// An attachment is none.
    #[error("the plan's attachments: {0}")]
    Attachment(#[from] AttachmentError),
    /// A section does not lie or look as it must.
    #[error("plan section {section}: {reason}")]
    Section {
        /// Which array, by name or number.
        section: String,
        /// What is wrong.
        reason: String,
    },
    /// A byte between the parts is not zero.
    #[error("byte {offset} of the plan is padding and not zero: the file is damaged")]
    Padding {
        /// Where.
        offset: u64,
    },
    /// An array that the file really holds does not fit memory.
    #[error("no memory for an array of {bytes} bytes; map the plan instead of reading it")]
    OutOfMemory {
        /// The array's size.
        bytes: u64,
    },
    /// Another process holds the file for a change.
    #[error("another process has {place} locked, to change it; try again, or read the plan")]
    Locked {
        /// The file.
        place: String,
    },
    /// The arrays are not a tiling.
    #[error("the plan's tiles are invalid: {0}")]
    Tiling(#[from] FormatError),
    /// The tasks do not cover the tiling.
    #[error("the plan's {0}")]
    Schedule(#[from] ScheduleError),
}

impl PlanFileError {
    pub(super) fn io(action: &'static str, place: &impl ToString, source: io::Error) -> Self {
        Self::Io { action, place: place.to_string(), source }
    }

    pub(super) fn header(reason: impl Into<String>) -> Self {
        Self::Header { reason: reason.into() }
    }

    pub(super) fn section(section: &impl ToString, reason: impl Into<String>) -> Self {
        Self::Section { section: section.to_string(), reason: reason.into() }
    }
}
