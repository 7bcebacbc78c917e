//! Files of every version, as they were written: each still loads to the plan that it was.

use girih_formats::{
    AnyTiling, Complex, Coo, Csr, DType, Duplicates, E4m3, E4m3Overflow, E4m3Scales, FormatSpec,
    Real, RowLayout, ScalesPer, Tiling, TwoFour, f16, for_real_tiling,
};
use girih_planner::explanation::{Outcome, ScheduleKind};
use girih_planner::file::LoadOptions;
use girih_planner::schedule::Reduction;
use girih_planner::{FormatChoice, Plan, Reorder, Space};
use girih_reorder::Method;

use crate::support::file_of;

const V1_0: &[u8] = include_bytes!("v1.0.girih");
const V2_0: &[u8] = include_bytes!("v2.0.girih");
const V2_0_PARTITIONS: &[u8] = include_bytes!("v2.0-partitions.girih");
const V3_0: &[u8] = include_bytes!("v3.0.girih");
const V3_1: &[u8] = include_bytes!("v3.1.girih");
const V3_2: &[u8] = include_bytes!("v3.2.girih");
const V3_3: &[u8] = include_bytes!("v3.3.girih");
const V3_3_E4M3: &[u8] = include_bytes!("v3.3-e4m3.girih");
const V2_0_ORDERS: &[u8] = include_bytes!("v2.0-orders.girih");

/// Every file of an older version.
pub(crate) const OLDER: [&[u8]; 5] = [V1_0, V2_0, V2_0_PARTITIONS, V2_0_ORDERS, V3_0];

fn load(file: &[u8]) -> Plan {
    LoadOptions::default().read_bytes(file).unwrap()
}

/// The matrix of a plan, with rows and columns in its own order.
fn matrix<T: Real>(plan: &Plan) -> Csr<T> {
    for_real_tiling!(plan.tiling(), t => plan.release(&t.to_csr().cast::<T>()).unwrap(), complex => unreachable!())
}

fn of_entries<T: Real>(
    (nrows, ncols): (usize, usize),
    entries: impl Iterator<Item = (u32, u32, f32)>,
) -> Csr<T> {
    let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (i, j, x) in entries {
        rows.push(i);
        cols.push(j);
        values.push(T::from_f64(f64::from(x)));
    }
    let coo = Coo::try_new(nrows, ncols, rows, cols, values).unwrap();
    coo.into_csr(Duplicates::Refuse).unwrap()
}

/// 48×70, three entries to a row and 60 to every sixteenth.
fn with_long_rows<T: Real>() -> Csr<T> {
    let row = |i: u32| {
        let entries = if i % 16 == 5 { 60 } else { 3 };
        (0..entries).map(move |t| {
            let value = (f64::from((i * 7 + t * 3) % 32) - 16.0) / 4.0;
            (i, (i * 13 + t * 11) % 70, if value == 0.0 { 0.5 } else { value as f32 })
        })
    };
    of_entries((48, 70), (0..48).flat_map(row))
}

/// B with small integers, and C = A·B from the tiles by the schedule: every task adds what it has to
/// the rows and columns of C that it is for.
fn product(plan: &Plan, n: usize) -> Vec<f64> {
    let b = |j: usize, c: usize| ((3 * j + 5 * c) % 7) as f64 - 3.0;
    let AnyTiling::F32(Tiling::BMat(tiling)) = plan.tiling() else { panic!("{}", plan.spec()) };
    let held = Tiling::BMat(tiling.clone()).to_csr();
    let columns = plan.schedule().columns().unwrap();
    let (rows, cols) = (plan.row_permutation(), plan.col_permutation().unwrap());
    // The tiles hold P·A·Qᵀ: row `new(i)` of them is row i of A, column `new(j)` its column j.
    let (old_row, old_col) = (rows.inverse(), cols.inverse());
    let mut c = vec![0.0; plan.nrows() * n];
    let mut done = vec![false; plan.nrows() * n];
    for (at, task) in plan.schedule().tasks().iter().enumerate() {
        for window in task.windows() {
            for row in 16 * window..(16 * window + 16).min(plan.nrows()) {
                let (entries, values) = held.row(row);
                let i = old_row.new_index(row);
                for col in columns.of_task(at, n) {
                    assert!(!std::mem::replace(&mut done[i * n + col], true), "computed twice");
                    c[i * n + col] = entries
                        .iter()
                        .zip(values)
                        .map(|(&j, &x)| f64::from(x) * b(old_col.new_index(j as usize), col))
                        .sum();
                }
            }
        }
    }
    assert!(done.iter().all(|&done| done), "a part of C is not computed");
    let a = with_long_rows::<f64>();
    for i in 0..plan.nrows() {
        for col in 0..n {
            let (entries, values) = a.row(i);
            let terms = entries.iter().zip(values).map(|(&j, &x)| x * b(j as usize, col));
            assert_eq!(c[i * n + col], terms.sum::<f64>(), "C({i}, {col})");
        }
    }
    c
}

