//! Every entry point of `sm90_two_four_spmm` in every configuration is executed, and what it computes is
//! right, whatever the way that C is written.

use std::collections::BTreeSet;

use girih_backend::{DenseScalar, Epilogue, PreparedSpmm, Product, SpmmBackend, verify};
use girih_formats::{
    Csr, E4m3Overflow, E4m3Scales, FormatSpec, Real, RowLayout, ScalesPer, Tiling, TwoFour,
};
use girih_planner::Plan;
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::{bf16, f16};
use ndarray::Array2;
use ptx_emu::{Schedule, Timing};

use crate::emulated::Emulated;
use crate::emulated::operands::Placing;
use crate::kernels;
use crate::kernels::sm90_dense_gemm::FullBlocks;
use crate::kernels::supported;
use crate::prepared::Requested;

/// Groups of four columns with none, one or two entries, in all places that these can have.
pub(crate) fn matrix(m: usize, k: usize) -> Csr<f64> {
    const GROUPS: [usize; 11] =
        [0b0000, 0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b0101, 0b1001, 0b0110, 0b1010, 0b1100];
    let group = |i: usize, group: usize| GROUPS[(i * 7 + group * 3 + i / 16) % GROUPS.len()];
    matrices::where_(m, k, |i, j| group(i, j / 4) >> (j % 4) & 1 == 1).unwrap()
}

/// A product: C is written by tensor copies if β is 0 and its rows can be moved so.
struct Case<'a> {
    m: usize,
    slots: Option<&'a [u32]>,
    n: usize,
    beta: f64,
    b: Layout,
}

/// Columns of A: seven steps, the last ragged, which go round every ring.
const K: usize = 392;

fn product<T: DenseScalar>(device: &Emulated, spec: FormatSpec, case: &Case<'_>) {
    let &Case { m, slots, n, beta, b } = case;
    let a = matrix(m, K).cast::<T>();
    let layout = match slots {
        Some(slots) => RowLayout::explicit(m, 1, slots.to_vec()).unwrap(),
        None => RowLayout::natural(m, 1).unwrap(),
    };
    let tiling = Tiling::from_csr(&a, spec, layout).unwrap();
    let plan = Plan::from_tiling(tiling);
    let b_of = Placed::new(&random::<T>(a.ncols(), n, 1), b);
    let before = random::<T::Acc>(a.nrows(), n, 2);
    let mut c = Placed::new(&before, Layout::RowMajor);
    let prepared = device.prepare(&plan).unwrap();
    let done = prepared.execute(-2.5, T::erase(b_of.view()), beta, T::erase_acc_mut(c.view_mut()));
    done.unwrap_or_else(|error| panic!("{m} rows, n = {n}, β = {beta}, {b:?}: {error:?}"));
    let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
    let product = Product { alpha: -2.5, b: T::erase(b_of.view()), added };
    let found = T::erase_acc(c.view());
    let verdict = verify(&a, &plan, &product, &found, device.rounding(&plan)).unwrap();
    assert!(verdict.passed(), "{m} rows, n = {n}, β = {beta}, {b:?}: {verdict:?}");
}

fn every_entry<T: DenseScalar>(spec: FormatSpec, named: &str) {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let natural = |m, n, beta, b| Case { m, slots: None, n, beta, b };
    // A tile of rows alone, two, and four of which the last is empty; n that every width of columns takes.
    for (m, n, beta) in [
        (100, 40, 0.0),
        (100, 104, 0.5),
        (100, 200, 0.0),
        (200, 104, 0.0),
        (200, 200, 0.5),
        (270, 104, 0.5),
        (270, 200, 0.0),
    ] {
        for layout in [Layout::RowMajor, Layout::ColMajor] {
            product::<T>(&device, spec, &natural(m, n, beta, layout));
        }
    }
    // Rows of B that no tensor copy can move.
    for (m, n, beta) in [(100, 33, 0.0), (270, 101, 0.5), (100, 203, 0.0)] {
        product::<T>(&device, spec, &natural(m, n, beta, Layout::RowMajor));
    }
    // Rows in reverse, and a gap; the last slots of the last tile are none.
    let mut slots: Vec<u32> = (0..270).rev().collect();
    slots.splice(100..100, [u32::MAX; 28]);
    let ordered = |n, beta| Case { slots: Some(&slots), ..natural(270, n, beta, Layout::RowMajor) };
    product::<T>(&device, spec, &ordered(104, 0.0));
    product::<T>(&device, spec, &ordered(37, 0.5));
    let of_this = |stem: &str, config: &str| {
        let quantizes = stem == "quantize_e4m3" && named == "e4m3" && config == T::DTYPE.name();
        quantizes || stem == "sm90_two_four_spmm" && config.starts_with(named)
    };
    let all = kernels::all().into_iter().filter(|kernel| of_this(kernel.stem, &kernel.config));
    let entries = all.flat_map(|kernel| {
        kernel.budget.entries.iter().map(move |entry| (kernel.to_string(), (*entry).to_owned()))
    });
    let entries: BTreeSet<_> = entries.collect();
    assert!(!entries.is_empty());
    let executed = device.executed();
    let missing: Vec<_> = entries.difference(&executed).collect();
    assert!(missing.is_empty(), "not executed: {missing:?}");
}

