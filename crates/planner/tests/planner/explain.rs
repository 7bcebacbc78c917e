//! What a plan says of itself, pinned for fixed devices: a change of the cost model shows here.
//!
//! `GIRIH_BLESS=1 cargo test -p girih-planner --test explain` writes what is found over what is pinned.

use std::fs;
use std::path::Path;

use super::common::options;
use girih_formats::{Csr, FormatSpec};
use girih_planner::device::DeviceKind;
use girih_planner::explanation::{Outcome, ScheduleKind};
use girih_planner::{DeviceSpec, FormatChoice, PlanError, PlanOptions, Planner};

fn blocks() -> Csr<f32> {
    girih_generate::block_sparse(2048, 2048, 64, 0.1, 1).unwrap()
}

/// A few long rows among many short ones.
fn skewed() -> Csr<f32> {
    girih_generate::power_law_rows(4000, 4000, 8, 1).unwrap()
}

fn check(name: &str, a: &Csr<f32>, options: PlanOptions) {
    let plan = Planner::new(options).plan(a).unwrap();
    let found = plan.explain() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planner/explain").join(name);
    if std::env::var_os("GIRIH_BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let pinned = fs::read_to_string(&path).unwrap();
    assert!(found == pinned, "{name} has changed; found:\n{found}\npinned:\n{pinned}");
}

#[test]
fn explanations_for_fixed_devices() {
    for device in ["cpu", "h200", "h100-pcie", "a100"] {
        check(&format!("blocks-{device}.txt"), &blocks(), options(device, 256));
        check(&format!("skewed-{device}.txt"), &skewed(), options(device, 96));
    }
    let bmat = FormatChoice::Fixed(FormatSpec::BMat { pattern_only: false });
    check("skewed-h200-bmat.txt", &skewed(), options("h200", 256).format(bmat));
}

#[test]
fn every_built_in_device_is_one() {
    let names: Vec<&str> = DeviceSpec::builtin_names().collect();
    let cpus = ["cpu", "zen3", "zen4", "zen5", "emerald-rapids"];
    assert_eq!(names, [&cpus[..], &["h100-sxm", "h100-pcie", "h200", "a100"]].concat());
    for name in names {
        let device = DeviceSpec::builtin(name).unwrap();
        let kind = if cpus.contains(&name) { DeviceKind::Cpu } else { DeviceKind::Cuda };
        assert_eq!(device.kind, kind, "{name}");
        assert_eq!(DeviceSpec::from_toml(&device.to_toml()).unwrap(), device);
    }
    assert_eq!(DeviceSpec::builtin("b300"), None);
}

#[test]
fn device_files_with_faults_say_what_is_wrong() {
    let text = DeviceSpec::cpu().to_toml();
    for (from, to, expected) in [
        ("workers = 2", "workers = 0", "workers"),
        ("workers = 2", "workers = -2", "invalid value"),
        ("workers = 2", "", "missing field `workers`"),
        ("workers = 2", "workers = 2\ncolour = 1", "unknown field `colour`"),
        ("kind = \"cpu\"", "kind = \"tpu\"", "tpu"),
        ("memory_bandwidth", "memory_bandwidth = 0.0 #", "positive and finite"),
        ("overlap = \"full\"", "overlap = [", "line"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = DeviceSpec::from_toml(&text.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} → {to}: {error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mine.toml");
    fs::write(&path, text).unwrap();
    assert_eq!(DeviceSpec::read(&path).unwrap(), DeviceSpec::cpu());
    assert!(DeviceSpec::read(dir.path().join("none.toml")).is_err());
}

#[test]
fn formats_without_a_kernel_are_rejected_with_the_reason() {
    let reason = |options: PlanOptions, spec: FormatSpec| {
        let plan = Planner::new(options).plan(&blocks()).unwrap();
        let all = plan.explanation().candidates.clone();
        match all.into_iter().find(|c| c.spec == spec).map(|c| c.outcome) {
            Some(Outcome::Rejected { reason }) => reason,
            other => panic!("{spec}: {other:?}"),
        }
    };
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    assert!(reason(options("a100", 64), bcsr).contains("wgmma"));
    let fixed = options("a100", 64).format(bcsr);
    assert!(matches!(Planner::new(fixed).plan(&blocks()), Err(PlanError::Refused { .. })));
    let narrow = FormatSpec::Bcsr { block_rows: 8, block_cols: 8 };
    let fixed = options("h200", 64).format(narrow);
    assert!(matches!(Planner::new(fixed).plan(&blocks()), Err(PlanError::Refused { .. })));
    let doubles = blocks().cast::<f64>();
    let plan = Planner::new(options("h200", 64)).plan(&doubles).unwrap();
    assert_eq!(plan.spec(), FormatSpec::Csr);
}

#[test]
fn planning_keeps_within_its_time_by_leaving_candidates_out() {
    let planned = |planning_seconds| {
        let options = options("cpu", 64).planning_seconds(planning_seconds);
        Planner::new(options).plan(&blocks()).unwrap()
    };
    let left_out = |what: &str, seconds| {
        let plan = planned(seconds);
        let is_left_out = |c: &&girih_planner::explanation::Candidate| matches!(&c.outcome, Outcome::Rejected { reason } if reason.contains(what) && reason.contains("for planning"));
        plan.explanation().candidates.iter().filter(is_left_out).count()
    };
    for enough in [None, Some(1e3)] {
        assert_eq!(left_out("", enough), 0);
    }
    // What WCSR of 16 rows and BMat need is counted for the workload anyway; replaying them is not.
    assert_eq!(left_out("counting", Some(0.0)), 6);
    assert_eq!(left_out("replaying", Some(0.0)), 2);
    assert_eq!(planned(Some(0.0)).explanation().candidates.len(), 10);
    assert_eq!(planned(Some(0.0)).spec(), FormatSpec::Csr);
    // The workload's count, and one more.
    let two = blocks().nnz() as f64 * 6.5e-9;
    assert_eq!(left_out("counting", Some(two)), 5);
    let options = options("cpu", 64).planning_seconds(Some(-1.0));
    assert!(matches!(Planner::new(options).plan(&blocks()), Err(PlanError::Options { .. })));
}

#[test]
fn only_who_allows_it_gets_atomic_additions() {
    for deterministic in [true, false] {
        let wcsr = FormatChoice::Fixed(FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 });
        let options = options("h200", 256).format(wcsr).deterministic(deterministic);
        let plan = Planner::new(options).plan(&skewed()).unwrap();
        let kinds: Vec<_> = plan.explanation().schedules.iter().map(|s| s.kind).collect();
        let atomic = ScheduleKind::Split(girih_planner::schedule::Reduction::Atomic);
        assert_eq!(kinds.contains(&atomic), !deterministic);
        if deterministic {
            assert_eq!(plan.schedule().reduction(), girih_planner::schedule::Reduction::TwoPass);
        }
    }
}

#[test]
fn planning_pays_back_if_the_plan_beats_csr() {
    let plan = Planner::new(options("h200", 256)).plan(&blocks()).unwrap();
    let explanation = plan.explanation();
    let csr = explanation.candidates[0].cost.unwrap().seconds;
    let chosen = explanation.chosen().unwrap().cost.unwrap().seconds;
    assert!(chosen < csr);
    let products = explanation.pays_back_after(1.0).unwrap();
    assert!((products * (csr - chosen) - 1.0).abs() <= csr - chosen);
    let scattered = girih_generate::uniform::<f32>(3000, 2000, 7, 1).unwrap();
    let plan = Planner::new(options("cpu", 64)).plan(&scattered).unwrap();
    assert_eq!(plan.spec(), FormatSpec::Csr);
    assert_eq!(plan.explanation().pays_back_after(1.0), None);
}
