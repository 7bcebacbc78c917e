//! Precision as an option: which kernels are candidates, what they are priced by, and what the plan says.

use girih_formats::{DType, FormatSpec};
use girih_generate::uniform;
use girih_planner::device::{Fit, Quality, Terms, Unit};
use girih_planner::explanation::ScheduleKind;
use girih_planner::kernels::{KernelCatalog, KernelConfig, KernelWork};
use girih_planner::{DeviceSpec, Kernels, Plan, PlanError, PlanOptions, Planner, Precision};
use half::bf16;

use crate::common::TestKernels;

const BMAT: FormatSpec = FormatSpec::BMat { pattern_only: false };
const WCSR: FormatSpec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };

/// [`TestKernels`], of which those for WCSR and BCSR multiply f32 as TF32 alone.
#[derive(Clone, Copy, Debug)]
struct TensorCores(Precision);

impl KernelCatalog for TensorCores {
    fn backend(&self) -> &'static str {
        "tensor cores"
    }

    fn candidates(&self, device: &DeviceSpec, dtype: DType) -> Vec<FormatSpec> {
        let all = TestKernels.candidates(device, dtype).into_iter().chain([BMAT]);
        all.filter(|&spec| self.check(device, spec, dtype).is_ok()).collect()
    }

    fn check(&self, device: &DeviceSpec, spec: FormatSpec, dtype: DType) -> Result<(), String> {
        let is_exact = matches!(spec, FormatSpec::Csr | FormatSpec::BMat { .. });
        if !is_exact && !self.0.allows_tf32(dtype) {
            return Err("its kernels round f32 to TF32".to_owned());
        }
        TestKernels.check(device, spec, dtype)
    }

    fn schedules(&self, spec: FormatSpec) -> Vec<ScheduleKind> {
        TestKernels.schedules(spec)
    }

    fn config(&self, device: &DeviceSpec, work: &KernelWork) -> Option<KernelConfig> {
        TestKernels.config(device, work)
    }

    fn in_precision(&self, precision: Precision) -> Option<Kernels> {
        Some(Kernels::new(Self(precision)))
    }
}

fn h200() -> DeviceSpec {
    DeviceSpec::builtin("h200").unwrap()
}

fn options(precision: Precision) -> PlanOptions {
    let kernels = Kernels::new(TensorCores(Precision::Tf32));
    PlanOptions::new(128).target(h200()).kernels(kernels).precision(precision)
}

fn considered(plan: &Plan) -> Vec<FormatSpec> {
    plan.explanation().candidates.iter().map(|candidate| candidate.spec).collect()
}

#[test]
fn kernels_that_round_more_are_no_candidates() {
    let a = uniform::<f32>(3000, 2000, 20, 1).unwrap();
    let plan = |precision| Planner::new(options(precision)).plan(&a).unwrap();
    assert_eq!(considered(&plan(Precision::Tf32)).len(), 5);
    for precision in [Precision::ThreeTf32, Precision::F32] {
        let plan = plan(precision);
        assert_eq!(considered(&plan), [FormatSpec::Csr, BMAT]);
        assert_eq!(plan.precision(), precision);
        assert!(plan.explanation().reason.contains(&format!(" in {precision}")));
        let candidates = Planner::new(options(precision)).candidates(&a).unwrap();
        assert_eq!(candidates.len(), 2);
    }
    // Of 16 bits nothing is rounded, and nothing is said of it.
    let half = a.cast::<bf16>();
    let plan = |precision| Planner::new(options(precision)).plan(&half).unwrap();
    let (exact, default) = (plan(Precision::F32), plan(Precision::Tf32));
    assert_eq!(considered(&exact), considered(&default));
    assert_eq!(exact.explanation(), default.explanation());
}

#[test]
fn a_format_without_such_kernels_is_refused() {
    let a = uniform::<f32>(300, 200, 20, 1).unwrap();
    let plan = |spec, precision| Planner::new(options(precision).format(spec)).plan(&a);
    assert!(plan(WCSR, Precision::Tf32).is_ok());
    let refused = plan(WCSR, Precision::F32).unwrap_err();
    let PlanError::Refused { spec, reason } = refused else { panic!("{refused}") };
    assert_eq!((spec, reason.as_str()), (WCSR, "its kernels round f32 to TF32"));
    for spec in [FormatSpec::Csr, BMAT] {
        let plan = plan(spec, Precision::F32).unwrap();
        assert!(plan.explanation().reason.contains("was requested in f32"), "{}", plan.explain());
    }
}

#[test]
fn a_cpu_multiplies_as_exactly_in_every_precision() {
    let a = uniform::<f32>(300, 200, 20, 1).unwrap();
    let plan = |precision| {
        let options = PlanOptions::new(32).target(DeviceSpec::cpu()).precision(precision);
        Planner::new(options).plan(&a).unwrap()
    };
    let (exact, default) = (plan(Precision::F32), plan(Precision::Tf32));
    assert_eq!(considered(&exact), considered(&default));
    assert_eq!(exact.tiling(), default.tiling());
    assert_eq!(exact.schedule(), default.schedule());
}

