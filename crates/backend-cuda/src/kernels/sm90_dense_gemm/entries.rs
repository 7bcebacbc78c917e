//! Every entry point of `sm90_dense_gemm` in every configuration, the ladder's too, is executed; what it
//! computes is right, whatever the way that B is read and C is written, and has the bits of the kernel for
//! blocks.

use std::collections::BTreeSet;

use girih_backend::{DenseScalar, PreparedSpmm, Product, SpmmBackend, verify};
use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::Plan;
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed, random};
use half::{bf16, f16};
use ndarray::Array2;

use super::{DenseConfig, FullBlocks, configs};
use crate::emulated::Emulated;
use crate::emulated::operands::Placing;
use crate::kernels;

const SPEC: FormatSpec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };

/// Six block rows and three block columns, the last of both ragged, with entries in every block.
fn matrix() -> Csr<f64> {
    matrices::where_(330, 170, |i, j| (i * 7 + j * 3).is_multiple_of(11)).unwrap()
}

fn plan<T: DenseScalar>(a: &Csr<T>, slots: Option<&[u32]>) -> Plan {
    let layout = match slots {
        Some(slots) => RowLayout::explicit(a.nrows(), 64, slots.to_vec()).unwrap(),
        None => RowLayout::natural(a.nrows(), 64).unwrap(),
    };
    Plan::from_tiling(T::erase_tiling(Tiling::from_csr(a, SPEC, layout).unwrap()))
}

/// A product with `n` columns of B and C.
#[derive(Clone, Copy, Debug)]
struct Case {
    n: usize,
    alpha: f64,
    beta: f64,
    b: Layout,
    c: Layout,
}

/// Copied by rows and out; copied by columns, C read; element by element; with strides of C; scaled only.
const CASES: [Case; 5] = [
    Case { n: 304, alpha: -2.5, beta: 0.0, b: Layout::RowMajor, c: Layout::RowMajor },
    Case { n: 300, alpha: -2.5, beta: 0.5, b: Layout::ColMajor, c: Layout::RowMajor },
    Case { n: 33, alpha: 1.0, beta: 0.5, b: Layout::RowMajor, c: Layout::PaddedRows },
    Case { n: 72, alpha: 1.0, beta: 0.0, b: Layout::RowMajor, c: Layout::ColMajor },
    Case { n: 40, alpha: 0.0, beta: 0.5, b: Layout::RowMajor, c: Layout::RowMajor },
];

fn product<T: DenseScalar>(
    device: &Emulated,
    (a, plan): (&Csr<T>, &Plan),
    prepared: &dyn PreparedSpmm,
    case: Case,
) -> Array2<T::Acc> {
    // K is ragged, so that columns that lie 16 bytes apart need space between them.
    let b = match case.b {
        Layout::ColMajor => {
            Placed::new(&random::<T>(a.ncols().next_multiple_of(8), case.n, 1), case.b)
        }
        _ => Placed::new(&random::<T>(a.ncols(), case.n, 1), case.b),
    };
    let b = b.view().slice_move(ndarray::s![..a.ncols(), ..]);
    let before = random::<T::Acc>(a.nrows(), case.n, 2);
    let mut c = Placed::new(&before, case.c);
    let done = prepared.execute(case.alpha, T::erase(b), case.beta, T::erase_acc_mut(c.view_mut()));
    done.unwrap_or_else(|error| panic!("{case:?}: {error:?}"));
    let added = (case.beta != 0.0).then(|| (case.beta, T::erase_acc(before.view())));
    let product = Product { alpha: case.alpha, b: T::erase(b), added };
    let found = T::erase_acc(c.view());
    let verdict = verify(a, plan, &product, &found, device.rounding(plan)).unwrap();
    assert!(verdict.passed(), "{case:?}: {verdict:?}");
    c.view().to_owned()
}

/// All configurations: those of products, and the ladder's.
fn all(dtype: girih_formats::DType) -> Vec<DenseConfig> {
    let mut all = configs(dtype).to_vec();
    all.extend(DenseConfig::ladder(dtype).into_iter().map(|rung| rung.config));
    all.dedup();
    all
}

fn every_entry<T: DenseScalar>()
where
    T::Acc: PartialEq,
{
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let a = matrix().cast::<T>();
    // Rows in reverse, and a gap.
    let mut slots: Vec<u32> = (0..330).rev().collect();
    slots.splice(100..100, [u32::MAX; 54]);
    // In another order of rows, what products run; as it is, the ladder too.
    let (natural, ordered) = (plan(&a, None), plan(&a, Some(&slots)));
    for (plan, all) in [(natural, all(T::DTYPE)), (ordered, configs(T::DTYPE).to_vec())] {
        let blocks = device.prepare_with(&plan, 1, FullBlocks::Blocks);
        let expected = CASES.map(|case| product(&device, (&a, &plan), &blocks, case));
        for (i, config) in all.into_iter().enumerate() {
            // One cluster takes all tiles, or several a few.
            let multiprocessors = [1, 5][i % 2];
            let dense = device.prepare_with(&plan, multiprocessors, FullBlocks::Dense(config));
            for (case, expected) in CASES.into_iter().zip(&expected) {
                let found = product(&device, (&a, &plan), &dense, case);
                assert!(found == *expected, "{config}, {case:?}: other bits than block by block");
            }
        }
    }
    all_executed(&device, T::DTYPE.name());
}

fn all_executed(device: &Emulated, dtype: &str) {
    let of_this = |stem: &str, config: &str| stem == "sm90_dense_gemm" && config.starts_with(dtype);
    let all = kernels::all().into_iter().chain(kernels::ladder());
    let all = all.filter(|kernel| of_this(kernel.stem, &kernel.config));
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

/// A matrix without one of its blocks, and a NaN in the rows of B that only that block would meet.
#[test]
fn a_missing_block_is_never_multiplied() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let a = matrices::where_(256, 128, |i, j| {
        (i < 64 || j >= 64) && (i * 7 + j * 3).is_multiple_of(11)
    });
    let a = a.unwrap().cast::<bf16>();
    let plan = plan(&a, None);
    let prepared =
        device.prepare_with(&plan, 1, FullBlocks::Dense(configs(girih_formats::DType::Bf16)[0]));
    let mut b = random::<bf16>(128, 256, 1);
    b.row_mut(3).fill(bf16::NAN);
    let mut c = Array2::<f32>::zeros((256, 256));
    prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
    let nans = c.rows().into_iter().map(|row| row.iter().all(|x| x.is_nan())).collect::<Vec<_>>();
    assert_eq!(nans, (0..256).map(|i| i < 64).collect::<Vec<_>>());
    assert!(device.executed().iter().all(|(kernel, _)| !kernel.starts_with("sm90_dense_gemm")));
}