#[test]
fn entries_in_f16() {
    every_entry::<f16>(FormatSpec::TwoFour, "f16");
}

#[test]
fn entries_in_bf16() {
    every_entry::<bf16>(FormatSpec::TwoFour, "bf16");
}

#[test]
fn entries_in_e4m3_of_f16() {
    every_entry::<f16>(FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row }, "e4m3");
}

#[test]
fn entries_in_e4m3_of_bf16() {
    every_entry::<bf16>(FormatSpec::TwoFourE4m3 { scales: ScalesPer::Tensor }, "e4m3");
}

#[test]
fn entries_in_e4m3_of_f32() {
    every_entry::<f32>(FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row }, "e4m3");
}

/// Sums that 14 bits hold are exact: every term is where it belongs.
#[test]
fn small_sums_of_e4m3_are_exact() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let a = matrix(150, 700);
    let signs: Vec<f64> =
        a.values().iter().enumerate().map(|(i, _)| [1.0, -1.0, 2.0][i % 3]).collect();
    let a: Csr<f32> = a.with_values(signs).unwrap().cast();
    let scales = E4m3Scales::per_row((0..150).map(|i| [1.0, 0.25][i % 2]).collect()).unwrap();
    let layout = RowLayout::natural(150, 1).unwrap();
    let tiled = TwoFour::from_csr_e4m3(&a, layout, &scales, E4m3Overflow::Error).unwrap();
    let plan = Plan::from_tiling(Tiling::TwoFour(tiled));
    let prepared = device.prepare(&plan).unwrap();
    for (n, layout) in [(40, Layout::RowMajor), (200, Layout::ColMajor), (33, Layout::PaddedRows)] {
        // Each column has ±448 times its scale, which is a power of two, and multiples of an eighth of 512.
        let b = Array2::from_shape_fn((700, n), |(i, j)| {
            let eighths = if i == 0 { 7.0 } else { ((3 * i + 5 * j) % 15) as f32 - 7.0 };
            eighths * 2f32.powi(6 - (j % 5) as i32)
        });
        let mut c = Array2::from_elem((150, n), f32::NAN);
        let placed = Placed::new(&b, layout);
        prepared.execute(1.0, placed.view().into(), 0.0, c.view_mut().into()).unwrap();
        for ((i, j), found) in c.indexed_iter() {
            let (cols, values) = a.row(i);
            let terms = cols.iter().zip(values).map(|(&col, a)| a * b[[col as usize, j]]);
            assert_eq!(*found, terms.sum::<f32>(), "C({i}, {j}), n = {n}");
        }
    }
}

/// Products in a C of 16 bits are those in f32, rounded once.
fn rounds_what_f32_has<C: Real + DenseScalar>(
    device: &Emulated,
    n: usize,
    beta: f64,
    layout: Layout,
) {
    let a = matrix(150, 300).cast::<bf16>();
    let spec = FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row };
    let rows = RowLayout::explicit(150, 1, (0..150).rev().collect::<Vec<u32>>()).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, spec, rows).unwrap());
    assert!(supported::takes_output(&plan, C::DTYPE).is_ok());
    let prepared = device.prepare_with(&plan, 1, FullBlocks::Fastest);
    let b = random::<bf16>(300, n, 1);
    let before = random::<C>(150, n, 2);
    let mut c = Placed::new(&before, layout);
    let way = (Timing::Random(1), Schedule::Random(2));
    let scales = ((-2.5).into(), beta.into());
    let requested = Requested::Sum(&Epilogue::new());
    let into = C::erase_mut(c.view_mut());
    prepared.multiply(way, scales, &b.view().into(), into, requested).unwrap();
    let mut wide = before.mapv(|x| x.to_f64() as f32);
    prepared.execute(-2.5, b.view().into(), beta, wide.view_mut().into()).unwrap();
    for ((at, found), wide) in c.view().indexed_iter().zip(&wide) {
        let expected = C::from_f64(f64::from(*wide));
        assert_eq!(*found, expected, "C{at:?} of {}, n = {n}, β = {beta}", C::DTYPE);
    }
}

#[test]
fn c_of_16_bits_is_rounded_once() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    for (n, layout) in [(104, Layout::RowMajor), (37, Layout::PaddedRows), (40, Layout::ColMajor)] {
        for beta in [0.0, 0.5] {
            rounds_what_f32_has::<f16>(&device, n, beta, layout);
            rounds_what_f32_has::<bf16>(&device, n, beta, layout);
        }
    }
}
