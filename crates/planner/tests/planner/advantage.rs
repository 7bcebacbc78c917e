//! By how much a format has to be faster than CSR, by estimate, to be chosen.

use girih_formats::{Csr, DType, FormatSpec};
use girih_planner::device::{Fit, PerDType, PerFormat, Quality, Terms};
use girih_planner::{DeviceSpec, PlanOptions};

use crate::choice::{plan, scattered};
use crate::common::options;

#[test]
fn an_advantage_over_csr_must_be_larger_than_estimates_are_off() {
    let bmat = FormatSpec::BMat { pattern_only: false };
    let fit = |spec, per_value: f64, off: f64| Fit {
        spec,
        dtype: DType::F32,
        precision: None,
        seconds: Terms { values: per_value, ..Terms::default() },
        quality: Quality { mean_relative_error: off, ..Quality::default() },
    };
    // Schedules are even, and tasks cost nothing, so that estimates are what the fits say.
    let a = girih_generate::uniform(20_000, 2000, 7, 1).unwrap();
    for (off, expected) in [(0.05, bmat), (0.15, FormatSpec::Csr)] {
        let fits = vec![fit(FormatSpec::Csr, 1e-9, 0.0), fit(bmat, 0.9e-9, off)];
        let options = PlanOptions::default().target(DeviceSpec::cpu().with(|device| {
            device.fits = fits;
            device.task_seconds = 0.0;
        }));
        let plan = plan(&a, options).unwrap();
        assert_eq!(plan.spec(), expected, "{}", plan.explanation().reason);
        let unsure = plan.explanation().reason.contains("off by 15 %");
        assert_eq!(unsure, expected == FormatSpec::Csr, "{}", plan.explanation().reason);
    }
}

#[test]
fn on_a_gpu_any_advantage_over_csr_counts() {
    let wcsr = |window_rows| FormatSpec::Wcsr { window_rows, pad_cols: 8 };
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    for (seconds, expected) in [(0.99e-5, wcsr(16)), (1.01e-5, FormatSpec::Csr)] {
        let times = [(FormatSpec::Csr, 1e-5), (wcsr(16), seconds), (wcsr(64), 1.0), (bcsr, 1.0)];
        let fit = |(spec, product)| Fit {
            spec,
            dtype: DType::F32,
            precision: None,
            seconds: Terms { product, ..Terms::default() },
            quality: Quality { mean_relative_error: 0.15, ..Quality::default() },
        };
        let options = options("h200", 32);
        let target = options.target.clone().with(|device| device.fits = times.map(fit).into());
        let plan = plan(&scattered(), options.target(target)).unwrap();
        assert_eq!(plan.spec(), expected, "{}", plan.explanation().reason);
    }
}

#[test]
fn without_calibration_an_advantage_over_csr_must_be_a_third() {
    let bmat = FormatSpec::BMat { pattern_only: false };
    let fast = PerDType { f16: 1e15, bf16: 1e15, f32: 1e15, f64: 1e15 };
    let a = girih_generate::uniform(20_000, 2000, 7, 1).unwrap();
    for (csr, expected) in [(1.3e-9, FormatSpec::Csr), (1.4e-9, bmat)] {
        // Entries of CSR and BMat are all that takes time.
        let target = DeviceSpec::cpu().with(|device| {
            device.memory_bandwidth = 1e15;
            device.cache_bandwidth = 1e15;
            device.sparse_flops = fast;
            device.value_seconds =
                PerFormat { csr: Some(csr), bmat: Some(1e-9), ..PerFormat::all(1.0) };
            device.window_seconds = 0.0;
            device.bmat_tile_seconds = 0.0;
            device.task_seconds = 0.0;
        });
        let plan = plan(&a, PlanOptions::default().target(target)).unwrap();
        let reason = &plan.explanation().reason;
        assert_eq!(plan.spec(), expected, "{reason}");
        let unsure = reason.contains("without calibration are off by 33 %");
        assert_eq!(unsure, expected == FormatSpec::Csr, "{reason}");
    }
}

#[test]
fn an_advantage_over_csr_must_be_larger_than_a_call() {
    let bmat = FormatSpec::BMat { pattern_only: false };
    let fit = |spec, product: f64| Fit {
        spec,
        dtype: DType::F32,
        precision: None,
        seconds: Terms { product, ..Terms::default() },
        quality: Quality::default(),
    };
    let a = girih_generate::uniform(6, 6, 3, 1).unwrap();
    for (product, expected) in [(90e-9, FormatSpec::Csr), (900e-9, bmat)] {
        let fits = vec![fit(FormatSpec::Csr, product), fit(bmat, product / 2.0)];
        let options = PlanOptions::default().target(DeviceSpec::cpu().with(|device| {
            device.fits = fits;
            device.task_seconds = 0.0;
        }));
        let plan = plan(&a, options).unwrap();
        let reason = &plan.explanation().reason;
        assert_eq!(plan.spec(), expected, "{reason}");
        assert_eq!(reason.contains("cannot be predicted"), expected == FormatSpec::Csr, "{reason}");
    }
}

#[test]
fn formats_that_were_not_measured_do_not_seem_to_cost_nothing() {
    let csr = Fit {
        spec: FormatSpec::Csr,
        dtype: DType::F32,
        precision: None,
        seconds: Terms { product: 1e-5, ..Terms::default() },
        quality: Quality::default(),
    };
    let options = PlanOptions::default().target(DeviceSpec::cpu().with(|device| {
        device.fits = vec![csr];
        device.task_seconds = 0.0;
    }));
    let one = Csr::try_new(3, 4, vec![0, 1, 1, 1], vec![2], vec![1.0]).unwrap();
    for (a, why) in [(one, "estimated fastest"), (Csr::empty(3, 4).unwrap(), "no entries")] {
        let plan = plan(&a, options.clone()).unwrap();
        let reason = &plan.explanation().reason;
        assert!(plan.spec() == FormatSpec::Csr && reason.contains(why), "{reason}");
    }
}
