//! Faults in products of complex values by `csr_spmm`, of which real ones know nothing.

use girih_backend::{ComplexProduct, DenseScalar, SpmmBackend, verify_complex};
use girih_formats::{Complex, ComplexScalar, Csr, FormatSpec, RowLayout, Scalar, Tiling};
use girih_planner::Plan;
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};

use super::faults::all_lengths;
use crate::emulated::faults::{Fault, Multiply, Outcome, check, failed, fault};
use crate::emulated::{Emulated, Way};
use crate::kernels::sm90_dense_gemm::FullBlocks;
use crate::prepared::Requested;

const ALPHA: Complex<f64> = Complex::new(0.5, -1.5);
const BETA: Complex<f64> = Complex::new(-0.75, 0.25);

/// `α·A·B + β·C` with `n` random columns; in one row of B all is infinite if that is wanted.
fn product<T: DenseScalar + ComplexScalar>(
    (device, way): (&Emulated, Way),
    a: &Csr<f64>,
    n: usize,
    (alpha, beta): (Complex<f64>, Complex<f64>),
    is_infinite: bool,
) -> (Outcome, String) {
    let a = matrices::typed::<T>(a);
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
    device.supports(&plan).unwrap();
    let prepared = device.prepare_with(&plan, 1, FullBlocks::Fastest);
    let mut columns = random::<T>(a.ncols(), n, 1);
    if is_infinite {
        let infinite = Complex::new(f64::INFINITY, f64::NEG_INFINITY);
        columns.row_mut(3).fill(T::from_c64(infinite));
    }
    let b = Placed::new(&columns, Layout::RowMajor);
    let before = random::<T>(a.nrows(), n, 2);
    let mut c = Placed::new(&random::<T::Acc>(a.nrows(), n, 2), Layout::PaddedRows);
    let (b, into) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
    let requested = Requested::Sum(&girih_backend::Epilogue::new());
    match prepared.multiply(way, (alpha, beta), &b, into, requested) {
        Ok(()) => {
            let added = (!beta.is_zero()).then(|| (beta, T::erase(before.view())));
            let product = ComplexProduct { alpha, b, added };
            let rounding = device.rounding(&plan);
            let verdict = verify_complex(&a, &plan, &product, &T::erase_acc(c.view()), rounding);
            let verdict = verdict.unwrap();
            let outcome = if verdict.passed() { Outcome::Right } else { Outcome::Wrong };
            (outcome, format!("{verdict:?}"))
        }
        Err(failure) => failed(failure),
    }
}

/// Rows of all lengths, one of them in pieces, in vectors of two numbers.
fn vectors(device: &Emulated, way: Way) -> (Outcome, String) {
    product::<Complex<f32>>((device, way), &all_lengths(), 18, (ALPHA, BETA), false)
}

/// The same in vectors of one.
fn numbers(device: &Emulated, way: Way) -> (Outcome, String) {
    product::<Complex<f64>>((device, way), &all_lengths(), 9, (ALPHA, BETA), false)
}

/// An odd number of columns, whose vectors can't be read; β has no real part.
fn elements(device: &Emulated, way: Way) -> (Outcome, String) {
    let factors = (ALPHA, Complex::new(0.0, 0.5));
    product::<Complex<f32>>((device, way), &all_lengths(), 9, factors, false)
}

/// Infinite numbers, times a real factor.
fn infinite(device: &Emulated, way: Way) -> (Outcome, String) {
    let a = matrices::where_(9, 30, |i, j| (i + j) % 3 == 0).unwrap();
    let factors = (Complex::new(-2.5, 0.0), Complex::new(0.5, 0.0));
    product::<Complex<f64>>((device, way), &a, 5, factors, true)
}

/// Nothing is multiplied.
fn scaled(device: &Emulated, way: Way) -> (Outcome, String) {
    product::<Complex<f32>>((device, way), &all_lengths(), 7, (Complex::ZERO, BETA), false)
}

const FAULTS: &[Fault] = &[
    fault!("A is conjugated", "shared/values.cuh":
        "complex(multiply_add(-a.im, b.im," => "complex(multiply_add(a.im, b.im,",
        vectors, Outcome::Wrong),
    fault!("A's imaginary parts times B's real ones are left out", "shared/values.cuh":
        "multiply_add(a.im, b.re, multiply_add(a.re, b.im, c.im))" =>
        "multiply_add(a.re, b.im, c.im)",
        numbers, Outcome::Wrong),
    fault!("a vector has its first number twice", "shared/values.cuh":
        "F32::widen(v, 2 * i), F32::widen(v, 2 * i + 1)" => "F32::widen(v, 0), F32::widen(v, 1)",
        vectors, Outcome::Wrong),
    fault!("the parts of a vector's number are exchanged", "shared/values.cuh":
        "F64::widen(v, 0), F64::widen(v, 1)" => "F64::widen(v, 1), F64::widen(v, 0)",
        numbers, Outcome::Wrong),
    fault!("an element's imaginary part is its real one", "shared/values.cuh":
        "__uint_as_float(static_cast<u32>(bits >> 32))" =>
        "__uint_as_float(static_cast<u32>(bits))",
        vectors, Outcome::Wrong),
    fault!("groups of lanes add up real parts alone", "shared/values.cuh":
        "shuffle_xor(x.im, bits)" => "x.im",
        vectors, Outcome::Wrong),
    fault!("pieces add up real parts alone", "shared/complex.cuh":
        "complex(x.re + y.re, x.im + y.im)" => "complex(x.re + y.re, x.im)",
        numbers, Outcome::Wrong),
    fault!("alpha has no imaginary part", "csr_spmm/params.cuh":
        "Acc(p.alpha, p.last.alpha)" => "Acc(p.alpha)",
        vectors, Outcome::Wrong),
    fault!("beta has that of alpha", "csr_spmm/params.cuh":
        "Acc(p.beta, p.last.beta)" => "Acc(p.beta, p.last.alpha)",
        numbers, Outcome::Wrong),
    fault!("an imaginary beta counts as zero", "shared/complex.cuh":
        "x.re == y.re && x.im == y.im" => "x.re == y.re",
        elements, Outcome::Wrong),
    fault!("C is scaled part by part", "shared/values.cuh":
        "    if (factor.im == Part(0)) return" => "    return",
        scaled, Outcome::Wrong),
    fault!("a real factor's zero is multiplied by what is infinite", "shared/values.cuh":
        "    if (factor.im != Part(0)) return" => "    return",
        infinite, Outcome::Wrong),
];

#[test]
fn faults_in_complex_products_show() {
    let products = [vectors as Multiply, numbers, elements, infinite, scaled];
    check(&products, FAULTS);
}
