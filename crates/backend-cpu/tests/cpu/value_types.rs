//! The value types that a build has kernels for. Run with `--no-default-features` for those that it has none for.

use girih_backend::{BackendError, DenseScalar, SddmmBackend, SpmmBackend, Unsupported};
use girih_backend_cpu::CpuBackend;
use girih_formats::{Complex, Csr, DType, FormatSpec, RowLayout, Scalar, Tiling};
use girih_generate::uniform;
use girih_planner::Plan;
use half::{bf16, f16};
use ndarray::Array2;

/// The feature that adds kernels for a value type, and whether this build has it.
fn feature(dtype: DType) -> (&'static str, bool) {
    match dtype {
        DType::F32 | DType::C32 => ("", true),
        DType::F64 | DType::C64 => ("`cpu-f64`", cfg!(feature = "f64")),
        DType::F16 | DType::Bf16 => ("`cpu-half`", cfg!(feature = "half")),
    }
}

fn plans_are_taken_or_refused<T: DenseScalar>(a: &Csr<T>) {
    let (name, is_there) = feature(T::DTYPE);
    let backend = CpuBackend::new();
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(a, FormatSpec::Csr, layout).unwrap());
    assert_eq!(backend.capabilities().unwrap().dtypes.contains(&T::DTYPE), is_there);
    match backend.supports(&plan) {
        Ok(()) => assert!(is_there, "{}", T::DTYPE),
        Err(Unsupported::ValueType { dtype, reason }) => {
            assert!(!is_there && dtype == T::DTYPE && reason.contains(name), "{reason}");
        }
        Err(other) => panic!("{}: {other}", T::DTYPE),
    }
    let refused = [
        backend.prepare(&plan).map(drop),
        backend.lower(&plan).map(drop),
        backend.layout(&plan).map(drop),
    ];
    for result in refused {
        assert_eq!(result.is_ok(), is_there, "{}: {result:?}", T::DTYPE);
    }
}

#[test]
fn plans_of_value_types_without_kernels_are_refused_by_name_of_the_feature() {
    let a = uniform::<f32>(20, 30, 4, 1).unwrap();
    plans_are_taken_or_refused::<f32>(&a);
    plans_are_taken_or_refused::<f64>(&a.cast());
    plans_are_taken_or_refused::<f16>(&a.cast());
    plans_are_taken_or_refused::<bf16>(&a.cast());
    plans_are_taken_or_refused::<Complex<f32>>(&uniform(20, 30, 4, 1).unwrap());
    plans_are_taken_or_refused::<Complex<f64>>(&uniform(20, 30, 4, 1).unwrap());
}

fn samples_are_taken_or_refused<T: DenseScalar>() {
    let (name, is_there) = feature(T::DTYPE);
    let a = uniform::<f32>(20, 30, 4, 1).unwrap();
    let (x, y) = (Array2::from_elem((20, 3), T::ONE), Array2::from_elem((30, 3), T::ONE));
    let mut s = Array2::from_elem((a.nnz(), 1), T::Acc::ZERO);
    let (x, y, out) = (T::erase(x.view()), T::erase(y.view()), T::erase_acc_mut(s.view_mut()));
    match CpuBackend::new().sddmm(a.pattern(), 1.0, x, y, 0.0, out) {
        Ok(()) => assert!(is_there && s.iter().all(|s| s.to_c64().re == 3.0), "{}", T::DTYPE),
        Err(error @ BackendError::Unsupported { .. }) => {
            assert!(!is_there && error.to_string().contains(name), "{error}");
            assert!(s.iter().all(|s| s.is_zero()));
        }
        Err(other) => panic!("{}: {other}", T::DTYPE),
    }
}

#[test]
fn sampled_products_of_value_types_without_kernels_are_refused_too() {
    samples_are_taken_or_refused::<f32>();
    samples_are_taken_or_refused::<f64>();
    samples_are_taken_or_refused::<f16>();
    samples_are_taken_or_refused::<bf16>();
}
