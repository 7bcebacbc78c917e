//! What is written, byte by byte.
//!
//! `GIRIH_BLESS=1 cargo test -p girih-planner --lib golden` writes what is found over what is pinned. Do
//! so only where files of this version that exist still load: their header is frozen, and a new field of
//! its texts takes a default. Anything else takes a new version.

use std::fs;
use std::path::Path;

use girih_formats::{AnyTiling, Csr, DType, FormatSpec, PAD_COL, PAD_ROW, RowLayout, Tiling, Wcsr};
use girih_reorder::{Method, Permutation};

use crate::candidates::ScheduleOption;
use crate::cost::{Cost, Resource};
use crate::device::{DeviceSpec, Unit};
use crate::explanation::{Candidate, Explanation, Outcome};
use crate::file::{Attachment, LoadOptions};
use crate::fingerprint::Fingerprint;
use crate::kernels::KernelConfig;
use crate::options::{FormatChoice, PlanOptions};
use crate::ordering::{Considered, Reorder, Space};
use crate::plan::Plan;
use crate::schedule::ScheduleKind;
use crate::schedule::{ColRange, Columns, Reduction, Schedule, Task};

const GOLDEN: &str = "tests/plan_file/v3.1.girih";

const TARGET: &str = r#"
name = "A machine × 2"
kind = "cuda"
compute_capability = 90
simd_bits = 0
workers = 3
shared_bytes_per_block = 232448
shared_bytes_per_worker = 233472
memory_bandwidth = 4e12
cache_bandwidth = 6.8e12
cache_bytes = 52428800
private_cache_bytes = 131072
cache_latency_seconds = 0.6e-6
window_seconds = 5e-12
bmat_tile_seconds = 4e-12
task_seconds = 0.7e-6
launch_seconds = 4e-6
overlap = "full"
sparse_flops = { f16 = 1.2e13, bf16 = 1.1e13, f32 = 9.6e12, f64 = 4.4e12 }
tile_flops = { f16 = 7.9e14, bf16 = 7.8e14, f32 = 3.95e14, f64 = 0.0 }
efficiency = { csr = 1.0, bcsr = 0.7, wcsr = 0.6, blocked_ell = 0.16, bmat = 0.44, two_four = 1.4 }
value_seconds = { csr = 6.8e-12, bcsr = 0.0, wcsr = 0.1, blocked_ell = 0.0, bmat = 1e-12, two_four = 0.0 }

[[fits]]
spec = { Wcsr = { window_rows = 16, pad_cols = 8 } }
dtype = "Bf16"
seconds = { product = 1.0000000000000002e-6, from_memory = 0.1 }
quality = { held_out = 7, r2 = 0.5, mean_relative_error = 0.25, max_relative_error = 3.0 }
"#;

fn cost(seconds: f64) -> Cost {
    Cost {
        tile_bytes: 1 << 40,
        fill_ratio: 0.1,
        b_fetched_bytes: 1e300,
        b_memory_bytes: 5e-324,
        c_bytes: -0.0,
        a_passes: 1.0,
        flops: f64::INFINITY,
        unit: Unit::Tiles,
        memory_seconds: 1.0 / 3.0,
        cache_seconds: 0.3,
        compute_seconds: 1e-9,
        overhead_seconds: 2.5,
        imbalance: f64::NEG_INFINITY,
        seconds,
        dominant: Resource::Overhead,
    }
}

fn option(kind: ScheduleKind) -> ScheduleOption {
    ScheduleOption {
        kind,
        limit: u64::MAX,
        tasks: 3,
        split_windows: 1,
        makespan: 1.5e-6,
        imbalance: 1.25,
        idle_share: 0.125,
        stretch: 1.0,
    }
}

fn explanation() -> Explanation {
    let wcsr = FormatSpec::Wcsr { window_rows: 2, pad_cols: 3 };
    let config = || KernelConfig {
        entry: "wide".to_owned(),
        block_cols: 512,
        threads: 384,
        stages: 3,
        stage_tiles: 4,
        shared_bytes: 200_704,
        blocks_per_worker: 1,
        rows_together: 0,
    };
    let candidate = |spec, outcome, cost: Option<Cost>| Candidate {
        spec,
        config: cost.map(|_| config()),
        schedule: cost.map(|_| option(ScheduleKind::Partitions)),
        outcome,
        cost,
    };
    let rejected = || Outcome::Rejected { reason: "it has \"fill-in\" of 2 × 3".to_owned() };
    let considered = |name: &str, outcome, spec| Considered {
        name: name.to_owned(),
        outcome,
        spec,
        permutes_b: true,
        packed_cols: 7,
        seconds: 0.1,
    };
    Explanation {
        reason: "wcsr 2/3 is fastest: “so it is”".to_owned(),
        candidates: vec![
            candidate(FormatSpec::Csr, Outcome::Lost, None),
            candidate(wcsr, Outcome::Chosen, Some(cost(4.75e-6))),
            candidate(FormatSpec::TwoFour, rejected(), Some(cost(f64::NEG_INFINITY))),
            candidate(FormatSpec::BMat { pattern_only: false }, Outcome::Lost, None),
            candidate(FormatSpec::Bcsr { block_rows: 8, block_cols: 4 }, rejected(), None),
            candidate(FormatSpec::BlockedEll { block_size: 16 }, Outcome::Lost, None),
        ],
        schedule: "3 tasks in 3 partitions".to_owned(),
        schedules: [
            ScheduleKind::Partitions,
            ScheduleKind::Split(Reduction::Atomic),
            ScheduleKind::Split(Reduction::TwoPass),
            ScheduleKind::Windows,
            ScheduleKind::Tasks,
        ]
        .map(option)
        .to_vec(),
        order: "rows are as they were given".to_owned(),
        orderings: vec![
            considered("natural", Outcome::Lost, None),
            considered("window:2", Outcome::Chosen, Some(wcsr)),
        ],
        measured: None,
    }
}

