//! SpMM of sprs and faer behind a C ABI, so that a benchmark can call them and other libraries by
//! turns in one process.
//!
//! Functions that return a pointer return null on failure, those that return an `int` return 0 on
//! success. Both libraries multiply on the calling thread: sprs has no threads here, and faer
//! ignores the parallelism it is given for a product of a sparse and a dense matrix.

#![expect(unsafe_code, reason = "a C ABI")]

mod peer;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use crate::peer::{Method, Peer, Value};

/// Copies CSR arrays of m rows and k columns; `row_ptr` has `m + 1` offsets.
///
/// # Safety
/// Arrays must be readable for as many elements as the sizes say.
unsafe fn prepare<T: Value>(
    (m, k, nnz): (usize, usize, usize),
    row_ptr: *const u32,
    col_idx: *const u32,
    values: *const T,
) -> *mut Peer<T> {
    if row_ptr.is_null() || col_idx.is_null() || values.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: not null, and as long as the caller vouches.
    let (row_ptr, col_idx, values) = unsafe {
        (
            slice::from_raw_parts(row_ptr, m + 1),
            slice::from_raw_parts(col_idx, nnz),
            slice::from_raw_parts(values, nnz),
        )
    };
    catch_unwind(AssertUnwindSafe(|| Peer::new(m, k, row_ptr, col_idx, values)))
        .ok()
        .flatten()
        .map_or(ptr::null_mut(), |peer| Box::into_raw(Box::new(peer)))
}

/// `C = A·B` with one of the methods.
///
/// # Safety
/// `peer` must be alive; B must be readable for k·n elements and C writable for m·n.
unsafe fn execute<T: Value>(
    peer: *const Peer<T>,
    method: u32,
    b: *const T,
    n: usize,
    c: *mut T,
) -> c_int {
    // SAFETY: alive or null, as the caller vouches.
    let Some(peer) = (unsafe { peer.as_ref() }) else { return -1 };
    let Some(method) = Method::from_code(method) else { return -1 };
    if b.is_null() || c.is_null() {
        return -1;
    }
    let (k, m) = (peer.ncols(), peer.nrows());
    // SAFETY: not null, and as long as the caller vouches; they don't overlap.
    let (b, c) = unsafe { (slice::from_raw_parts(b, k * n), slice::from_raw_parts_mut(c, m * n)) };
    let done = catch_unwind(AssertUnwindSafe(|| peer.multiply(method, b, n, c)));
    if done.is_ok() { 0 } else { -1 }
}

macro_rules! abi {
    ($value:ty, $prepare:ident, $execute:ident, $free:ident) => {
        /// Copies CSR arrays (m×k), with indices and values ready for every method.
        ///
        /// # Safety
        /// `row_ptr` must have `m + 1` elements, `col_idx` and `values` `nnz`, or be null.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $prepare(
            m: usize,
            k: usize,
            nnz: usize,
            row_ptr: *const u32,
            col_idx: *const u32,
            values: *const $value,
        ) -> *mut Peer<$value> {
            // SAFETY: as the caller vouches.
            unsafe { prepare((m, k, nnz), row_ptr, col_idx, values) }
        }

        /// `C = A·B`; method 0 is sprs with row-major B and C, 1 is faer's CSR and 2 its CSC with
        /// column-major B and C.
        ///
        /// # Safety
        /// `peer` must come from the function that prepares, and not be freed; B must have k·n
        /// elements and C m·n, or be null.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $execute(
            peer: *const Peer<$value>,
            method: u32,
            b: *const $value,
            n: usize,
            c: *mut $value,
        ) -> c_int {
            // SAFETY: as the caller vouches.
            unsafe { execute(peer, method, b, n, c) }
        }

        /// Frees what was prepared.
        ///
        /// # Safety
        /// Null, or from the function that prepares and not freed yet.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $free(peer: *mut Peer<$value>) {
            if !peer.is_null() {
                // SAFETY: made by Box::into_raw, and freed once, as the caller vouches.
                drop(unsafe { Box::from_raw(peer) });
            }
        }
    };
}

abi!(f32, peers_rust_prepare_f32, peers_rust_execute_f32, peers_rust_free_f32);
abi!(f64, peers_rust_prepare_f64, peers_rust_execute_f64, peers_rust_free_f64);