#[test]
fn version_1_is_read() {
    let plan = load(V1_0);
    assert_eq!(plan.spec(), FormatSpec::TwoFour);
    assert_eq!(plan.schedule().reduction(), Reduction::TwoPass);
    assert_eq!(matrix::<f32>(&plan), girih_generate::two_four::<f32>(9, 11, 1).unwrap());
    assert!(!plan.explanation().candidates.is_empty());
    assert_eq!(plan.explanation().chosen().unwrap().spec, FormatSpec::TwoFour);
}

/// Windows of 16 rows in the window ordering, for an H200.
#[test]
fn version_2_is_read() {
    let plan = load(V2_0);
    assert_eq!(plan.spec(), FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 });
    assert_eq!((plan.options().n, plan.space()), (64, Space::Caller));
    assert!(!plan.row_permutation().is_identity());
    let target = &plan.options().target;
    assert_eq!((target.name.as_str(), target.workers), ("NVIDIA H200", 132));
    assert_eq!((target.cache_bytes, target.cache_latency_seconds), (52_428_800, 0.6e-6));
    let entry = |at: u32| {
        let (i, t) = (at / 5, at % 5);
        (i, (i * 7 + t * 11) % 50, (i + 1) as f32 + t as f32 / 8.0)
    };
    assert_eq!(matrix::<f32>(&plan), of_entries((60, 50), (0..300).map(entry)));
}

/// A BMat in RCM's order and a space of its own, cut by columns for an H200's multiprocessors.
#[test]
fn a_reordered_plan_of_version_2_in_partitions_is_read() {
    let plan = load(V2_0_PARTITIONS);
    assert_eq!(plan.spec(), FormatSpec::BMat { pattern_only: false });
    assert_eq!(plan.space(), Space::Permuted);
    assert_eq!(plan.options().reorder, Reorder::By(Method::Rcm));
    assert_eq!(plan.options().format, FormatChoice::Fixed(plan.spec()));
    let columns = plan.schedule().columns().unwrap();
    assert_eq!((columns.cut_for, columns.n_partitions()), (512, 132));
    assert_eq!(plan.schedule().tasks().len(), 96);
    assert!(!plan.row_permutation().is_identity());
    assert!(plan.col_permutation().is_some_and(|cols| !cols.is_identity()));
    assert_eq!(matrix::<f32>(&plan), with_long_rows::<f32>());
    for n in [1, 64, 512, 600] {
        assert_eq!(product(&plan, n).len(), 48 * n);
    }
    let explanation = plan.explanation();
    assert_eq!(explanation.schedules[0].kind, ScheduleKind::Partitions);
    assert_eq!((explanation.schedules[0].tasks, explanation.schedules.len()), (96, 2));
    assert_eq!(explanation.order, "rows are in the order that was asked for, rcm");
    let cost = explanation.chosen().unwrap().cost.unwrap();
    assert!((4.8e-6..4.9e-6).contains(&cost.seconds), "{}", cost.seconds);
}

/// Every sort of order considered, every sort of schedule too, in f16.
#[test]
fn a_plan_of_version_2_that_considered_much_is_read() {
    let plan = load(V2_0_ORDERS);
    assert_eq!(plan.dtype(), DType::F16);
    assert_eq!(plan.options().reorder, Reorder::Auto);
    assert!(!plan.options().deterministic);
    assert_eq!(plan.options().memory_limit, Some(4 << 30));
    assert_eq!(matrix::<f32>(&plan), with_long_rows::<f32>());
    let explanation = plan.explanation();
    let names: Vec<&str> = explanation.orderings.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["natural", "rcm", "window:16"]);
    assert_eq!(explanation.orderings[0].outcome, Outcome::Chosen);
    assert_eq!(explanation.orderings[2].packed_cols, 118);
    let kinds: Vec<&str> = explanation.schedules.iter().map(|s| s.kind.name()).collect();
    assert_eq!(kinds, ["one window each", "split windows, atomic", "split windows, two-pass"]);
}

