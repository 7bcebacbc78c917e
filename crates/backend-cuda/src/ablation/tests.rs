use std::collections::BTreeSet;

use girih_backend::{DenseScalar, PreparedSpmm, Product, verify};
use girih_formats::{AnyTiling, Csr, RowLayout, Tiling};
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::random;
use half::bf16;
use ndarray::Array2;

use super::*;
use crate::emulated::Emulated;
use crate::emulated::operands::Placing;
use crate::prepared::rounding;

#[test]
fn names_and_kernels_are_distinct() {
    let names: BTreeSet<_> = VARIANTS.iter().map(Variant::name).collect();
    assert_eq!(names.len(), VARIANTS.len());
    let kernels: BTreeSet<_> = kernels().iter().map(ToString::to_string).collect();
    let own = VARIANTS.iter().filter(|v| !matches!(v.runs, Runs::Csr | Runs::Dense(_)));
    assert_eq!(kernels.len(), own.count());
    let products: BTreeSet<_> = crate::kernels::all().iter().map(ToString::to_string).collect();
    assert!(products.is_disjoint(&kernels), "products run none of them");
}

#[test]
fn the_dense_rungs_are_all_of_the_ladder() {
    for dtype in [DType::F16, DType::Bf16, DType::F32] {
        let rungs = VARIANTS.iter().filter(|v| matches!(v.runs, Runs::Dense(_)));
        let rungs: Vec<_> = rungs.filter(|variant| variant.has(dtype)).collect();
        assert_eq!(rungs.len(), DenseConfig::ladder(dtype).len());
    }
    assert!(!VARIANTS.iter().any(|v| matches!(v.runs, Runs::Dense(_)) && v.has(DType::F64)));
}

#[test]
fn variants_fit_a_multiprocessor() {
    for variant in &VARIANTS {
        let dtype = if variant.has(DType::Bf16) { DType::Bf16 } else { DType::F32 };
        let Some(kernel) = variant.own_kernel(dtype) else { continue };
        let shared = kernel.budget.dynamic_shared;
        let ctas = kernel.defines.iter().find(|(name, _)| *name == "CTAS");
        let ctas: u32 = ctas.map_or(2, |(_, ctas)| ctas.parse().unwrap());
        assert!(shared <= 227 << 10 && ctas * (shared + 1024) <= 228 << 10, "{kernel}: {shared}");
    }
}

#[test]
fn a_plan_in_another_format_is_refused() {
    let a = matrices::where_(64, 64, |i, j| i == j).unwrap().cast::<f32>();
    let plan = plan(&a, &VARIANTS[0], 8);
    assert!(VARIANTS[0].supports(&plan).is_ok());
    let wrong = Variant::find("bcsr-full").unwrap().supports(&plan).unwrap_err();
    assert!(matches!(wrong, Unsupported::Format { .. }), "{wrong}");
    let of_f32 = Plan::from_tiling(tiling(&a, &VARIANTS[1]));
    let wrong = VARIANTS[1].supports(&of_f32).unwrap_err();
    assert!(matches!(wrong, Unsupported::ValueType { dtype: DType::F32, .. }), "{wrong}");
}

fn tiling<T: DenseScalar>(a: &Csr<T>, variant: &Variant) -> AnyTiling {
    let spec = variant.spec();
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    AnyTiling::from(Tiling::from_csr(a, spec, layout).unwrap())
}

fn plan<T: DenseScalar>(a: &Csr<T>, variant: &Variant, n: usize) -> Plan {
    let tiling = tiling(a, variant);
    let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
    let schedule = match variant.wants_partitions() {
        true => Schedule::sm_aligned(&tiling, n, 3, &cost),
        false => Schedule::by_window(&tiling),
    };
    Plan::from_tiling(tiling).with_schedule(&schedule).unwrap()
}

/// The bits of a product with `n` columns, which is verified.
fn product<T: DenseScalar>(
    device: &Emulated,
    a: &Csr<T>,
    variant: &Variant,
    n: usize,
) -> Array2<T::Acc> {
    let plan = plan(a, variant, n);
    variant.supports(&plan).unwrap();
    let prepared = device.prepare_variant(&plan, 2, *variant);
    let b = random::<T>(a.ncols(), n, 1);
    let mut c = random::<T::Acc>(a.nrows(), n, 2);
    let done = prepared.execute(1.5, T::erase(b.view()), 0.0, T::erase_acc_mut(c.view_mut()));
    done.unwrap_or_else(|error| panic!("{}: {error:?}", variant.name));
    let product = Product { alpha: 1.5, b: T::erase(b.view()), added: None };
    let found = T::erase_acc(c.view());
    let verdict = verify(a, &plan, &product, &found, rounding(&plan, Some(*variant))).unwrap();
    assert!(verdict.passed(), "{}: {verdict:?}", variant.name);
    c
}

/// Products of every variant that has kernels of its own are right, and those of one format have the same bits.
fn all_multiply<T: DenseScalar>(a: &Csr<f64>, prefix: &str, n: usize)
where
    T::Acc: PartialEq,
{
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let a = a.cast::<T>();
    let mut first = None;
    for variant in VARIANTS.iter().filter(|variant| variant.name.starts_with(prefix)) {
        let c = product(&device, &a, variant, n);
        assert!(*first.get_or_insert(c.clone()) == c, "{}: other bits", variant.name);
        let name = variant.own_kernel(T::DTYPE).unwrap().to_string();
        assert!(device.executed().iter().any(|(kernel, _)| *kernel == name), "{name} did not run");
    }
}

/// Block rows of 5, 1, 0 and 2 blocks, the last ragged, times more columns than a tile has.
#[test]
fn blocks_are_multiplied_by_every_variant() {
    let is_there = |i: usize, j: usize| match i / 64 {
        0 => true,
        1 => j / 64 == 3,
        2 => false,
        _ => j >= 192,
    };
    let a = matrices::where_(220, 300, |i, j| is_there(i, j) && (3 * i + 5 * j) % 7 < 2).unwrap();
    all_multiply::<bf16>(&a, "bcsr", 520);
}

/// Windows of 0 to 12 tiles.
#[test]
fn bitmasks_are_multiplied_by_every_variant() {
    let a = matrices::where_(70, 90, |i, j| {
        !(16..32).contains(&i) && (i * 7 + j * 5) % (i % 16 + 3) == 0
    });
    all_multiply::<f32>(&a.unwrap(), "bmat", 256);
}

/// Three tiles of rows, the last ragged, and five steps, the last ragged too.
#[test]
fn two_of_four_are_multiplied_by_every_variant() {
    let a = matrices::where_(300, 280, |i, j| [5, 3, 9, 6][(i + j / 4) % 4] >> (j % 4) & 1 == 1);
    all_multiply::<bf16>(&a.unwrap(), "two-four", 264);
}

/// The same in e4m3: each way of adding sums up has bits of its own.
#[test]
fn e4m3_is_multiplied_by_every_variant() {
    let a = matrices::where_(300, 700, |i, j| [5, 3, 9, 6][(i + j / 4) % 4] >> (j % 4) & 1 == 1);
    let a = a.unwrap();
    for prefix in ["e4m3-waits", "e4m3-two", "e4m3-metadata", "e4m3-deep", "e4m3-in-f32"] {
        all_multiply::<bf16>(&a, prefix, 264);
    }
}
