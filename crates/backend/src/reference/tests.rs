//! Every format by hand, from arrays that no conversion built.
//!
//! ```text
//!     [ 1 0 2 0 0 ]        [ 1 10 ]
//! A = [ 0 0 0 0 3 ]    B = [ 2 20 ]
//!     [ 0 4 5 0 0 ]        [ 3 30 ]
//!                          [ 4 40 ]
//!                          [ 5 50 ]
//! ```
//!
//! Where a format has slots that are no part of A, it holds 99, which must not count.

use girih_formats::{
    BMat, Bcsr, BlockedEll, Csr, E4m3Overflow, E4m3Scales, PAD_COL, PAD_ROW, RowCsr, RowLayout,
    TwoFour, Wcsr, f16,
};
use ndarray::{Array2, array};

use super::*;
use crate::{Product, verify};

fn b() -> Array2<f32> {
    Array2::from_shape_fn((5, 2), |(j, n)| (j + 1) as f32 * [1.0, 10.0][n])
}

/// A·B, with the rows in the order 2, –, 0, 1 where a layout allows it.
fn check(tiling: Tiling<f32>) {
    let plan = Plan::from_tiling(tiling);
    let prepared = ReferenceBackend.prepare(&plan).unwrap();
    let mut c = Array2::from_elem((3, 2), f32::NAN);
    prepared.execute(1.0, b().view().into(), 0.0, c.view_mut().into()).unwrap();
    assert_eq!(c, array![[7.0, 70.0], [15.0, 150.0], [23.0, 230.0]]);
    prepared.execute(-2.0, b().view().into(), 3.0, c.view_mut().into()).unwrap();
    assert_eq!(c, array![[7.0, 70.0], [15.0, 150.0], [23.0, 230.0]]);
}

fn rows(window_rows: usize) -> RowLayout {
    let slots = [2, PAD_ROW, 0, 1];
    let padding = std::iter::repeat_n(PAD_ROW, 4usize.next_multiple_of(window_rows) - 4);
    let slots: Vec<u32> = slots.into_iter().chain(padding).collect();
    RowLayout::explicit(3, window_rows, slots).unwrap()
}

#[test]
fn csr() {
    let csr = Csr::try_new(
        4,
        5,
        vec![0, 2, 2, 4, 5],
        vec![1, 2, 0, 2, 4],
        vec![4.0f32, 5.0, 1.0, 2.0, 3.0],
    );
    check(Tiling::Csr(RowCsr::try_new(rows(1), csr.unwrap()).unwrap()));
}

#[test]
fn bcsr() {
    // Blocks of 2×3; the second block column has two columns of A and one past its end.
    #[rustfmt::skip]
    let values = vec![
        0.0f32, 4.0, 5.0,  99.0, 99.0, 99.0, // row 2 and the empty slot, columns 0–2
        1.0, 0.0, 2.0,  0.0, 0.0, 0.0,       // rows 0 and 1, columns 0–2
        0.0, 0.0, 99.0,  0.0, 3.0, 99.0,     // rows 0 and 1, columns 3–5
    ];
    check(Tiling::Bcsr(
        Bcsr::try_new(rows(2), 5, 5, 3, vec![0, 1, 3], vec![0, 0, 1], values).unwrap(),
    ));
}

#[test]
fn wcsr() {
    // Windows of two rows, columns padded to pairs.
    #[rustfmt::skip]
    let values = vec![
        4.0f32, 5.0,   1.0, 2.0, 0.0, 99.0,
        99.0, 99.0,    0.0, 0.0, 3.0, 99.0,
    ];
    let cols = vec![1, 2, 0, 2, 4, PAD_COL];
    check(Tiling::Wcsr(Wcsr::try_new(rows(2), 5, 5, 2, vec![0, 2, 6], cols, values).unwrap()));
}

#[test]
fn blocked_ell() {
    // 3×3 blocks, two to a block row: rows 2, –, 0, then row 1.
    #[rustfmt::skip]
    let values = vec![
        0.0f32, 4.0, 5.0,  99.0, 99.0, 99.0,
        99.0, 99.0, 99.0,  99.0, 99.0, 99.0,
        1.0, 0.0, 2.0,     99.0, 99.0, 99.0,

        0.0, 3.0, 99.0,    99.0, 99.0, 99.0,
        99.0, 99.0, 99.0,  99.0, 99.0, 99.0,
        99.0, 99.0, 99.0,  99.0, 99.0, 99.0,
    ];
    let cols = vec![0, PAD_COL, 1, PAD_COL];
    check(Tiling::BlockedEll(BlockedEll::try_new(rows(3), 5, 5, 2, cols, values).unwrap()));
}

