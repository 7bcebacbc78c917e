//! Dense matrices as numpy writes them.

use std::io::{BufWriter, Write};

use ndarray::ArrayView2;

use super::write::write_header;
use crate::dtype::DType;
use crate::io::WriteError;
use crate::scalar::Scalar;

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
    let kind = if T::DTYPE.is_complex() { 'c' } else { 'f' };
    let mut to = BufWriter::with_capacity(1 << 16, to);
    write_header(&mut to, &format!("<{kind}{}", size_of::<T>()), &format!("({rows}, {cols})"))?;
    for row in array.rows() {
        match row.as_slice() {
            Some(row) => to.write_all(bytemuck::cast_slice(row))?,
            None => {
                for value in row {
                    to.write_all(bytemuck::bytes_of(value))?;
                }
            }
        }
    }
    Ok(to.flush()?)
}
