//! The choice of a format, what the options demand of it, and that it is always the same one. When a format takes CSR's
//! place stands in `advantage`.

use girih_formats::{AnyTiling, Csr, DType, FormatError, FormatKind, FormatSpec, RowLayout};
use girih_planner::explanation::{Candidate, Outcome};
use girih_planner::{DeviceSpec, Explanation, Plan, PlanError, PlanOptions, Planner, Precision};

const SPECS: [FormatSpec; 8] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Bcsr { block_rows: 3, block_cols: 5 },
    FormatSpec::Wcsr { window_rows: 64, pad_cols: 16 },
    FormatSpec::BlockedEll { block_size: 16 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::BMat { pattern_only: true },
    FormatSpec::TwoFour,
];

pub(crate) fn plan(a: &Csr<f32>, options: PlanOptions) -> Result<Plan, PlanError> {
    Planner::new(options).plan(a)
}

fn fixed(spec: FormatSpec) -> PlanOptions {
    let target = DeviceSpec::cpu();
    PlanOptions::new(32).format(spec).target(target)
}

pub(crate) fn scattered() -> Csr<f32> {
    girih_generate::uniform(3000, 2000, 7, 1).unwrap()
}

fn file_of(plan: &Plan) -> Vec<u8> {
    let mut bytes = Vec::new();
    plan.write_to(&mut bytes).unwrap();
    bytes
}

fn chosen(explanation: &Explanation) -> &Candidate {
    let chosen: Vec<_> =
        explanation.candidates.iter().filter(|c| c.outcome == Outcome::Chosen).collect();
    assert_eq!(chosen.len(), 1);
    chosen[0]
}

fn seconds(candidate: &Candidate) -> f64 {
    candidate.cost.unwrap().seconds
}

#[test]
fn scattered_entries_stay_csr_and_full_blocks_become_tiles() {
    let options = || PlanOptions::new(32).target(DeviceSpec::cpu());
    assert_eq!(plan(&scattered(), options()).unwrap().spec(), FormatSpec::Csr);
    let blocks = girih_generate::block_sparse(1024, 1024, 64, 0.1, 1).unwrap();
    let kind = plan(&blocks, options()).unwrap().spec().kind();
    let is_dense = matches!(kind, FormatKind::Bcsr | FormatKind::Wcsr | FormatKind::BlockedEll);
    assert!(is_dense, "{kind}");
}

#[test]
fn the_winner_is_the_fastest_that_was_not_rejected() {
    for a in [scattered(), girih_generate::block_sparse(512, 512, 16, 0.2, 1).unwrap()] {
        for n in [0, 1, 64, 1000] {
            for exact_nonfinite in [false, true] {
                let target = DeviceSpec::cpu();
                let options = PlanOptions::new(n).exact_nonfinite(exact_nonfinite).target(target);
                let plan = plan(&a, options).unwrap();
                let explanation = plan.explanation();
                let winner = chosen(explanation);
                assert_eq!(winner.spec, plan.spec());
                for loser in explanation.candidates.iter().filter(|c| c.outcome == Outcome::Lost) {
                    // Of one format in two sizes, larger tiles win a tie; CSR loses by a third.
                    let tie = match winner.spec {
                        FormatSpec::Csr => 1.34,
                        spec if spec.kind() == loser.spec.kind() => 1.02,
                        _ => 1.0,
                    };
                    assert!(seconds(winner) <= tie * seconds(loser));
                }
                assert_eq!(explanation.candidates.len(), 10);
                let table = explanation.to_string();
                assert!(table.contains("blocked-ell 16x16") && table.contains(&explanation.reason));
                let mut costs = explanation.candidates.iter().filter_map(|c| c.cost);
                assert!(costs.all(|cost| cost.seconds.is_finite() && cost.seconds >= 0.0));
            }
        }
    }
}