/// A plan with everything that a plan can hold, put together by hand: nothing of it follows from what
/// the planner would choose.
///
/// ```text
/// 1 . . 2 . .
/// . . . 3 . .
/// . . . . . .
/// . 4 . . . 5
/// 6 7 . . . .
/// ```
fn everything() -> Plan {
    // Rows 4 and 3, an empty slot and row 0, rows 1 and 2.
    let layout = RowLayout::explicit(5, 2, vec![4, 3, PAD_ROW, 0, 1, 2]).unwrap();
    let cols = vec![0, 1, 5, 0, 3, PAD_COL, 3, PAD_COL, PAD_COL];
    let values = [6, 7, 0, 0, 0, 0, 3, 0, 0, 0, 4, 5, 1, 2, 0, 0, 0, 0];
    let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
    let tiling = Wcsr::try_new(layout, 6, 7, 3, vec![0, 3, 6, 9], cols, values).unwrap();
    let tiling = Tiling::Wcsr(tiling);
    let held: Csr<f32> = tiling.to_csr();
    let slot_map = tiling.slot_map(held.pattern()).unwrap();
    let tile_ptr: Vec<u64> = (0..=3).map(|w| tiling.tile_ptr(w)).collect();
    let task = |windows: std::ops::Range<usize>| Task {
        window_start: windows.start as u64,
        window_end: windows.end as u64,
        tile_start: tile_ptr[windows.start],
        tile_end: tile_ptr[windows.end],
    };
    let tiling = AnyTiling::from(tiling);
    let columns = Columns {
        cut_for: 4,
        ranges: [(0, 3), (3, 4), (0, 4)]
            .map(|(start, end)| ColRange { start, end })
            .to_vec()
            .into(),
        partition_ptr: vec![0, 2, 2, 3].into(),
    };
    let tasks = vec![task(0..1), task(0..1), task(1..3)];
    let schedule =
        Schedule::try_from_parts(tasks, Some(columns), Reduction::Atomic, &tiling).unwrap();
    let cols = Permutation::try_new(vec![3, 5, 0, 1, 4, 2]).unwrap();
    let mut plan = Plan::from_tiling(tiling).with_columns(cols).unwrap();
    plan.schedule = schedule;
    plan.slot_map = Some(slot_map);
    plan.options = PlanOptions {
        n: 4,
        format: FormatChoice::Fixed(plan.spec()),
        reorder: Reorder::By(Method::Window { window_rows: Some(2) }),
        space: Space::Caller,
        exact_nonfinite: false,
        memory_limit: Some(u64::MAX),
        keep_slot_map: true,
        deterministic: false,
        planning_seconds: Some(0.1),
        target: DeviceSpec::from_toml(TARGET).unwrap(),
        ..PlanOptions::default()
    };
    plan.fingerprint =
        Some(Fingerprint { dtype: DType::F32, pattern: 0x0123_4567_89AB_CDEF, values: u64::MAX });
    plan.explanation = explanation();
    let layout = Attachment::new("cpu", "avx512, 2 threads, 1 MiB")
        .and_then(|a| a.with_array("order", vec![4u32, 3, 2, 1, 0]))
        .and_then(|a| a.with_array("values", vec![1.5f32, f32::MIN_POSITIVE]))
        .and_then(|a| a.with_array("empty", Vec::<u64>::new()))
        .and_then(|a| a.with_array("flags", vec![1u8, 2, 255]));
    plan.attach(layout.unwrap()).unwrap();
    plan.attach(Attachment::new("another", "of no arrays").unwrap()).unwrap();
    plan
}

#[test]
fn golden_bytes_are_written_and_read() {
    let plan = everything();
    let mut found = Vec::new();
    plan.write_to(&mut found).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(GOLDEN);
    if std::env::var_os("GIRIH_BLESS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let pinned = fs::read(&path).unwrap();
    assert_eq!(LoadOptions::default().read_bytes(&pinned).unwrap(), plan);
    let differs = found.iter().zip(&pinned).position(|(a, b)| a != b);
    assert!(
        found == pinned,
        "the encoding has changed, at byte {differs:?} of {}; see this test's module",
        found.len()
    );
}

#[test]
fn a_plan_that_could_not_be_loaded_is_not_saved() {
    let save = |plan: &Plan| plan.write_to(Vec::new()).unwrap_err().to_string();
    let mut plan = everything();
    plan.explanation.orderings[0].name = "a\u{7}".to_owned();
    assert!(save(&plan).contains("control characters"));
    let mut plan = everything();
    plan.options.target.workers = 0;
    assert!(save(&plan).contains("workers"));
    let mut plan = everything();
    plan.explanation.schedules = vec![plan.explanation.schedules[0]; 1025];
    assert!(save(&plan).contains("1024"));
}
