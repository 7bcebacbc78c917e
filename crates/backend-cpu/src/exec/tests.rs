//! Products do what their lowering says.

use std::path::PathBuf;
use std::thread;

use girih_backend::{DenseScalar, PreparedSpmm};
use girih_formats::io::{ReadOptions, read};
use girih_formats::{Csr, FormatSpec, RealNumber, RowLayout, Scalar, Tiling};
use girih_generate::{fem_3d, laplacian_5pt, power_law_rows, two_four, uniform};
use girih_planner::Schedule;
use girih_simd::{Recorder, lanes};
use half::f16;
use ndarray::{ArrayView2, ArrayViewMut2};

use super::Prepared;
use crate::Isa;
use crate::exec::team::Team;
use crate::kernels::CpuScalar;
use crate::lowering::Case;
use crate::machine::{Machine, Vendor};
use crate::prepare::lower;

const WIDTHS: [usize; 4] = [1, 8, 64, 512];

const SPECS: [FormatSpec; 8] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Bcsr { block_rows: 64, block_cols: 1 },
    FormatSpec::Wcsr { window_rows: 32, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
    FormatSpec::BlockedEll { block_size: 16 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::TwoFour,
];

/// Machines with small caches, so that small matrices reach every threshold.
fn machines() -> [Machine; 4] {
    [
        Machine::with_caches(64 << 10, 8 << 10).with_vendor(Vendor::Amd),
        Machine::with_caches(1 << 20, 128 << 10).with_vendor(Vendor::Amd),
        Machine::with_caches(1 << 20, 128 << 10).with_vendor(Vendor::Intel),
        Machine::with_caches(32 << 20, 1 << 20).with_vendor(Vendor::Other),
    ]
}

/// How often each thing was seen, so that no comparison is empty.
#[derive(Debug, Default)]
struct Seen {
    packed: usize,
    widened: usize,
    copied: usize,
    prefetched: [usize; 2],
    whole_rows: usize,
    packed_strips: usize,
    /// Of a C that begins with a cache line, or beside one.
    past_caches: [usize; 2],
    alone: usize,
    kernels: std::collections::BTreeSet<&'static str>,
}

/// Multiplies by plans for each number of columns, and each plan by other numbers too.
fn agrees<T>(a: &Csr<T>, spec: FormatSpec, case: impl Fn(Case) -> Case, cut: bool, seen: &mut Seen)
where
    T: CpuScalar + DenseScalar,
{
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let Ok(tiling) = Tiling::from_csr(a, spec, layout) else { return };
    let schedule = match cut {
        true => Schedule::by_tiles(&tiling, tiling.n_tiles() / 7 + 1),
        false => Schedule::by_window(&tiling),
    };
    let many = WIDTHS.map(|n| (n, false));
    for (plan_n, once) in many.into_iter().chain([(1, true), (64, true)]) {
        let case = case(Case::new(&tiling, plan_n, 1, Isa::best(), Machine::detect()));
        let case = Case { once, ..case };
        let team = Team::with_threads(case.threads).unwrap();
        let mut prepared = Prepared::build(case, team, &tiling, &schedule).unwrap();
        // Copies that are only counted have the same numbers.
        assert_eq!(lower(&tiling, &schedule, case).unwrap(), prepared.lowering);
        assert!(!once || prepared.csr_layout.is_none());
        let recorder = Recorder::leaked();
        prepared.recorder = Some(recorder);
        for n in WIDTHS {
            does_as_lowered(&prepared, recorder, a, n, seen);
        }
    }
}

fn does_as_lowered<T: CpuScalar + DenseScalar>(
    prepared: &Prepared<T>,
    recorder: &Recorder,
    a: &Csr<T>,
    n: usize,
    seen: &mut Seen,
) {
    for skip in [0, 4] {
        does_as_lowered_beside(skip, prepared, recorder, a, n, seen);
    }
}

/// For a B and a C whose first rows begin `skip` elements after a cache line.
fn does_as_lowered_beside<T: CpuScalar + DenseScalar>(
    skip: usize,
    prepared: &Prepared<T>,
    recorder: &Recorder,
    a: &Csr<T>,
    n: usize,
    seen: &mut Seen,
) {
    let (m, k) = (a.nrows(), a.ncols());
    let (b, mut c) = (vec![T::ONE; k * n + 64], vec![T::Acc::ZERO; m * n + 64]);
    let [b_first, c_first] =
        [b.as_ptr().align_offset(64), c.as_ptr().align_offset(64)].map(|line| line + skip);
    let b = ArrayView2::from_shape((k, n), &b[b_first..][..k * n]).unwrap();
    let c = ArrayViewMut2::from_shape((m, n), &mut c[c_first..][..m * n]).unwrap();
    prepared.execute(1.0, T::erase(b), 0.0, T::erase_acc_mut(c)).unwrap();
    let trace = recorder.take();
    let said = prepared.lowering(n);
    let at = format!("{:?}\n{said}\n{trace:?}", prepared.lowering.case);
    let is = |what: &str, choice: &str| said.choice(what).is_some_and(|c| c.starts_with(choice));
    let kernel = match said.choice("kernel").unwrap() {
        "rows of CSR sorted by length" => "sorted",
        "tiles of CSR by patterns" => "patterns",
        "dense strips" => "strip",
        "decoded rows" | "rows of CSR as stored" => "rows",
        other => panic!("{other}"),
    };
    // Split windows are not multiplied by a copy.
    let is_split = said.choice("split windows").is_some();
    let others =
        trace.kernels.iter().filter(|&&trace| trace != kernel && !(is_split && trace == "rows"));
    assert_eq!(others.count(), 0, "{at}");
    assert!(is_split || trace.kernels.contains(kernel), "{at}");
    assert_eq!(is("B", "packed"), !trace.packed.is_empty(), "{at}");
    assert_eq!(is("B", "widened"), trace.widened_b, "{at}");
    let unit = (n * size_of::<T>()).next_power_of_two().min(64);
    let begins_beside = !(skip * size_of::<T>()).is_multiple_of(unit);
    let copies = is("copy of B", "into cache lines, unless")
        || is("copy of B", "into cache lines, if") && begins_beside;
    assert_eq!(copies, trace.copied_into_lines, "{at}");
    if is("B", "packed") {
        let widest = trace.packed.last().copied().unwrap();
        let vectors = widest.div_ceil(lanes::<T>());
        assert!(
            is("B", "packed in")
                && said.choice("B").unwrap().contains(&format!("{vectors} vectors")),
            "{at}"
        );
    }
    let prefetched = [trace.prefetched_b, trace.prefetched_a];
    let whole_kernel_ran = trace.kernels.contains(kernel);
    if whole_kernel_ran {
        assert_eq!(
            ["prefetch of B", "prefetch of A"].map(|what| is(what, "yes")),
            prefetched,
            "{at}"
        );
    }
    assert_eq!(is("strip packing", "yes"), trace.packed_strips, "{at}");
    let has_long_rows = (0..m).any(|row| a.row(row).0.len() >= 64);
    let reads_whole = said.choice("rows of B").is_some();
    assert!(reads_whole || is_split || !trace.whole_rows, "{at}");
    if !is_split
        && kernel != "sorted"
        && prepared.lowering.case.spec == FormatSpec::Csr
        && has_long_rows
    {
        assert_eq!(reads_whole, trace.whole_rows, "{at}");
    }
    // Whether it is written past the caches from there, too.
    let text = said.to_string();
    let anywhere = text.contains("wherever its first row") || text.contains("as far after one");
    let past = is("C", "written past") && (skip == 0 || anywhere);
    assert!(past || !trace.past_caches, "{at}");
    if matches!(kernel, "sorted" | "patterns") && whole_kernel_ran {
        assert_eq!(past, trace.past_caches, "{at}");
    }
    let alone = is("threads", "the calling");
    if alone {
        assert_eq!(trace.threads, [thread::current().id()], "{at}");
    }
    assert!(trace.threads.len() <= prepared.lowering.case.threads, "{at}");
    seen.packed += usize::from(!trace.packed.is_empty());
    seen.widened += usize::from(trace.widened_b);
    seen.copied += usize::from(trace.copied_into_lines);
    seen.prefetched[0] += usize::from(trace.prefetched_b);
    seen.prefetched[1] += usize::from(trace.prefetched_a);
    seen.whole_rows += usize::from(trace.whole_rows);
    seen.packed_strips += usize::from(trace.packed_strips);
    seen.past_caches[skip.min(1)] += usize::from(trace.past_caches);
    seen.alone += usize::from(alone);
    seen.kernels.extend(&trace.kernels);
}

fn matrices<T: Scalar>() -> Vec<Csr<T>> {
    vec![
        fem_3d(5, 5, 5, 3, 1).unwrap(),
        uniform(300, 900, 24, 1).unwrap(),
        uniform(80, 1100, 180, 1).unwrap(),
        laplacian_5pt(50, 30).unwrap(),
        power_law_rows(200, 700, 60, 3).unwrap(),
        two_four(100, 400, 1).unwrap(),
    ]
}

fn generated<T: CpuScalar + DenseScalar>() -> Seen {
    let mut seen = Seen::default();
    let isas: Vec<_> = Isa::ALL.into_iter().filter(|isa| isa.is_available()).collect();
    for (i, a) in matrices::<T>().iter().enumerate() {
        for (s, spec) in SPECS.into_iter().enumerate() {
            for (m, machine) in machines().into_iter().enumerate() {
                // Every instruction set goes with every machine for some matrix.
                let isa = isas[(i + s + m) % isas.len()];
                let threads = [1, 2, 4][(i + m) % 3];
                let case = |case| Case { machine, isa, threads, ..case };
                agrees(a, spec, case, (i + s + m) % 2 == 0, &mut seen);
            }
        }
    }
    // Past the caches.
    let tall: Csr<T> = fem_3d(14, 14, 14, 1, 1).unwrap();
    for spec in [FormatSpec::Csr, FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 }] {
        agrees(&tall, spec, |case| case, false, &mut seen);
    }
    seen
}