#[test]
fn prices_are_those_of_the_unit_that_multiplies() {
    let a = uniform::<f32>(3000, 2000, 20, 1).unwrap();
    // Fits would hide the rates.
    let bare = h200().with(|device| device.fits.clear());
    let cost = |precision| {
        let options = options(precision).target(bare.clone()).format(BMAT);
        let plan = Planner::new(options).plan(&a).unwrap();
        plan.explanation().chosen().unwrap().cost.unwrap()
    };
    let [tf32, three, exact] = Precision::ALL.map(cost);
    assert_eq!((tf32.unit, three.unit, exact.unit), (Unit::Tiles, Unit::Tiles, Unit::Entries));
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
    assert!(close(three.compute_seconds, 3.0 * tf32.compute_seconds));
    let slower = bare.tile_flops.f32 / bare.sparse_flops.f32;
    assert!(close(exact.compute_seconds, slower * tf32.compute_seconds));
    assert_eq!(exact.b_fetched_bytes, tf32.b_fetched_bytes);
}

#[test]
fn each_precision_has_fits_of_its_own() {
    let fit = |spec, precision, product| Fit {
        spec,
        dtype: DType::F32,
        precision,
        seconds: Terms { product, ..Terms::default() },
        quality: Quality::default(),
    };
    let device = h200().with(|device| {
        device.fits = vec![
            fit(FormatSpec::Csr, None, 1.0),
            fit(BMAT, None, 2.0),
            fit(BMAT, Some(Precision::F32), 3.0),
        ];
    });
    let product =
        |spec, precision| device.fit(spec, DType::F32, precision).map(|fit| fit.seconds.product);
    assert_eq!(Precision::ALL.map(|p| product(FormatSpec::Csr, p)), [Some(1.0); 3]);
    assert_eq!(Precision::ALL.map(|p| product(BMAT, p)), [Some(2.0), None, Some(3.0)]);
    assert_eq!(Precision::ALL.map(|p| product(WCSR, p)), [None; 3]);
    // Files keep them apart, and say nothing of the default.
    let text = device.to_toml();
    assert_eq!(text.matches("precision = \"f32\"").count(), 1, "{text}");
    assert_eq!(text.matches("precision").count(), 1, "{text}");
    assert_eq!(DeviceSpec::from_toml(&text).unwrap(), device);
}

/// Counts flatter a format beside CSR, whose time was measured: an advantage of less than a third is none.
#[test]
fn what_was_not_measured_has_to_win_by_more() {
    let a = girih_generate::laplacian_5pt::<f32>(60, 60).unwrap();
    let device = |csr: f64| {
        let seconds = Terms { values: csr / a.nnz() as f64, ..Terms::default() };
        let (spec, dtype, quality) = (FormatSpec::Csr, DType::F32, Quality::default());
        let fit = Fit { spec, dtype, precision: None, seconds, quality };
        h200().with(|device| device.fits = vec![fit])
    };
    let seconds = |spec, csr| {
        let options = options(Precision::F32).format(spec).target(device(csr));
        let plan = Planner::new(options).plan(&a).unwrap();
        plan.explanation().chosen().unwrap().cost.unwrap().seconds
    };
    // How much longer it takes than its share of the work, by its schedule.
    let stretch = seconds(FormatSpec::Csr, 1.0);
    let bmat = seconds(BMAT, 1.0);
    let mut chosen = Vec::new();
    for factor in [1.0, 1.05, 1.1, 1.5] {
        let csr = factor * bmat / stretch;
        let ratio = seconds(FormatSpec::Csr, csr) / bmat;
        assert!(ratio > 1.0, "csr is slower by estimate: {ratio}");
        let target = device(csr);
        let plan = Planner::new(options(Precision::F32).target(target)).plan(&a).unwrap();
        let expected = if ratio <= 4.0 / 3.0 { FormatSpec::Csr } else { BMAT };
        assert_eq!(plan.spec(), expected, "{}", plan.explain());
        chosen.push(plan.spec());
    }
    assert_eq!([chosen[0], chosen[3]], [FormatSpec::Csr, BMAT]);
}

#[test]
fn plan_files_hold_the_precision() {
    let a = uniform::<f32>(300, 200, 20, 1).unwrap();
    let file = |plan: &Plan| {
        let mut file = Vec::new();
        plan.write_to(&mut file).unwrap();
        file
    };
    let plan = Planner::new(options(Precision::Tf32).format(BMAT)).plan(&a).unwrap();
    let before = file(&plan);
    for precision in Precision::ALL {
        let plan = plan.clone().with_precision(precision);
        let bytes = file(&plan);
        assert_eq!(bytes == before, precision == Precision::Tf32, "{precision}");
        let loaded = Plan::read_from(&bytes[..]).unwrap();
        assert_eq!((loaded.precision(), file(&loaded) == bytes), (precision, true));
    }
}
