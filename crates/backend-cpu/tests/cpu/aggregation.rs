//! Maxima, minima and means: in CSR, the same on every instruction set, refused elsewhere.

use girih_backend::{Aggregation, BackendError, DenseScalar, SpmmBackend, Unsupported};
use girih_backend_cpu::{CpuBackend, Isa};
use girih_formats::{Csr, DType, FormatKind, FormatSpec, Real, RealNumber, RowLayout, Tiling};
use girih_generate::power_law_rows;
use girih_planner::Plan;
use girih_testkit::conformance::run;
use half::{bf16, f16};
use ndarray::{Array2, array};

fn plan<T: DenseScalar>(a: &Csr<T>, spec: FormatSpec) -> Plan {
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    Plan::from_tiling(Tiling::from_csr(a, spec, layout).unwrap())
}

#[test]
fn the_suite_aggregates_csr() {
    let report = run(&CpuBackend::new(), FormatKind::Csr, DType::F32);
    assert!(report.passed() && report.aggregated > 40, "{report}");
}

#[test]
fn other_formats_are_refused_with_a_reason() {
    let a = Csr::<f32>::identity(16).unwrap();
    let plan = plan(&a, FormatSpec::BMat { pattern_only: false });
    let backend = CpuBackend::new();
    for aggregation in Aggregation::ALL {
        let reason = backend.supports_aggregation(&plan, aggregation).unwrap_err();
        assert!(reason.to_string().contains("plan csr"), "{reason}");
        let (b, mut c) = (Array2::<f32>::ones((16, 3)), Array2::<f32>::zeros((16, 3)));
        let prepared = backend.prepare(&plan).unwrap();
        let refused = prepared.aggregate(aggregation, (&b).into(), (&mut c).into());
        let refused = refused.unwrap_err();
        assert!(
            matches!(
                refused,
                BackendError::Unsupported { reason: Unsupported::Aggregation { .. }, .. }
            ),
            "{refused}"
        );
        assert!(c.iter().all(|&x| x == 0.0));
    }
}

#[test]
fn new_values_are_aggregated() {
    let a = Csr::from_triplets(1, 2, [(0, 0, 1.0f64), (0, 1, 2.0)]).unwrap();
    let mut prepared = CpuBackend::new().prepare(&plan(&a, FormatSpec::Csr)).unwrap();
    prepared.refresh((&[-3.0, -5.0][..]).into()).unwrap();
    let (b, mut c) = (array![[1.0], [1.0]], Array2::<f64>::zeros((1, 1)));
    for (aggregation, expected) in
        [(Aggregation::Max, -3.0), (Aggregation::Min, -5.0), (Aggregation::Mean, -4.0)]
    {
        prepared.aggregate(aggregation, (&b).into(), (&mut c).into()).unwrap();
        assert_eq!(c, array![[expected]], "{aggregation:?}");
    }
}

/// Rows longer than a task and rows without entries among them.
fn across_isas<T: DenseScalar + Real>() {
    let a: Csr<T> = power_law_rows(300, 9000, 20, 1).unwrap();
    let plan = plan(&a, FormatSpec::Csr);
    for n in [1, 5, 16, 40, 150] {
        let b = Array2::from_shape_fn((9000, n), |(i, j)| {
            T::from_f64(((i * 37 + j * 101) % 199) as f64 / 64.0 - 1.5)
        });
        for aggregation in Aggregation::ALL {
            let fused = |isa: &Isa| {
                *isa != Isa::Portable
                    || cfg!(target_arch = "aarch64")
                    || aggregation != Aggregation::Mean
            };
            let aggregated = |backend: CpuBackend| {
                let mut c = Array2::from_elem((300, n), T::Acc::from_f64(f64::NAN));
                let prepared = backend.prepare(&plan).unwrap();
                let (b, into) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
                prepared.aggregate(aggregation, b, into).unwrap();
                c.into_iter().map(|c| c.to_f64().to_bits()).collect::<Vec<_>>()
            };
            let all = Isa::ALL.into_iter().filter(fused).filter_map(CpuBackend::with_isa);
            let mut all = all.map(aggregated);
            let first = all.next();
            assert!(all.all(|other| Some(other) == first), "{} {aggregation:?}, {n}", T::DTYPE);
        }
    }
}

#[test]
fn instruction_sets_agree_on_aggregations() {
    across_isas::<f16>();
    across_isas::<bf16>();
    across_isas::<f32>();
    across_isas::<f64>();
}