#[test]
fn generated_matrices_run_as_the_lowering_says() {
    let seen = generated::<f32>();
    assert!(seen.copied > 0, "{seen:?}");
    assert!(seen.packed > 0 && seen.whole_rows > 0 && seen.past_caches[0] > 0, "{seen:?}");
    assert!(seen.alone > 0 && seen.kernels.len() == 4, "{seen:?}");
    assert_eq!(seen.past_caches[1] > 0, Isa::best() == Isa::Avx512, "{seen:?}");
    if Isa::best().prefetches() {
        assert!(seen.prefetched.iter().all(|&count| count > 0), "{seen:?}");
    }
    if Isa::Avx2.is_available() {
        assert!(seen.packed_strips > 0, "{seen:?}");
    }
}

#[test]
fn generated_matrices_in_f16_run_as_the_lowering_says() {
    let seen = generated::<f16>();
    assert!(seen.packed > 0 && seen.widened > 0 && seen.kernels.len() == 4, "{seen:?}");
    assert_eq!(seen.copied, 0, "values that are widened are read where they lie");
}

/// If `GIRIH_MATRICES` names a folder of them: each by this machine's own decisions.
#[test]
fn real_matrices_run_as_the_lowering_says() {
    let Some(folder) = std::env::var_os("GIRIH_MATRICES").map(PathBuf::from) else { return };
    let mut seen = Seen::default();
    for name in ["bcsstk13", "fidapex6", "p2p-Gnutella31", "wiki-Vote", "orani678"] {
        let path = folder.join(format!("{name}.mtx.gz"));
        if !path.exists() {
            continue;
        }
        let a: Csr<f32> = read(&path, &ReadOptions::default()).unwrap();
        for spec in [FormatSpec::Csr, FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 }] {
            let threads = |case| Case { threads: 2, ..case };
            agrees(&a, spec, threads, true, &mut seen);
            let narrow: Csr<f16> = a.cast();
            agrees(&narrow, spec, threads, true, &mut seen);
        }
    }
    assert!(!seen.kernels.is_empty(), "no matrix was read");
}