#[test]
fn bmat() {
    // One tile over columns 0, 1, 2 and 4. Rows 2, –, 0, 1 stand in slots 0 to 3, so every entry is
    // in word 0: bits 1 and 2, 8 and 10, and 15.
    let cols = vec![0, 1, 2, 4, PAD_COL, PAD_COL, PAD_COL, PAD_COL];
    let bits = vec![1 << 1 | 1 << 2 | 1 << 8 | 1 << 10 | 1 << 15, 0, 0, 0];
    let values = vec![4.0f32, 5.0, 1.0, 2.0, 3.0];
    let bmat = |values| {
        BMat::try_new(rows(16), 5, vec![0, 1], cols.clone(), bits.clone(), vec![0, 5], values)
    };
    check(Tiling::BMat(bmat(Some(values.into())).unwrap()));

    let plan = Plan::from_tiling(Tiling::BMat(bmat(None).unwrap()));
    let mut c = Array2::from_elem((3, 2), f32::NAN);
    let prepared = ReferenceBackend.prepare(&plan).unwrap();
    prepared.execute(1.0, b().view().into(), 0.0, c.view_mut().into()).unwrap();
    assert_eq!(c, array![[4.0, 40.0], [5.0, 50.0], [5.0, 50.0]]);
}

#[test]
fn two_four() {
    // Two groups per row; the second reaches past column 4.
    #[rustfmt::skip]
    let values = vec![
        4.0f32, 5.0,  0.0, 0.0,
        99.0, 99.0,   99.0, 0.0,
        1.0, 2.0,     0.0, 0.0,
        0.0, 0.0,     3.0, 0.0,
    ];
    let padding = 0b0100_0100_0000_0000;
    let metadata = [0b0100_1001, 0b0100_0100, 0b1100_1000, 0b0100_0100].map(|m| m | padding);
    check(Tiling::TwoFour(TwoFour::try_new(rows(1), 5, 5, values, metadata.to_vec()).unwrap()));
}

/// Values in e4m3 have more digits than their type: they are multiplied exactly.
#[test]
fn two_four_in_e4m3() {
    let third = 1.0f32 / 3.0;
    let entries = [(0, 0, 4.0 * third), (0, 3, -448.0 * third), (1, 4, 9.0)];
    let a = Csr::from_triplets(2, 5, entries.map(|(i, j, x)| (i, j, f16::from_f32(x)))).unwrap();
    let scales = E4m3Scales::per_row(vec![third, 0.02]).unwrap();
    let layout = RowLayout::natural(2, 1).unwrap();
    let tiled = TwoFour::from_csr_e4m3(&a, layout, &scales, E4m3Overflow::Error).unwrap();
    let plan = Plan::from_tiling(Tiling::TwoFour(tiled));
    let b = Array2::from_shape_fn((5, 1), |(i, _)| f16::from_f32(i as f32 + 0.5));
    let mut c = Array2::from_elem((2, 1), f32::NAN);
    let prepared = ReferenceBackend.prepare(&plan).unwrap();
    prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
    // 9/0.02 = 450 becomes 448.
    let exact = [(4.0 * 0.5 - 448.0 * 3.5) * f64::from(third), 448.0 * 4.5 * f64::from(0.02f32)];
    assert_eq!(c, array![[exact[0] as f32], [exact[1] as f32]]);
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let rounding = ReferenceBackend.rounding(&plan);
    let verdict =
        |c: &Array2<f32>| verify(&a, &plan, &product, &c.view().into(), rounding).unwrap();
    assert!(verdict(&c).passed());
    // The plan has 8.96 in the place of 9, and that counts.
    c[[1, 0]] = 9.0 * 4.5;
    assert!(!verdict(&c).passed());
}

#[test]
fn operands_that_do_not_fit_leave_c_alone() {
    let csr = Csr::<f64>::empty(3, 5).unwrap();
    let layout = RowLayout::natural(3, 1).unwrap();
    let plan = Plan::from_tiling(Tiling::Csr(RowCsr::try_new(layout, csr).unwrap()));
    let prepared = ReferenceBackend.prepare(&plan).unwrap();
    let mut c = Array2::from_elem((3, 2), 7.0f64);
    let error = prepared.execute(1.0, b().view().into(), 0.0, c.view_mut().into()).unwrap_err();
    assert_eq!(error.to_string(), "B is f32 where the plan needs f64");
    let b = Array2::<f64>::zeros((5, 3));
    let error = prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap_err();
    assert_eq!(error.to_string(), "C is 3×2 where the product needs 3×3");
    assert_eq!(c, Array2::from_elem((3, 2), 7.0));
}
