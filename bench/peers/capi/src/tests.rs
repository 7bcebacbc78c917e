//! The ABI as a C program calls it.

use std::ffi::{CStr, CString};
use std::ptr;

use crate::{
    BandwidthPoint, CsrArrays, girih_csr_free, girih_csr_open, girih_last_error,
    girih_roofline_bandwidth, girih_roofline_floor, girih_roofline_free, girih_roofline_measure,
    girih_roofline_peak, girih_spmm_execute, girih_spmm_format, girih_spmm_free,
    girih_spmm_prepare,
};

// [ 1 0 2 ]
// [ 0 3 0 ]
const ROW_PTR: [i32; 3] = [0, 2, 3];
const COL_IDX: [u32; 3] = [0, 2, 1];
const VALUES: [f64; 3] = [1.0, 2.0, 3.0];

fn small() -> CsrArrays {
    CsrArrays {
        nrows: 2,
        ncols: 3,
        nnz: 3,
        row_ptr: ROW_PTR.as_ptr().cast(),
        col_idx: COL_IDX.as_ptr(),
        values: VALUES.as_ptr().cast(),
        row_ptr_bits: 32,
        value_bits: 64,
    }
}

fn last_error() -> String {
    // SAFETY: a string of this thread, until its next failure.
    unsafe { CStr::from_ptr(girih_last_error()) }.to_str().unwrap().to_owned()
}

#[test]
fn products_of_lent_arrays() {
    // Columns beyond n belong to the caller.
    let b = [1.0f64, 0.0, -1.0, 0.0, 1.0, -1.0, 1.0, 1.0, -1.0];
    for (format, threads) in [("csr", 1), ("csr", 2), ("bcsr 2x2", 2), ("wcsr 2/1", 1)] {
        let name = CString::new(format).unwrap();
        let mut c = [10.0f64, 20.0, 7.0, 8.0, 30.0, 40.0, 7.0, 8.0];
        // SAFETY: the arrays are as long as the sizes and strides say.
        unsafe {
            let product = girih_spmm_prepare(&small(), name.as_ptr(), 2, threads);
            assert!(!product.is_null(), "{format}: {}", last_error());
            assert_eq!(CStr::from_ptr(girih_spmm_format(product)), &*name);
            let (b, c) = (b.as_ptr().cast(), c.as_mut_ptr().cast());
            assert_eq!(girih_spmm_execute(product, 2.0, b, 3, 1.0, c, 4, 2), 0);
            assert_eq!(girih_spmm_execute(product, 2.0, b, 1, 1.0, c, 4, 2), -1);
            assert!(last_error().contains("ldb is 1"), "{}", last_error());
            girih_spmm_free(product);
        }
        assert_eq!(c, [16.0, 24.0, 7.0, 8.0, 30.0, 46.0, 7.0, 8.0], "{format}");
    }
}

#[test]
fn wrong_arrays_are_errors() {
    let outside = [0u32, 3, 1];
    let wrong = [
        CsrArrays { col_idx: outside.as_ptr(), ..small() },
        CsrArrays { col_idx: ptr::null(), ..small() },
        CsrArrays { row_ptr_bits: 16, ..small() },
        CsrArrays { value_bits: 16, ..small() },
    ];
    for arrays in wrong {
        // SAFETY: as above.
        let product = unsafe { girih_spmm_prepare(&arrays, c"csr".as_ptr(), 2, 1) };
        assert!(product.is_null(), "{arrays:?}");
        assert!(!last_error().is_empty());
    }
    for (format, threads) in [(c"coo", 1), (c"csr", 0)] {
        // SAFETY: as above.
        assert!(unsafe { girih_spmm_prepare(&small(), format.as_ptr(), 2, threads) }.is_null());
    }
}

#[test]
fn a_missing_file_is_an_error_and_a_class_is_a_matrix() {
    let mut arrays = small();
    // SAFETY: strings that end in zero, and arrays to write to.
    unsafe {
        assert!(girih_csr_open(c"no such file.mtx".as_ptr(), 32, &mut arrays).is_null());
        assert!(last_error().contains("no such file.mtx"), "{}", last_error());
        let matrix = girih_csr_open(c"laplacian".as_ptr(), 32, &mut arrays);
        assert_eq!((arrays.nrows, arrays.ncols, arrays.nnz), (1_000_000, 1_000_000, 4_996_000));
        girih_csr_free(matrix);
    }
}

#[test]
fn a_roofline_has_points_and_a_floor() {
    for threads in [1, 2] {
        let roofline = girih_roofline_measure(threads, 512 << 10, 0.01);
        assert!(!roofline.is_null(), "{}", last_error());
        // SAFETY: alive until it is freed, and places to write to.
        unsafe {
            let mut point = BandwidthPoint::default();
            assert_eq!(girih_roofline_bandwidth(roofline, 0, &mut point), 0);
            assert!(point.read > 0.0 && point.triad > 0.0 && point.streaming_triad > 0.0);
            assert_eq!(girih_roofline_bandwidth(roofline, 2, &mut point), -1);
            let peak = girih_roofline_peak(roofline, 64);
            let mut computing = -1;
            let seconds = girih_roofline_floor(roofline, 64, 1.0, 1e9, &mut computing);
            assert_eq!((seconds, computing), (1e9 / peak, 1));
            let seconds = girih_roofline_floor(roofline, 64, 1e9, 1.0, &mut computing);
            assert!(seconds > 0.0 && computing == 0);
            assert!(girih_roofline_floor(roofline, 16, 1.0, 1.0, &mut computing) < 0.0);
            girih_roofline_free(roofline);
        }
    }
    assert!(girih_roofline_measure(0, 512 << 10, 0.01).is_null());
    assert!(last_error().contains("threads is 0"), "{}", last_error());
    assert!(girih_roofline_measure(1, 1, 0.01).is_null());
    assert!(last_error().contains("max_bytes"), "{}", last_error());
}