/// Everything that a plan can hold, put together by hand in `src/file/tests.rs`, which also holds the
/// writer of today to these bytes.
#[test]
fn version_3_is_read() {
    let plan = load(V3_1);
    assert_eq!(load(V3_0), plan);
    assert_eq!(plan.spec(), FormatSpec::Wcsr { window_rows: 2, pad_cols: 3 });
    let cols = plan.b_permutation().unwrap();
    assert_eq!((0..6).map(|j| cols.new_index(j)).collect::<Vec<_>>(), [3, 5, 0, 1, 4, 2]);
    let AnyTiling::F32(Tiling::Wcsr(tiling)) = plan.tiling() else { panic!("{}", plan.spec()) };
    assert_eq!(tiling.layout().slots().unwrap()[..], [4, 3, u32::MAX, 0, 1, 2]);
    assert_eq!(tiling.window_ptr()[..], [0, 3, 6, 9]);
    let pad = u32::MAX;
    assert_eq!(tiling.window_col_idx()[..], [0, 1, 5, 0, 3, pad, 3, pad, pad]);
    let values = [6, 7, 0, 0, 0, 0, 3, 0, 0, 0, 4, 5, 1, 2, 0, 0, 0, 0].map(|x| x as f32);
    assert_eq!(tiling.values()[..values.len()], values);
    let columns = plan.schedule().columns().unwrap();
    let ranges: Vec<_> = columns.ranges.iter().map(|r| (r.start, r.end)).collect();
    assert_eq!((ranges, columns.cut_for), (vec![(0, 3), (3, 4), (0, 4)], 4));
    assert_eq!(columns.partition_ptr[..], [0, 2, 2, 3]);
    assert_eq!(plan.schedule().reduction(), Reduction::Atomic);

    let options = plan.options();
    assert_eq!((options.n, options.memory_limit), (4, Some(u64::MAX)));
    assert_eq!(options.reorder, Reorder::By(Method::Window { window_rows: Some(2) }));
    assert_eq!((options.target.name.as_str(), options.target.workers), ("A machine × 2", 3));
    assert_eq!(options.target.fits[0].seconds.product, 1.000_000_000_000_000_2e-6);
    let fingerprint = plan.fingerprint().unwrap();
    assert_eq!((fingerprint.pattern, fingerprint.values), (0x0123_4567_89AB_CDEF, u64::MAX));

    let explanation = plan.explanation();
    assert_eq!(explanation.reason, "wcsr 2/3 is fastest: “so it is”");
    assert_eq!(explanation.chosen().unwrap().cost.unwrap().flops, f64::INFINITY);
    assert_eq!(explanation.schedules.len(), 5);
    assert_eq!(explanation.orderings[1].name, "window:2");
    let layout = plan.attachment("cpu", "avx512, 2 threads, 1 MiB").unwrap();
    assert_eq!(layout.array::<u32>("order").unwrap()[..], [4, 3, 2, 1, 0]);
    assert_eq!(layout.array::<f32>("values").unwrap()[..], [1.5, f32::MIN_POSITIVE]);
    assert_eq!(layout.array::<u64>("empty").unwrap().len(), 0);
    assert_eq!(layout.array::<u8>("flags").unwrap()[..], [1, 2, 255]);
    assert_eq!(plan.attachments().len(), 2);
}

/// A hermitian matrix in c64, in blocks of 2×2, by windows: files of complex values have a version of their own.
#[test]
fn version_3_2_is_read() {
    let c = Complex::new;
    let entries = [
        (0, 0, c(2.0, 0.0)),
        (0, 2, c(0.5, -1e-300)),
        (1, 1, c(-1.0, 0.25)),
        (2, 0, c(0.5, 1e-300)),
        (4, 4, c(0.0, 7.0)),
    ];
    let a = Csr::from_triplets(5, 5, entries).unwrap();
    let spec = FormatSpec::Bcsr { block_rows: 2, block_cols: 2 };
    let plan = load(V3_2);
    assert_eq!((plan.dtype(), plan.spec(), plan.nnz()), (DType::C64, spec, 5));
    let AnyTiling::C64(tiling) = plan.tiling() else { panic!("{}", plan.dtype()) };
    assert_eq!(tiling.to_csr(), a);
    assert_eq!(plan.options().n, 3);
    assert!(plan.explanation().reason.contains("two products in f64 with 6 columns"));
    assert_eq!((V3_2[8..12].to_vec(), file_of(&plan)), (vec![3, 0, 2, 0], V3_2.to_vec()));
}

