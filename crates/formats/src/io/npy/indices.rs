//! Lists of indices: orders of rows and columns.

use std::io::{BufWriter, Write};

use super::Origin;
use super::elements::NpyArray;
use super::write::write_vector;
use crate::io::source::Opened;
use crate::io::{ReadError, Source, WriteError};

/// Reads a one-dimensional array of integers of any width, all of them indices below `limit`.
///
/// O(length). Memory is taken as data arrives.
///
/// # Errors
/// [`ReadError`] if the source cannot be read, is not a `.npy` file, holds another type or number of
/// dimensions, or an integer that is no index below `limit`.
///
/// ```
/// use girih_formats::io::{Source, npy};
///
/// let mut bytes = Vec::new();
/// npy::write_indices(&mut bytes, &[2, 0, 1])?;
/// assert_eq!(npy::read_indices(Source::reader(&bytes[..]), 3)?, [2, 0, 1]);
/// assert!(npy::read_indices(Source::reader(&bytes[..]), 2).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_indices<'a>(source: impl Into<Source<'a>>, limit: u32) -> Result<Vec<u32>, ReadError> {
    let bytes = Opened::open(source.into(), None)?.bytes;
    let array = NpyArray::open(Origin::File, bytes.into_reader()?)?;
    let len = array.len()?;
    match limit.checked_sub(1) {
        Some(last) => array.integers(last.into()),
        None if len == 0 => Ok(Vec::new()),
        None => {
            Err(array
                .fault(format!("it has {len} elements, but must be empty: no index is below 0")))
        }
    }
}

/// Writes indices as numpy's own, `int64`: `a[order]` in numpy takes them as they are. O(length).
///
/// # Errors
/// If `to` refuses.
pub fn write_indices(to: impl Write, indices: &[u32]) -> Result<(), WriteError> {
    let mut to = BufWriter::with_capacity(1 << 16, to);
    write_vector(&mut to, "<i8", indices, |&i| i64::from(i).to_le_bytes())?;
    Ok(to.flush()?)
}
