//! Sampled products, on every instruction set that this machine has.

use girih_backend::{DenseScalar, SddmmBackend};
use girih_backend_cpu::{CpuBackend, Isa};
use girih_formats::{Csr, DType, Real, RealNumber, Scalar};
use girih_generate::uniform;
use girih_testkit::conformance::run_sddmm;
use half::{bf16, f16};
use ndarray::Array2;

#[test]
fn sampled_products_conform() {
    for backend in Isa::ALL.into_iter().filter_map(CpuBackend::with_isa) {
        for dtype in DType::ALL {
            let report = run_sddmm(&backend, dtype);
            assert!(report.passed(), "{dtype} on {backend:?}: {report}");
        }
    }
}

fn across_isas<T: DenseScalar + Real>() {
    let a: Csr<f32> = uniform(300, 200, 30, 1).unwrap();
    for d in [1, 5, 16, 40, 100] {
        let of = |rows| {
            Array2::from_shape_fn((rows, d), |(i, j)| {
                T::from_f64(((i * 37 + j * 101) % 199) as f64 / 64.0 - 1.5)
            })
        };
        let (x, y) = (of(300), of(200));
        let sampled = |backend: CpuBackend| {
            let mut s = vec![T::Acc::ONE; a.nnz()];
            let into =
                T::erase_acc_mut(ndarray::ArrayViewMut2::from_shape((a.nnz(), 1), &mut s).unwrap());
            let (x, y) = (T::erase(x.view()), T::erase(y.view()));
            backend.sddmm(a.pattern(), 1.5, x, y, -0.5, into).unwrap();
            s.into_iter().map(|s| s.to_f64().to_bits()).collect::<Vec<_>>()
        };
        let fused = |isa: &Isa| *isa != Isa::Portable || cfg!(target_arch = "aarch64");
        let all = Isa::ALL.into_iter().filter(fused).filter_map(CpuBackend::with_isa);
        let mut all = all.map(sampled);
        if let Some(first) = all.next() {
            assert!(all.all(|other| other == first), "{} d = {d}", T::DTYPE);
        }
    }
}

#[test]
fn instruction_sets_agree_on_sampled_products() {
    across_isas::<f16>();
    across_isas::<bf16>();
    across_isas::<f32>();
    across_isas::<f64>();
}