/// Four rows alike, which are packed, before rows of their own columns: files that name hybrids have a version of
/// their own.
#[test]
fn version_3_3_is_read() {
    let alike = (0..4).flat_map(|i| [0, 2, 5].map(|j| (i, j, (8 * i + j + 1) as f32)));
    let others = [(4, 1, 0.5), (5, 3, -2.0), (5, 7, 4.0)];
    let plan = load(V3_3);
    let spec = FormatSpec::Hybrid { window_rows: 4, pad_cols: 8, tile_entries: 12 };
    assert_eq!((plan.spec(), plan.options().format), (spec, FormatChoice::Fixed(spec)));
    let AnyTiling::F32(Tiling::Hybrid(tiling)) = plan.tiling() else { panic!("{}", plan.spec()) };
    assert_eq!([0, 1].map(|w| tiling.is_packed(w)), [true, false]);
    let pad = u32::MAX;
    assert_eq!(tiling.window_col_idx()[..], [0, 2, 5, pad, pad, pad, pad, pad]);
    assert_eq!(tiling.row_ptr()[..], [0, 0, 0, 0, 0, 1, 3, 3, 3]);
    assert_eq!(
        (&tiling.col_idx()[..], &tiling.values()[32..]),
        (&[1, 3, 7][..], &[0.5, -2.0, 4.0][..])
    );
    assert_eq!(matrix::<f32>(&plan), of_entries((7, 8), alike.chain(others)));
    assert_eq!((V3_3[8..12].to_vec(), file_of(&plan)), (vec![3, 0, 3, 0], V3_3.to_vec()));
}

/// A matrix in e4m3 with a scale for each row, for a generic CPU: its files have a version of their own too.
#[test]
fn version_3_3_is_read_in_e4m3() {
    let plan = load(V3_3_E4M3);
    let spec = FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row };
    assert_eq!((plan.dtype(), plan.spec(), plan.nnz()), (DType::F16, spec, 5));
    assert_eq!(plan.tiling(), narrow_plan().tiling());
    let AnyTiling::F16(Tiling::TwoFour(tiling)) = plan.tiling() else { panic!("{}", plan.spec()) };
    let narrow = tiling.e4m3().unwrap();
    assert_eq!(narrow.scales()[..], [1.0 / 64.0, 1.0, 0.5]);
    let codes: Vec<u8> = narrow.codes().iter().map(E4m3::to_bits).collect();
    // 448 and 7 are 0x7e and 0x4e; −448, −0.25 and 1 have 0xfe, 0xa8 and 0x38.
    assert_eq!(codes, [0x7e, 0x4e, 0, 0, 0, 0, 0, 0, 0x38, 0xfe, 0xa8, 0]);
    assert_eq!((V3_3_E4M3[8..12].to_vec(), file_of(&plan)), (vec![3, 0, 3, 0], V3_3_E4M3.to_vec()));
}

/// The plan of `v3.3-e4m3.girih`.
fn narrow_plan() -> Plan {
    let entries = [(0, 1, 7.0), (0, 2, 7.0 / 64.0), (2, 0, 0.5), (2, 2, -224.0), (2, 4, -0.125)];
    let entries = entries.map(|(i, j, x)| (i, j, f16::from_f64(x)));
    let a = Csr::from_triplets(3, 5, entries).unwrap();
    let scales = E4m3Scales::of(&a, ScalesPer::Row);
    let layout = RowLayout::natural(3, 1).unwrap();
    let tiled = TwoFour::from_csr_e4m3(&a, layout, &scales, E4m3Overflow::Error).unwrap();
    Plan::from_tiling(Tiling::TwoFour(tiled))
}

/// What a plan of an older version says and holds survives being saved in the version of today.
#[test]
fn older_versions_are_saved_in_this_one() {
    for file in OLDER {
        let plan = load(file);
        let saved = file_of(&plan);
        assert_eq!(saved[8..12], [3, 0, 1, 0]);
        assert_eq!(load(&saved), plan);
        assert_eq!(file_of(&load(&saved)), saved);
    }
}