#[test]
fn what_cannot_hold_the_matrix_says_why() {
    let crowded = girih_generate::pruned_weights(64, 64, 0.3, 1).unwrap();
    let explanation = plan(&crowded, PlanOptions::default()).unwrap().explanation().clone();
    let two_four = explanation.candidates.iter().find(|c| c.spec == FormatSpec::TwoFour).unwrap();
    match &two_four.outcome {
        Outcome::Rejected { reason } => assert!(reason.contains("2:4"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(two_four.cost, None);
    let error = plan(&crowded, fixed(FormatSpec::TwoFour)).unwrap_err();
    assert!(matches!(error, PlanError::Format(FormatError::NotTwoFour { .. })), "{error}");
    let holds = girih_generate::two_four::<f32>(64, 64, 1).unwrap();
    assert!(plan(&holds, fixed(FormatSpec::TwoFour)).is_ok());
}

#[test]
fn exactness_excludes_fill_in_and_nothing_else() {
    let exact = |spec| fixed(spec).exact_nonfinite(true);
    let full = girih_generate::block_sparse(64, 64, 16, 0.5, 1).unwrap();
    for (a, is_full) in [(scattered(), false), (full, true)] {
        for (spec, always) in [
            (FormatSpec::Csr, true),
            (FormatSpec::BMat { pattern_only: false }, true),
            (FormatSpec::Bcsr { block_rows: 16, block_cols: 16 }, false),
            (FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 }, false),
        ] {
            match plan(&a, exact(spec)) {
                Ok(_) => assert!(always || is_full),
                Err(error) => {
                    assert!(!always && !is_full);
                    assert!(error.to_string().contains("fill-in zeros"), "{error}");
                }
            }
        }
    }
}

#[test]
fn the_memory_limit_holds_and_says_how_much_is_needed() {
    let a = scattered();
    let bytes = plan(&a, fixed(FormatSpec::Csr)).unwrap().tile_bytes();
    let limited = |limit| PlanOptions::default().memory_limit(Some(limit));
    let kept = plan(&a, limited(bytes)).unwrap();
    assert!(kept.tile_bytes() <= bytes);
    let refused = |c: &&Candidate| matches!(&c.outcome, Outcome::Rejected { reason } if reason.contains("limit"));
    assert!(kept.explanation().candidates.iter().filter(refused).count() > 3);
    let error = plan(&a, limited(100)).unwrap_err();
    assert!(matches!(error, PlanError::NothingFits { .. }));
    assert!(error.to_string().contains(&bytes.to_string()), "{error}");
    let options = fixed(FormatSpec::Csr).memory_limit(Some(bytes - 1));
    let error = plan(&a, options).unwrap_err();
    assert!(matches!(error, PlanError::Refused { spec: FormatSpec::Csr, .. }));
    assert!(error.to_string().contains(&bytes.to_string()), "{error}");
}

#[test]
fn the_estimate_counts_the_bytes_that_are_built() {
    let ragged = girih_generate::uniform::<f32>(101, 67, 5, 3).unwrap();
    let empty = Csr::empty(5, 7).unwrap();
    let two_four = girih_generate::two_four(35, 43, 1).unwrap();
    for a in [ragged, empty, two_four] {
        for spec in SPECS {
            match plan(&a, fixed(spec)) {
                Ok(plan) => {
                    let cost = chosen(plan.explanation()).cost.unwrap();
                    assert_eq!(cost.tile_bytes, plan.tile_bytes(), "{spec}");
                }
                Err(PlanError::Format(FormatError::NotTwoFour { .. })) => {}
                Err(error) => panic!("{spec}: {error}"),
            }
        }
    }
}

#[test]
fn plans_are_the_same_bytes_on_any_number_of_threads() {
    let a = girih_generate::rmat::<f32>(10, 8, 1).unwrap();
    let holds = girih_generate::two_four::<f32>(100, 300, 1).unwrap();
    let order: Vec<u32> = (0..a.nrows() as u32).rev().collect();
    let reversed = RowLayout::explicit(a.nrows(), 1, order).unwrap();
    let files = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut files = vec![file_of(&plan(&a, PlanOptions::default()).unwrap())];
            for spec in SPECS {
                let a = if spec == FormatSpec::TwoFour { &holds } else { &a };
                files.push(file_of(&plan(a, fixed(spec)).unwrap()));
            }
            files.push(file_of(&Planner::default().plan_ordered(&a, &reversed).unwrap()));
            files
        })
    };
    let one = files(1);
    for threads in [2, 3, 7] {
        assert!(files(threads) == one, "{threads} threads gave other plans");
    }
}

#[test]
fn an_ordered_plan_holds_the_same_matrix() {
    let a = scattered();
    let order: Vec<u32> = (0..a.nrows() as u32).rev().collect();
    let reversed = RowLayout::explicit(a.nrows(), 1, order).unwrap();
    for spec in &SPECS[..6] {
        let plan = Planner::new(fixed(*spec)).plan_ordered(&a, &reversed).unwrap();
        let AnyTiling::F32(tiling) = plan.tiling() else { panic!("{}", plan.dtype()) };
        assert_eq!(tiling.layout().row(0), Some(a.nrows() - 1));
        assert_eq!(tiling.to_csr(), a);
    }
    let other = RowLayout::natural(a.nrows() + 1, 1).unwrap();
    assert!(matches!(Planner::default().plan_ordered(&a, &other), Err(PlanError::Format(_))));
}

#[test]
fn a_fingerprint_tells_values_from_pattern() {
    let fingerprint =
        |a: &Csr<f32>| *plan(a, fixed(FormatSpec::Csr)).unwrap().fingerprint().unwrap();
    let a = scattered();
    let same = fingerprint(&a);
    let scaled = a.with_values(a.values().iter().map(|v| 2.0 * v).collect::<Vec<f32>>()).unwrap();
    assert_eq!(fingerprint(&scaled).pattern, same.pattern);
    assert_ne!(fingerprint(&scaled).values, same.values);
    let other = girih_generate::uniform::<f32>(3000, 2000, 7, 2).unwrap();
    assert_ne!(fingerprint(&other).pattern, same.pattern);
}

