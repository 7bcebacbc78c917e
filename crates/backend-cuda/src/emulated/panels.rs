//! Products in panels of columns have the bits of whole ones.

use girih_backend::{DenseScalar, SpmmBackend};
use girih_formats::{AnyTiling, Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::schedule::Reduction;
use girih_planner::{Plan, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::random;
use half::{bf16, f16};
use ndarray::s;

use super::Emulated;
use super::operands::Placing;

/// Multiplies all columns at once, and in two panels that begin where the narrowest may.
fn bits_are_the_same<T: DenseScalar>(a: &Csr<f64>, spec: FormatSpec, limit: u64)
where
    T::Acc: PartialEq,
{
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a.cast::<T>(), spec, layout).unwrap());
    let schedule = Schedule::by_limit(&tiling, limit, Reduction::TwoPass);
    let plan = Plan::from_tiling(tiling).with_schedule(&schedule).unwrap();
    let prepared = device.prepare(&plan).unwrap();
    // 512 bytes of a row of B, and no whole number of vectors more.
    let unit = 512 / size_of::<T>();
    let n = 2 * unit + 13;
    let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(a.nrows(), n, 2));
    // From each column to the next one.
    let multiply = |ends: &[usize]| {
        let mut c = before.clone();
        for panel in ends.windows(2) {
            let b = b.slice(s![.., panel[0]..panel[1]]);
            let c = c.slice_mut(s![.., panel[0]..panel[1]]);
            prepared.execute(-2.5, T::erase(b), 0.5, T::erase_acc_mut(c)).unwrap();
        }
        c
    };
    let whole = multiply(&[0, n]);
    assert!(whole != before);
    assert!(multiply(&[0, unit, n]) == whole, "{spec} of {}", T::DTYPE);
}

/// A few rows of many lengths, one of them in pieces.
fn long_rows() -> Csr<f64> {
    matrices::where_(20, 530, |i, j| i == 4 || (i * 3 + j) % (11 * (i % 9) + 7) == 1).unwrap()
}

/// Many short rows.
fn short_rows() -> Csr<f64> {
    matrices::where_(90, 60, |i, j| (i * 7 + j) % 19 == i % 5).unwrap()
}

#[test]
fn of_csr() {
    for a in [long_rows(), short_rows()] {
        bits_are_the_same::<f16>(&a, FormatSpec::Csr, 100);
        bits_are_the_same::<f32>(&a, FormatSpec::Csr, 100);
        bits_are_the_same::<f64>(&a, FormatSpec::Csr, 100);
    }
}

#[test]
fn of_wcsr() {
    let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    bits_are_the_same::<f32>(&long_rows(), spec, 30);
    bits_are_the_same::<bf16>(&long_rows(), spec, u64::MAX);
}

#[test]
fn of_bcsr() {
    // Three block rows that share columns, and so are taken together where the product is wide.
    let has = |i: usize, j: usize| (i * 7 + j * 3).is_multiple_of(11);
    let a = matrices::where_(192, 256, has).unwrap();
    let spec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    bits_are_the_same::<f16>(&a, spec, u64::MAX);
    bits_are_the_same::<f32>(&a, spec, u64::MAX);
}
