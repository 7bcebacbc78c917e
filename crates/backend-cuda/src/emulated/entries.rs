//! Every entry point of every kernel is executed, and what it computes is right.

use girih_backend::{PreparedSpmm, Product, SpmmBackend, verify};
use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::Plan;
use girih_testkit::operands::{Layout, Placed, random};
use girih_testkit::{Element, matrices};
use half::{bf16, f16};

use super::Emulated;
use super::operands::Placing;
use crate::kernels::csr_spmm;

/// A matrix with rows of 0 to 20 entries and one that is split.
fn matrix() -> Csr<f64> {
    matrices::where_(9, 530, |i, j| i == 4 || (i * 3 + j) % (29 * i + 1) == 1).unwrap()
}

fn csr<T: Element>() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let a = matrix().cast::<T>();
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let tiling = Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap();
    let plan = Plan::from_tiling(T::erase_tiling(tiling));
    let prepared = device.prepare(&plan).unwrap();
    // As many vectors as lanes are used, up to two for each of 32.
    let per_vector = 16 / size_of::<T>();
    for vectors in [1, 2, 4, 8, 16, 32, 33] {
        for layout in [Layout::RowMajor, Layout::ColMajor] {
            product::<T>(&device, &*prepared, &a, &plan, (vectors * per_vector, 1.0), layout);
        }
    }
    product::<T>(&device, &*prepared, &a, &plan, (1, 1.0), Layout::ColMajor);
    product::<T>(&device, &*prepared, &a, &plan, (1, 0.0), Layout::RowMajor);
    let entries = csr_spmm::kernel(T::DTYPE).budget.entries;
    let executed: Vec<_> = device.executed().into_iter().map(|(_, entry)| entry).collect();
    let missing: Vec<_> = entries.iter().filter(|e| !executed.iter().any(|x| x == *e)).collect();
    assert!(missing.is_empty(), "not executed: {missing:?}");
}

fn product<T: Element>(
    device: &Emulated,
    prepared: &dyn PreparedSpmm,
    a: &Csr<T>,
    plan: &Plan,
    (n, alpha): (usize, f64),
    layout: Layout,
) {
    let b = Placed::new(&random::<T>(a.ncols(), n, 1), layout);
    let before = random::<T::Acc>(a.nrows(), n, 2);
    let mut c = before.clone();
    let beta = 0.5;
    prepared
        .execute(alpha, T::erase(b.view()), beta, T::erase_acc_mut(c.view_mut()))
        .unwrap_or_else(|error| panic!("n = {n}, {layout:?}: {}", explain(&error)));
    let added = Some((beta, T::erase_acc(before.view())));
    let product = Product { alpha, b: T::erase(b.view()), added };
    let found = T::erase_acc(c.view());
    let verdict = verify(a, plan, &product, &found, device.rounding(plan)).unwrap();
    assert!(verdict.passed(), "n = {n}, {layout:?}: {verdict:?}");
}

fn explain(error: &dyn std::error::Error) -> String {
    let source = error.source().map(|source| format!(": {}", explain(source)));
    format!("{error}{}", source.unwrap_or_default())
}

#[test]
fn csr_in_f16() {
    csr::<f16>();
}

#[test]
fn csr_in_bf16() {
    csr::<bf16>();
}

#[test]
fn csr_in_f32() {
    csr::<f32>();
}

#[test]
fn csr_in_f64() {
    csr::<f64>();
}
