//! Plans, prepared, and their products.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use girih::{CpuBackend, DenseScalar, Plan, PlanOptions, Planner, PreparedSpmm, SpmmBackend};
use ndarray::{ArrayView2, ArrayViewMut2, ShapeBuilder};
use rayon::ThreadPoolBuilder;

use crate::error::{Outcome, guard, text};
use crate::format;
use crate::matrix::CsrArrays;

/// A plan prepared on the CPU backend.
#[derive(Debug)]
pub struct Product {
    prepared: Box<dyn PreparedSpmm>,
    format: CString,
    nrows: usize,
    ncols: usize,
    value_bits: u32,
}

fn plan<T: DenseScalar>(arrays: &Arrays, options: PlanOptions) -> Outcome<Plan> {
    // SAFETY: girih_spmm_prepare's caller vouches for the arrays.
    let a = unsafe { arrays.0.copy::<T>() }?;
    Ok(Planner::new(options).plan(&a)?)
}

/// The caller's arrays, on their way to another thread.
struct Arrays(CsrArrays);

// SAFETY: they are only read, and the caller waits meanwhile.
unsafe impl Sync for Arrays {}

/// Copies and validates `arrays`, plans them in `format` for `n` columns of B, and prepares the plan
/// for `threads` threads: the one that calls, and others of the plan's own.
///
/// `format` is `auto`, `csr`, `bmat`, `two-four`, `bcsr 64x32`, `wcsr 16/8` or `blocked-ell 64x64`,
/// with any sizes.
///
/// # Safety
/// `arrays` must be null, or its pointers null or readable for as much as its sizes say; `format`
/// must be null or end in a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_spmm_prepare(
    arrays: *const CsrArrays,
    format: *const c_char,
    n: usize,
    threads: usize,
) -> *mut Product {
    let product = guard(|| {
        // SAFETY: null, or readable, as the caller vouches.
        let arrays = Arrays(*unsafe { arrays.as_ref() }.ok_or("arrays is null")?);
        // SAFETY: as the caller vouches.
        let format = format::parse(unsafe { text("format", format) }?)?;
        if threads == 0 {
            return Err("threads is 0".into());
        }
        let options = PlanOptions::new(n).format(format);
        let prepare = || -> Outcome<_> {
            let arrays = &arrays;
            let plan = match arrays.0.value_bits {
                32 => plan::<f32>(arrays, options)?,
                64 => plan::<f64>(arrays, options)?,
                bits => return Err(format!("value_bits is {bits}, not 32 or 64").into()),
            };
            Ok((CpuBackend::new().with_threads(threads)?.prepare(&plan)?, plan))
        };
        // An error that is not Send crosses as text.
        let prepare = || prepare().map_err(|error| error.to_string());
        let (prepared, plan) = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_scoped(rayon::ThreadBuilder::run, |pool| pool.install(prepare))??;
        Ok(Box::new(Product {
            prepared,
            format: CString::new(plan.spec().to_string())?,
            nrows: plan.nrows(),
            ncols: plan.ncols(),
            value_bits: arrays.0.value_bits,
        }))
    });
    product.map_or(ptr::null_mut(), Box::into_raw)
}

/// The format of a prepared plan, as [`girih_spmm_prepare`] takes it: a string that lives as long as
/// the plan.
///
/// # Safety
/// From [`girih_spmm_prepare`], and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_spmm_format(product: *const Product) -> *const c_char {
    // SAFETY: as the caller vouches.
    unsafe { &*product }.format.as_ptr()
}

/// `C = α·A·B + β·C`, row-major: row `i` of B (k×n) starts at element `i·ldb`, row `i` of C (m×n)
/// at element `i·ldc`. Values are of A's type.
///
/// # Safety
/// `product` must be from [`girih_spmm_prepare`] and not freed yet; B and C must be null, or aligned
/// and readable and writable for that many elements, and not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_spmm_execute(
    product: *const Product,
    alpha: f64,
    b: *const std::ffi::c_void,
    ldb: usize,
    beta: f64,
    c: *mut std::ffi::c_void,
    ldc: usize,
    n: usize,
) -> c_int {
    let done = guard(|| {
        // SAFETY: null, or alive, as the caller vouches.
        let product = unsafe { product.as_ref() }.ok_or("the plan is null")?;
        if b.is_null() || c.is_null() {
            return Err("B or C is null".into());
        }
        if n > ldb || n > ldc {
            return Err(format!("n is {n} where ldb is {ldb} and ldc is {ldc}").into());
        }
        let (b_shape, c_shape) =
            ((product.ncols, n).strides((ldb, 1)), (product.nrows, n).strides((ldc, 1)));
        let prepared = &*product.prepared;
        match product.value_bits {
            32 => {
                // SAFETY: as the caller vouches; rows do not overlap, since n ≤ ldc.
                let (b, c) = unsafe {
                    (
                        ArrayView2::<f32>::from_shape_ptr(b_shape, b.cast()),
                        ArrayViewMut2::<f32>::from_shape_ptr(c_shape, c.cast()),
                    )
                };
                Ok(prepared.execute(alpha, b.into(), beta, c.into())?)
            }
            _ => {
                // SAFETY: as above.
                let (b, c) = unsafe {
                    (
                        ArrayView2::<f64>::from_shape_ptr(b_shape, b.cast()),
                        ArrayViewMut2::<f64>::from_shape_ptr(c_shape, c.cast()),
                    )
                };
                Ok(prepared.execute(alpha, b.into(), beta, c.into())?)
            }
        }
    });
    if done.is_some() { 0 } else { -1 }
}

/// Frees a prepared plan and ends its threads.
///
/// # Safety
/// Null, or from [`girih_spmm_prepare`] and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_spmm_free(product: *mut Product) {
    if !product.is_null() {
        // SAFETY: made by Box::into_raw, and freed once, as the caller vouches.
        drop(unsafe { Box::from_raw(product) });
    }
}
