//! Arrays as numpy writes them: version 1.0, little-endian, C order.

use std::io::{self, BufWriter, Write};

use ndarray::ArrayView2;

use super::header::MAGIC;
use crate::io::WriteError;
use crate::{DType, Scalar};

/// Elements converted at a time.
const PIECE: usize = 1 << 13;

/// Writes a dense matrix as `.npy`: version 1.0, little-endian, row-major whatever the order of
/// `array`. O(rows · columns).
///
/// # Errors
/// [`WriteError::NoSuchType`] for bf16, which numpy lacks; or if `to` refuses.
pub fn write_dense<T: Scalar>(to: impl Write, array: &ArrayView2<'_, T>) -> Result<(), WriteError> {
    if T::DTYPE == DType::Bf16 {
        return Err(WriteError::NoSuchType { format: "numpy", dtype: T::DTYPE });
    }
    let (rows, cols) = array.dim();
    let mut to = BufWriter::with_capacity(1 << 16, to);
    write_header(&mut to, &format!("<f{}", size_of::<T>()), &format!("({rows}, {cols})"))?;
    for row in array.rows() {
        match row.as_slice() {
            Some(row) if cfg!(target_endian = "little") => {
                to.write_all(bytemuck::cast_slice(row))?;
            }
            _ => {
                for value in row {
                    let mut bytes = [0; 8];
                    let bytes = &mut bytes[..size_of::<T>()];
                    bytes.copy_from_slice(bytemuck::bytes_of(value));
                    if cfg!(target_endian = "big") {
                        bytes.reverse();
                    }
                    to.write_all(bytes)?;
                }
            }
        }
    }
    Ok(to.flush()?)
}

/// Writes a one-dimensional array of elements of type `descr`.
pub(in crate::io) fn write_vector<T, const N: usize>(
    to: &mut impl Write,
    descr: &str,
    elements: &[T],
    bytes: impl Fn(&T) -> [u8; N],
) -> io::Result<()> {
    write_header(to, descr, &format!("({},)", elements.len()))?;
    let mut buf = Vec::with_capacity(PIECE * N);
    for piece in elements.chunks(PIECE) {
        buf.clear();
        buf.extend(piece.iter().flat_map(&bytes));
        to.write_all(&buf)?;
    }
    Ok(())
}

/// Writes the header, padded so that the elements start at a multiple of 64 bytes.
pub(in crate::io) fn write_header(to: &mut impl Write, descr: &str, shape: &str) -> io::Result<()> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = MAGIC.len() + 4;
    let text_len = (before + dict.len() + 1).next_multiple_of(64) - before;
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    to.write_all(&(text_len as u16).to_le_bytes())?;
    writeln!(to, "{dict:<width$}", width = text_len - 1)
}
