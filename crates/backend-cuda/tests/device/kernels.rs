//! Every kernel, in every configuration that a product may take.

use girih_backend::{DenseScalar, PreparedSpmm, Product, SpmmBackend, verify};
use girih_backend_cuda::{CudaBackend, DenseConfig, FullBlocks};
use girih_formats::{
    AnyTiling, Complex, Csr, DType, FormatKind, FormatSpec, RowLayout, ScalesPer, Tiling,
};
use girih_generate::two_four;
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, Schedule};
use girih_testkit::conformance::specs;
use girih_testkit::matrices::{fit, typed, where_};
use girih_testkit::operands::random;
use half::{bf16, f16};

use super::{common, plan_of};

/// Rows of many lengths, some empty and some in pieces, times all widths that kernels are made for: small
/// enough to be followed access by access.
#[test]
fn every_kernel_multiplies() {
    let Some(backend) = common::backend() else { return };
    let can = backend.capabilities().unwrap();
    for kind in can.formats {
        for &dtype in &can.dtypes {
            match dtype {
                DType::F16 => every_width::<f16>(&backend, kind),
                DType::Bf16 => every_width::<bf16>(&backend, kind),
                DType::F32 => every_width::<f32>(&backend, kind),
                DType::F64 => every_width::<f64>(&backend, kind),
                DType::C32 => every_width::<Complex<f32>>(&backend, kind),
                DType::C64 => every_width::<Complex<f64>>(&backend, kind),
            }
        }
    }
}

fn every_width<T: DenseScalar>(backend: &CudaBackend, kind: FormatKind) {
    let entry = |i: usize, j: usize| i == 7 || (i % 6 > 1 && (i * 7 + j) % (9 + i) == 3);
    let a = typed::<T>(&fit(&where_(150, 600, entry).unwrap(), kind).unwrap());
    for spec in specs(kind) {
        let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
        let tiling = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        let partitions = Schedule::sm_aligned(&tiling, 100, 7, &cost);
        let plan = Plan::from_tiling(tiling);
        if backend.supports(&plan).is_err() {
            continue;
        }
        let partitioned = plan.clone().with_schedule(&partitions).unwrap();
        let mut plans = vec![plan];
        if kind == FormatKind::BMat {
            plans.push(partitioned);
        } else {
            assert!(backend.supports(&partitioned).is_err(), "{spec} in partitions");
        }
        for plan in &plans {
            let prepared = backend.prepare(plan).unwrap();
            for n in [1, 5, 32, 100, 200, 264] {
                is_right::<T>(backend, &*prepared, plan, &a, n);
            }
        }
    }
}

/// Multiplies with random operands of `n` columns.
fn is_right<T: DenseScalar>(
    backend: &CudaBackend,
    prepared: &dyn PreparedSpmm,
    plan: &Plan,
    a: &Csr<T>,
    n: usize,
) {
    let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(a.nrows(), n, 2));
    let mut c = before.clone();
    let (b_view, c_view) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
    prepared.execute(-2.5, b_view, 0.5, c_view).unwrap();
    let added = Some((0.5, T::erase_acc(before.view())));
    let product = Product { alpha: -2.5, b: T::erase(b.view()), added };
    let rounding = backend.rounding(plan);
    let verdict = verify(a, plan, &product, &T::erase_acc(c.view()), rounding).unwrap();
    assert!(verdict.passed(), "{} {}, n = {n}: {verdict:?}", plan.spec(), T::DTYPE);
}

/// On 132 multiprocessors each size takes another configuration: tiles of columns narrow
/// and wide.
#[test]
fn two_four_multiplies_in_every_configuration() {
    let Some(backend) = common::backend() else { return };
    for (m, n) in [(100, 64), (100, 16896), (100, 33792), (2000, 1024), (600, 8192), (1000, 8192)] {
        let a = two_four::<f16>(m, 600, 1).unwrap();
        let narrow = ScalesPer::ALL.map(|scales| FormatSpec::TwoFourE4m3 { scales });
        for spec in narrow.into_iter().chain([FormatSpec::TwoFour]) {
            let plan = plan_of(&a, spec);
            if backend.supports(&plan).is_ok() {
                let prepared = backend.prepare(&plan).unwrap();
                is_right::<f16>(&backend, &*prepared, &plan, &a, n);
            }
        }
    }
}

/// Blocks that are all there, in every configuration of the dense kernel: small enough to be followed.
#[test]
fn every_kernel_for_full_blocks_multiplies() {
    let Some(backend) = common::backend() else { return };
    if !backend.capabilities().unwrap().formats.contains(&FormatKind::Bcsr) {
        return;
    }
    every_dense_kernel::<f16>(&backend);
    every_dense_kernel::<bf16>(&backend);
    every_dense_kernel::<f32>(&backend);
}

fn every_dense_kernel<T: DenseScalar>(backend: &CudaBackend)
where
    T::Acc: PartialEq,
{
    let a = where_(330, 170, |i, j| (i * 7 + j * 3) % 11 == 0).unwrap().cast::<T>();
    let plan = plan_of(&a, FormatSpec::Bcsr { block_rows: 64, block_cols: 64 });
    let rungs = DenseConfig::ladder(T::DTYPE).into_iter().map(|rung| rung.config);
    let all = DenseConfig::products(T::DTYPE).iter().copied().chain(rungs);
    let all = all.map(FullBlocks::Dense).chain([FullBlocks::Fastest, FullBlocks::Blocks]);
    let prepared: Vec<_> =
        all.map(|full| (full, backend.prepare_device_with(&plan, full).unwrap())).collect();
    // Copied by tensor copies or by elements, C too.
    for (n, beta) in [(304, 0.0), (300, 0.5), (7, 0.0)] {
        let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(a.nrows(), n, 2));
        let mut first = None;
        for (full, prepared) in &prepared {
            let mut c = before.clone();
            let (b_view, c_view) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
            prepared.execute(-2.5, b_view, beta, c_view).unwrap();
            let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
            let product = Product { alpha: -2.5, b: T::erase(b.view()), added };
            let rounding = backend.rounding(&plan);
            let verdict = verify(&a, &plan, &product, &T::erase_acc(c.view()), rounding).unwrap();
            assert!(verdict.passed(), "{full:?} {}, n = {n}: {verdict:?}", T::DTYPE);
            assert!(
                *first.get_or_insert(c.clone()) == c,
                "{full:?} {}, n = {n}: other bits",
                T::DTYPE
            );
        }
    }
}
