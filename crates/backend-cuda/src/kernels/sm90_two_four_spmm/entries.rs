//! Every entry point of `sm90_two_four_spmm` in every configuration is executed, and what it computes is
//! right, whatever the way that C is written.

use std::collections::BTreeSet;

use girih_backend::{DenseScalar, Product, SpmmBackend, verify};
use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::Plan;
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::{bf16, f16};

use crate::emulated::Emulated;
use crate::emulated::operands::Placing;
use crate::kernels;

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

fn product<T: DenseScalar>(device: &Emulated, case: &Case<'_>) {
    let &Case { m, slots, n, beta, b } = case;
    let a = matrix(m, K).cast::<T>();
    let layout = match slots {
        Some(slots) => RowLayout::explicit(m, 1, slots.to_vec()).unwrap(),
        None => RowLayout::natural(m, 1).unwrap(),
    };
    let tiling = Tiling::from_csr(&a, FormatSpec::TwoFour, layout).unwrap();
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

fn every_entry<T: DenseScalar>() {
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
            product::<T>(&device, &natural(m, n, beta, layout));
        }
    }
    // Rows of B that no tensor copy can move.
    for (m, n, beta) in [(100, 33, 0.0), (270, 101, 0.5), (100, 203, 0.0)] {
        product::<T>(&device, &natural(m, n, beta, Layout::RowMajor));
    }
    // Rows in reverse, and a gap; the last slots of the last tile are none.
    let mut slots: Vec<u32> = (0..270).rev().collect();
    slots.splice(100..100, [u32::MAX; 28]);
    let ordered = |n, beta| Case { slots: Some(&slots), ..natural(270, n, beta, Layout::RowMajor) };
    product::<T>(&device, &ordered(104, 0.0));
    product::<T>(&device, &ordered(37, 0.5));
    let of_this = |stem: &str, config: &str| {
        stem == "sm90_two_four_spmm" && config.starts_with(T::DTYPE.name())
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
    every_entry::<f16>();
}

#[test]
fn entries_in_bf16() {
    every_entry::<bf16>();
}
