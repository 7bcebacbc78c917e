//! CSR matrices: generated, read from files, or lent by the caller.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::slice;

use girih::formats::io::{ReadOptions, read};
use girih::{Csr, Scalar};
use girih_generate::Problem;

use crate::error::{Outcome, guard, text};

/// CSR arrays, lent: `row_ptr` has `nrows + 1` offsets, the others `nnz` elements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CsrArrays {
    /// Rows (m).
    pub nrows: u64,
    /// Columns (k).
    pub ncols: u64,
    /// Stored entries.
    pub nnz: u64,
    /// Offsets: `int32_t` or `uint64_t`, by `row_ptr_bits`.
    pub row_ptr: *const c_void,
    /// Columns, ascending within a row: `uint32_t`.
    pub col_idx: *const u32,
    /// Values: `float` or `double`, by `value_bits`.
    pub values: *const c_void,
    /// 32 or 64.
    pub row_ptr_bits: u32,
    /// 32 or 64.
    pub value_bits: u32,
}

/// A matrix that the library made, whose arrays a [`CsrArrays`] lends.
#[derive(Debug)]
pub enum Matrix {
    /// Values of f32.
    F32(Csr<f32>),
    /// Values of f64.
    F64(Csr<f64>),
}

/// A shared problem by name, or the file at a path.
fn open<T: Scalar>(source: &str) -> Outcome<Csr<T>> {
    if let Ok(problem) = source.parse::<Problem>() {
        return Ok(problem.generate()?);
    }
    read(source, &ReadOptions::default()).map_err(|error| format!("{source}: {error}").into())
}

/// Generates the class `uniform`, `rmat`, `fem`, `blocks` or `laplacian`, or else reads the file at
/// that path; values of `value_bits` bits. `arrays` then lends the matrix's arrays until it is freed.
///
/// # Safety
/// `source` must be null or end in a zero byte; `arrays` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_csr_open(
    source: *const c_char,
    value_bits: u32,
    arrays: *mut CsrArrays,
) -> *mut Matrix {
    let matrix = guard(|| {
        // SAFETY: as the caller vouches.
        let source = unsafe { text("source", source) }?;
        // SAFETY: null, or writable, as the caller vouches.
        let arrays = unsafe { arrays.as_mut() }.ok_or("arrays is null")?;
        let matrix = match value_bits {
            32 => Matrix::F32(open(source)?),
            64 => Matrix::F64(open(source)?),
            _ => return Err(format!("value_bits is {value_bits}, not 32 or 64").into()),
        };
        *arrays = match &matrix {
            Matrix::F32(a) => lend(a, value_bits),
            Matrix::F64(a) => lend(a, value_bits),
        };
        Ok(Box::new(matrix))
    });
    matrix.map_or(ptr::null_mut(), Box::into_raw)
}

fn lend<T: Scalar>(a: &Csr<T>, value_bits: u32) -> CsrArrays {
    CsrArrays {
        nrows: a.nrows() as u64,
        ncols: a.ncols() as u64,
        nnz: a.nnz() as u64,
        row_ptr: a.row_ptr().as_ptr().cast(),
        col_idx: a.col_idx().as_ptr(),
        values: a.values().as_ptr().cast(),
        row_ptr_bits: 64,
        value_bits,
    }
}

/// Frees a matrix.
///
/// # Safety
/// Null, or from [`girih_csr_open`] and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_csr_free(matrix: *mut Matrix) {
    if !matrix.is_null() {
        // SAFETY: made by Box::into_raw, and freed once, as the caller vouches.
        drop(unsafe { Box::from_raw(matrix) });
    }
}

impl CsrArrays {
    /// A copy, validated. Values must be of type `T`.
    ///
    /// # Safety
    /// Pointers that are not null must be aligned, and readable for as much as the sizes say.
    pub(crate) unsafe fn copy<T: Scalar>(&self) -> Outcome<Csr<T>> {
        let nrows = usize::try_from(self.nrows)?;
        let offsets = nrows.checked_add(1).ok_or("nrows is too large")?;
        let nnz = usize::try_from(self.nnz)?;
        let row_ptr: Vec<u64> = match self.row_ptr_bits {
            32 => {
                // SAFETY: the caller vouches for the array.
                let row_ptr = unsafe { array("row_ptr", self.row_ptr.cast::<i32>(), offsets) }?;
                row_ptr.iter().map(|&offset| u64::try_from(offset)).collect::<Result<_, _>>()?
            }
            64 => {
                // SAFETY: as above.
                unsafe { array("row_ptr", self.row_ptr.cast(), offsets) }?.to_vec()
            }
            bits => return Err(format!("row_ptr_bits is {bits}, not 32 or 64").into()),
        };
        // SAFETY: as above.
        let (col_idx, values) = unsafe {
            (array("col_idx", self.col_idx, nnz)?, array("values", self.values.cast::<T>(), nnz)?)
        };
        let ncols = usize::try_from(self.ncols)?;
        Ok(Csr::try_new(nrows, ncols, row_ptr, col_idx.to_vec(), values.to_vec())?)
    }
}

/// # Safety
/// Not null: aligned and readable for `len` elements.
unsafe fn array<'a, T>(what: &str, start: *const T, len: usize) -> Outcome<&'a [T]> {
    match len {
        0 => Ok(&[]),
        _ if start.is_null() => Err(format!("{what} is null").into()),
        // SAFETY: as the caller vouches.
        _ => Ok(unsafe { slice::from_raw_parts(start, len) }),
    }
}