#[test]
fn a_machine_that_cannot_be_is_refused() {
    let cpu = DeviceSpec::cpu;
    for target in [
        cpu().with(|device| device.memory_bandwidth = 0.0),
        cpu().with(|device| device.cache_bandwidth = f64::NAN),
        cpu().with(|device| device.bmat_tile_seconds = -1.0),
        cpu().with(|device| device.window_seconds = f64::INFINITY),
        cpu().with(|device| device.name = "\x1b[31m".to_owned()),
        cpu().with(|device| device.name = "x".repeat(1000)),
    ] {
        let error = plan(&scattered(), PlanOptions::default().target(target));
        assert!(matches!(error, Err(PlanError::Options { option: "target", .. })));
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    for spec in [
        FormatSpec::Bcsr { block_rows: 0, block_cols: 8 },
        FormatSpec::Bcsr { block_rows: 8, block_cols: 0 },
        FormatSpec::Wcsr { window_rows: 8, pad_cols: 0 },
        FormatSpec::BlockedEll { block_size: 0 },
        FormatSpec::Bcsr { block_rows: usize::MAX, block_cols: usize::MAX },
        FormatSpec::Bcsr { block_rows: 1 << 31, block_cols: 1 << 31 },
        FormatSpec::Wcsr { window_rows: 1 << 31, pad_cols: 1 << 31 },
        FormatSpec::BlockedEll { block_size: 1 << 31 },
    ] {
        assert!(plan(&scattered(), fixed(spec)).is_err(), "{spec}");
    }
}

#[test]
fn refreshed_values_give_the_plan_of_the_new_matrix() {
    let a = girih_generate::two_four::<f32>(100, 60, 1).unwrap();
    let values: Vec<f32> = a.values().iter().map(|v| 3.0 - v).collect();
    let renewed = a.with_values::<f32>(values).unwrap();
    for spec in SPECS.into_iter().filter(|&s| s != FormatSpec::BMat { pattern_only: true }) {
        let options = fixed(spec).keep_slot_map(true);
        let mut refreshed = plan(&a, options.clone()).unwrap();
        // A plan that went through a file is as good.
        let mut loaded = Plan::read_from(&file_of(&refreshed)[..]).unwrap();
        assert_eq!(loaded, refreshed);
        let anew = file_of(&plan(&renewed, options).unwrap());
        for plan in [&mut refreshed, &mut loaded] {
            plan.refresh_values(&renewed).unwrap();
            assert!(file_of(plan) == anew, "{spec}");
        }
        let other = girih_generate::two_four::<f32>(100, 60, 2).unwrap();
        assert!(matches!(loaded.refresh_values(&other), Err(PlanError::OtherMatrix)));
        assert!(matches!(loaded.refresh_values(&a.cast::<f64>()), Err(PlanError::OtherMatrix)));
        assert!(file_of(&loaded) == anew, "{spec}");
    }
    let mut without = plan(&a, fixed(FormatSpec::Csr)).unwrap();
    assert!(matches!(without.refresh_values(&a), Err(PlanError::NoSlotMap)));
    let pattern = FormatSpec::BMat { pattern_only: true };
    let options = fixed(pattern).keep_slot_map(true);
    assert!(matches!(plan(&a, options), Err(PlanError::Format(FormatError::NoValues))));
}

#[test]
fn types_of_16_bits_are_estimated_by_fits_of_the_nearest_type() {
    let xeon = DeviceSpec::builtin("emerald-rapids").unwrap();
    let zen5 = DeviceSpec::builtin("zen5").unwrap();
    let (spec, tf32) = (FormatSpec::Csr, Precision::Tf32);
    // A processor that was calibrated in f32 alone, as users' own device files often are.
    let f32_alone = zen5.clone().with(|device| device.fits.retain(|fit| fit.dtype == DType::F32));
    for dtype in [DType::F16, DType::Bf16] {
        assert_eq!(zen5.fit(spec, dtype, tf32).unwrap().dtype, dtype);
        assert!(xeon.fit(spec, dtype, tf32).is_some());
        assert_eq!(f32_alone.fit(spec, dtype, tf32), f32_alone.fit(spec, DType::F32, tf32));
    }
    assert_eq!(f32_alone.fit(spec, DType::F64, tf32), None);

    // By rates alone windows looked cheaper than CSR for small products, and took 20 times as long.
    let a = girih_generate::uniform::<half::f16>(1024, 1024, 20, 1).unwrap();
    for n in [1, 8] {
        for device in [&f32_alone, &xeon] {
            let plan = Planner::new(PlanOptions::new(n).target(device.clone())).plan(&a).unwrap();
            assert_eq!(plan.spec(), FormatSpec::Csr, "n = {n}, {}", device.name);
        }
    }
}
