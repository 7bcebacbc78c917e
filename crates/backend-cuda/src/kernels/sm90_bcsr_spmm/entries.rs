//! Every entry point of `sm90_bcsr_spmm` in every configuration is executed, and what it computes is
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

const SPEC: FormatSpec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };

/// Seven block rows, the last ragged like the last block column, that have five of six columns: they
/// are taken together.
fn matrix() -> Csr<f64> {
    let has = |i: usize, j: usize| {
        !(i / 64 + j / 64).is_multiple_of(6) && (i * 7 + j * 3).is_multiple_of(11)
    };
    matrices::where_(420, 376, has).unwrap()
}

/// The product with `n` columns, rows of A in natural order or not.
fn product<T: DenseScalar>(
    device: &Emulated,
    slots: Option<&[u32]>,
    n: usize,
    beta: f64,
    b: Layout,
) {
    let a = matrix().cast::<T>();
    let layout = match slots {
        Some(slots) => RowLayout::explicit(a.nrows(), 64, slots.to_vec()).unwrap(),
        None => RowLayout::natural(a.nrows(), 64).unwrap(),
    };
    let plan = Plan::from_tiling(Tiling::from_csr(&a, SPEC, layout).unwrap());
    let b_of = Placed::new(&random::<T>(a.ncols(), n, 1), b);
    let before = random::<T::Acc>(a.nrows(), n, 2);
    let mut c = Placed::new(&before, Layout::RowMajor);
    let prepared = device.prepare(&plan).unwrap();
    let done = prepared.execute(-2.5, T::erase(b_of.view()), beta, T::erase_acc_mut(c.view_mut()));
    done.unwrap_or_else(|error| panic!("n = {n}, β = {beta}, {b:?}: {error:?}"));
    let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
    let product = Product { alpha: -2.5, b: T::erase(b_of.view()), added };
    let found = T::erase_acc(c.view());
    let verdict = verify(&a, &plan, &product, &found, device.rounding(&plan)).unwrap();
    assert!(verdict.passed(), "n = {n}, β = {beta}, {b:?}: {verdict:?}");
}

fn every_entry<T: DenseScalar>() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    for (n, beta) in [(304, 0.0), (300, 0.5), (104, 0.0), (130, 0.0), (40, 0.0), (33, 0.5)] {
        for layout in [Layout::RowMajor, Layout::ColMajor] {
            product::<T>(&device, None, n, beta, layout);
        }
    }
    // Rows in reverse, and a gap.
    let mut slots: Vec<u32> = (0..420).rev().collect();
    slots.splice(100..100, [u32::MAX; 28]);
    product::<T>(&device, Some(&slots), 304, 0.0, Layout::RowMajor);
    product::<T>(&device, Some(&slots), 104, 0.5, Layout::RowMajor);
    let of_this =
        |stem: &str, config: &str| stem == "sm90_bcsr_spmm" && config.starts_with(T::DTYPE.name());
    let all = kernels::all().into_iter().filter(|kernel| of_this(kernel.stem, &kernel.config));
    let entries = all.flat_map(|kernel| {
        kernel.budget.entries.iter().map(move |entry| (kernel.to_string(), (*entry).to_owned()))
    });
    let executed: BTreeSet<_> = device.executed();
    let missing: Vec<_> = entries.filter(|entry| !executed.contains(entry)).collect();
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

#[test]
fn entries_in_tf32() {
    every_entry::<f32>();
}
