//! Dense matrices as numpy writes them.

use std::io::{BufWriter, Write};

use ndarray::ArrayView2;

use super::write::write_header;
use crate::io::WriteError;
use crate::scalar::{DType, Scalar};

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