/// Products of operands `skip` elements after the beginning of a cache line, of B and of C, have the bits of those on lines,
/// and nothing around C is written.
fn beside_lines<T: CpuScalar + DenseScalar>(a: &Csr<T>, seen: &mut [usize; 2]) {
    let (m, k) = (a.nrows(), a.ncols());
    let layout = RowLayout::natural(m, 1).unwrap();
    let tiling = Tiling::from_csr(a, FormatSpec::Csr, layout).unwrap();
    let schedule = Schedule::by_tiles(&tiling, tiling.n_tiles() / 7 + 1);
    for n in [24, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 192, 256, 320] {
        let case = Case::new(&tiling, n, 2, Isa::best(), Machine::detect());
        let team = Team::with_threads(2).unwrap();
        let mut prepared = Prepared::build(case, team, &tiling, &schedule).unwrap();
        let recorder = Recorder::leaked();
        prepared.recorder = Some(recorder);
        let mut values = vec![T::ZERO; k * n + 64];
        let mut sums = vec![T::Acc::ZERO; m * n + 128];
        let (b_line, c_line) = (values.as_ptr().align_offset(64), sums.as_ptr().align_offset(64));
        for beta in [0.0, 0.5] {
            let mut product = |b_skip: usize, c_skip: usize| {
                let b = b_line + b_skip..b_line + b_skip + k * n;
                for (i, value) in values[b.clone()].iter_mut().enumerate() {
                    *value = T::from_f64((i % 29) as f64 - 13.0);
                }
                let around = T::Acc::from_f64(-7.0);
                sums.fill(around);
                let c = c_line + c_skip..c_line + c_skip + m * n;
                sums[c.clone()].fill(T::Acc::from_f64(3.0));
                let b = ArrayView2::from_shape((k, n), &values[b]).unwrap();
                let view = ArrayViewMut2::from_shape((m, n), &mut sums[c.clone()]).unwrap();
                prepared.execute(1.5, T::erase(b), beta, T::erase_acc_mut(view)).unwrap();
                let outside = sums[..c.start].iter().chain(&sums[c.end..]);
                assert!(outside.into_iter().all(|&x| x == around), "n = {n}");
                (sums[c].to_vec(), recorder.take())
            };
            let (expected, _) = product(0, 0);
            for (b_skip, c_skip) in [(4, 4), (0, 4), (4, 0), (1, 3), (7, 7)] {
                let (found, trace) = product(b_skip, c_skip);
                assert!(found == expected, "n = {n}, B and C at {b_skip} and {c_skip}");
                seen[0] += usize::from(trace.from_lines);
                seen[1] += usize::from(trace.from_lines && trace.past_caches);
            }
        }
    }
}

#[test]
fn operands_beside_cache_lines_change_no_bit() {
    let mut seen = [0; 2];
    for a in [fem_3d(7, 7, 7, 3, 1), uniform(5000, 900, 5, 1), uniform(700, 900, 60, 1)] {
        beside_lines::<f32>(&a.unwrap(), &mut seen);
    }
    for a in [fem_3d(4, 4, 4, 3, 1), uniform(2500, 400, 5, 1)] {
        beside_lines::<f64>(&a.unwrap(), &mut seen);
    }
    if Isa::Avx512.is_available() {
        assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
    }
}
