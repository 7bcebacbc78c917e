//! Plan files (`.girih`).
//!
//! ```text
//! byte 0      prologue: 64 bytes, little-endian
//!               0   magic        8 bytes  E7 47 52 48 0D 0A 1A 0A
//!               8   major        u16  a reader refuses a version above its own, and reads every
//!              10   minor        u16  minor version of its major up to its own
//!              12   flags        u32  none are defined; a reader refuses what it does not know
//!              16   header offset, header length, file length    3 × u64
//!              40   header hash  u64  xxh3 of the header's bytes
//!              48   reserved     u64  0
//!              56   own hash     u64  xxh3 of bytes 0..56
//! byte 64     header: at most 1 MiB of bincode (fixed-width little-endian integers), in which options
//!             explanation and target are JSON
//! next page   the sections, in the header's order: raw little-endian arrays, each at the first
//!             page boundary (4096 bytes) after the one before; the plan's own, then those of its
//!             attachments
//! ```
//!
//! Everything between header, sections and the end of the last page is zero, and checked to be, so
//! that every byte of a file counts. Big-endian machines are refused at compile time.
//!
//! A file is written under a temporary name in its own directory, synced and renamed, and then the
//! directory is synced: after a crash there is the old file or the new one, and at worst a stray
//! temporary file.
//!
//! A load checks, in this order: the magic; the prologue's hash; the actual length against the
//! declared one; the version; the header's place, hash and encoding; the place and size of every
//! section; the padding; the sections' hashes ([skippable](LoadOptions::check_hashes)); and then
//! every index of every array, which cannot be skipped, because kernels trust them. A truncated,
//! damaged or hostile file gives an error that says what is wrong, and costs no more memory than
//! its own length and a few times that of its header.
//!
//! Every version is still read: its header has a module of its own, whose types follow no public ones.
//! What is likely to grow within a version names its fields: a reader takes defaults for those that are
//! missing.

mod arrays;
mod attachment;
mod error;
mod explanation;
mod header;
mod info;
mod load;
#[expect(
    unsafe_code,
    reason = "a mapped file can change under its reader: the caller must promise"
)]
mod map;
mod options;
mod prologue;
mod section;
mod source;
#[cfg(test)]
mod tests;
mod text;
mod v1;
mod v2;
mod v3;
mod wire;
mod write;

pub(crate) use attachment::insert as insert_attachment;
pub use attachment::{AttachedArray, AttachedData, AttachedElement, Attachment, AttachmentError};
pub use error::PlanFileError;
pub use info::{PlanFileInfo, SectionInfo};
pub use load::LoadOptions;
pub(crate) use section::tile_bytes;
pub(crate) use write::{save, write_to};

#[cfg(target_endian = "big")]
compile_error!("plan files hold little-endian arrays that are borrowed in place");

/// Sections begin at multiples of this, so that a mapped array is aligned for any element type.
const PAGE: u64 = 4096;
