//! What a backend keeps with a plan: arrays that only it understands.

mod data;
mod load;

use girih_formats::Buffer;
use thiserror::Error;

use super::header::AttachmentRows;
use super::section::{Section, SectionKind, SectionRow};

pub use data::{AttachedData, AttachedElement};
pub(super) use load::load_all;

/// The most bytes of the name of a backend or an array.
const MAX_NAME: usize = 64;

/// The most bytes of a key.
const MAX_KEY: usize = 256;

/// The most arrays of an attachment.
const MAX_ARRAYS: usize = 64;

/// The most attachments of a plan.
pub(crate) const MAX_ATTACHMENTS: usize = 16;

/// An attachment that a plan cannot have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttachmentError {
    /// A name is too long, empty or not printable.
    #[error("{what} {found:?} does not have 1 to {limit} printable ASCII characters")]
    Name {
        /// What is named.
        what: &'static str,
        /// The name, or its beginning.
        found: String,
        /// The most characters it may have.
        limit: usize,
    },
    /// Two arrays have one name, or two attachments one backend and key.
    #[error("{what} {found:?} is there twice")]
    Twice {
        /// What is named.
        what: &'static str,
        /// The name.
        found: String,
    },
    /// There are too many of something.
    #[error("there are more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
}

/// A named array of an attachment.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachedArray {
    name: String,
    data: AttachedData,
}

impl AttachedArray {
    /// The name, which no other array of the attachment has.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The elements.
    #[must_use]
    pub fn data(&self) -> &AttachedData {
        &self.data
    }
}

/// Arrays that a backend keeps with a plan, so that the next process need not compute them: a layout
/// made for a machine. Whoever does not know the backend or the key ignores them.
///
/// A plan file holds the arrays as it holds the plan's own: at pages of their own, hashed, borrowed from
/// a mapped file. **Their content is not validated**: a backend that reads an attachment checks
/// everything that it relies on, as if anybody had written it, and that it belongs to its machine.
///
/// ```
/// use girih_formats::{Csr, RowCsr, RowLayout, Tiling};
/// use girih_planner::Plan;
/// use girih_planner::file::Attachment;
///
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0f32, 2.0])?;
/// let mut plan = Plan::from_tiling(Tiling::Csr(RowCsr::try_new(RowLayout::natural(2, 1)?, a)?));
/// let layout = Attachment::new("cpu", "avx2 v1")?
///     .with_array("order", vec![1u32, 0])?
///     .with_array("values", vec![2.0f32, 1.0])?;
/// plan.attach(layout)?;
///
/// let layout = plan.attachment("cpu", "avx2 v1").unwrap();
/// assert_eq!(layout.array::<u32>("order").unwrap()[..], [1, 0]);
/// assert_eq!(layout.array::<u64>("order"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    backend: String,
    key: String,
    arrays: Vec<AttachedArray>,
}

impl Attachment {
    /// An attachment without arrays yet.
    ///
    /// The backend's name has up to 64 bytes, the key up to 256, both of printable ASCII. The key says
    /// what the layout is for: whatever the backend must find unchanged to use it.
    ///
    /// # Errors
    /// [`AttachmentError::Name`] if a name is not one.
    pub fn new(
        backend: impl Into<String>,
        key: impl Into<String>,
    ) -> Result<Self, AttachmentError> {
        let (backend, key) = (backend.into(), key.into());
        check_name("backend", &backend, MAX_NAME)?;
        check_name("key", &key, MAX_KEY)?;
        Ok(Self { backend, key, arrays: Vec::new() })
    }

    /// The same attachment with one more array. Its name has up to 64 bytes of printable ASCII.
    ///
    /// # Errors
    /// If the name is not one, if it is there already, or if there are 64 arrays.
    pub fn with_array(
        mut self,
        name: impl Into<String>,
        data: impl Into<AttachedData>,
    ) -> Result<Self, AttachmentError> {
        let (what, name) = ("array", name.into());
        check_name(what, &name, MAX_NAME)?;
        if self.arrays.iter().any(|array| array.name == name) {
            return Err(AttachmentError::Twice { what, found: name });
        }
        if self.arrays.len() == MAX_ARRAYS {
            let what = "arrays in an attachment";
            return Err(AttachmentError::TooMany { what, limit: MAX_ARRAYS });
        }
        self.arrays.push(AttachedArray { name, data: data.into() });
        Ok(self)
    }

    /// The backend that wrote it.
    #[must_use]
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// What it is for, in the backend's words.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The arrays, in the order in which they were added.
    #[must_use]
    pub fn arrays(&self) -> &[AttachedArray] {
        &self.arrays
    }

    /// The array of a name; `None` if there is none, or its elements are others.
    #[must_use]
    pub fn array<T: AttachedElement>(&self, name: &str) -> Option<&Buffer<T>> {
        T::of(&self.arrays.iter().find(|array| array.name == name)?.data)
    }

    /// Bytes of all arrays.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.arrays.iter().map(|array| array.data.as_bytes().len() as u64).sum()
    }

    /// The arrays as they are written.
    pub(super) fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        self.arrays.iter().map(|AttachedArray { data, .. }| {
            let (kind, element) = (SectionKind::Attached, data.code());
            Section { kind, element, bytes: data.as_bytes() }
        })
    }

    /// What the header says of it; `rows` are those of its arrays.
    pub(super) fn rows(&self, rows: &[SectionRow]) -> AttachmentRows {
        let names = self.arrays.iter().map(|array| array.name.clone());
        AttachmentRows {
            backend: self.backend.clone(),
            key: self.key.clone(),
            arrays: names.zip(rows.iter().copied()).collect(),
        }
    }
}

/// Adds an attachment in the place of one with the same backend and key.
pub(crate) fn insert(
    list: &mut Vec<Attachment>,
    attachment: Attachment,
) -> Result<(), AttachmentError> {
    let same = |a: &&mut Attachment| a.backend == attachment.backend && a.key == attachment.key;
    if let Some(old) = list.iter_mut().find(same) {
        *old = attachment;
        return Ok(());
    }
    if list.len() == MAX_ATTACHMENTS {
        let (what, limit) = ("attachments", MAX_ATTACHMENTS);
        return Err(AttachmentError::TooMany { what, limit });
    }
    list.push(attachment);
    Ok(())
}

fn check_name(what: &'static str, name: &str, limit: usize) -> Result<(), AttachmentError> {
    let printable = name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if printable && (1..=limit).contains(&name.len()) {
        return Ok(());
    }
    let found = name.chars().take(limit).collect();
    Err(AttachmentError::Name { what, found, limit })
}
