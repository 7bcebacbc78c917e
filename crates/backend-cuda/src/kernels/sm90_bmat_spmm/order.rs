//! In f32, an element of C is the sum of its row's entries, in the order of columns, by fused multiply-adds.

use girih_backend::{DenseScalar, SpmmBackend};
use girih_formats::{AnyTiling, Csr, FormatSpec, RowLayout, Tiling};
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, Precision, Schedule};
use girih_testkit::matrices;
use girih_testkit::operands::random;
use ndarray::Array2;

use crate::emulated::Emulated;
use crate::emulated::operands::Placing;

/// The product, entry by entry.
fn in_order(a: &Csr<f32>, b: &Array2<f32>, is_pattern: bool) -> Array2<f32> {
    let entries = |i: usize| a.row_ptr()[i] as usize..a.row_ptr()[i + 1] as usize;
    Array2::from_shape_fn((a.nrows(), b.ncols()), |(i, j)| {
        entries(i).fold(0.0, |sum: f32, at| {
            let value = if is_pattern { 1.0 } else { a.values()[at] };
            value.mul_add(b[[a.col_idx()[at] as usize, j]], sum)
        })
    })
}

/// Bits of every element, of windows with 0 to 38 tiles, by every configuration.
#[test]
fn sums_in_f32_have_the_bits_of_csr() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let a = matrices::where_(83, 300, |i, j| {
        !(16..32).contains(&i) && (i * 7 + j * 5) % (i % 16 + 3) == 0
    });
    let a = a.unwrap().cast::<f32>();
    for pattern_only in [false, true] {
        let layout = RowLayout::natural(a.nrows(), 16).unwrap();
        let spec = FormatSpec::BMat { pattern_only };
        let tiling = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        for schedule in [Schedule::by_window(&tiling), Schedule::sm_aligned(&tiling, 130, 3, &cost)]
        {
            let plan = Plan::from_tiling(tiling.clone()).with_schedule(&schedule).unwrap();
            let prepared = device.prepare(&plan.with_precision(Precision::F32)).unwrap();
            for n in [1, 32, 60, 100, 130, 260] {
                let b = random::<f32>(a.ncols(), n, 3);
                let mut c = Array2::from_elem((a.nrows(), n), f32::NAN);
                let (b_view, c_view) = (f32::erase(b.view()), f32::erase_acc_mut(c.view_mut()));
                prepared.execute(1.0, b_view, 0.0, c_view).unwrap();
                let expected = in_order(&a, &b, pattern_only);
                for ((at, found), expected) in c.indexed_iter().zip(&expected) {
                    assert_eq!(found.to_bits(), expected.to_bits(), "{spec}, n = {n}, {at:?}");
                }
            }
        }
    }
}
