//! Every format from and back to CSR, against a dense model, at every ragged edge.

use super::support::{
    Model, SPECS, bits, csr_of, csr_of_values, generator, keeps_explicit_zeros, layouts, matrix,
};
use girih_formats::{
    BMat, Bcsr, BlockedEll, Complex, Csr, FormatError, FormatSpec, Hybrid, PAD_COL, RowCsr,
    RowLayout, Scalar, Tiling, TwoFour, Wcsr,
};
use half::{bf16, f16};
use proptest::prelude::*;

/// What `to_csr` must return, entry by entry.
fn expected<T: Scalar>(csr: &Csr<T>, tiling: &Tiling<T>) -> Csr<T> {
    let mut rows = Vec::new();
    for i in 0..csr.nrows() {
        let (cols, values) = csr.row(i);
        let entries = cols.iter().zip(values).map(|(&c, v)| (c, *v));
        let keeps_zeros = keeps_explicit_zeros(tiling, i);
        rows.push(entries.filter(|(_, v)| keeps_zeros || !v.is_zero()).collect());
    }
    let kept = csr_of_values(csr.ncols(), &rows);
    if tiling.spec() == (FormatSpec::BMat { pattern_only: true }) {
        return kept.with_values(vec![T::ONE; kept.nnz()]).unwrap();
    }
    kept
}

fn assert_same<T: Scalar>(a: &Csr<T>, b: &Csr<T>) {
    assert_eq!((a.nrows(), a.ncols()), (b.nrows(), b.ncols()));
    assert_eq!((a.row_ptr(), a.col_idx()), (b.row_ptr(), b.col_idx()));
    assert_eq!(bits(a.values()), bits(b.values()));
}

/// Takes a tiling apart and has its own `try_new` validate the arrays.
fn revalidate<T: Scalar>(tiling: &Tiling<T>) -> Result<(), FormatError> {
    match tiling.clone() {
        Tiling::Csr(t) => {
            let a = t.csr();
            let (row_ptr, col_idx) = (a.row_ptr().clone(), a.col_idx().clone());
            let a = Csr::try_new(a.nrows(), a.ncols(), row_ptr, col_idx, a.values().clone())?;
            RowCsr::try_new(t.layout().clone(), a).map(drop)
        }
        Tiling::Bcsr(t) => Bcsr::try_new(
            t.layout().clone(),
            t.ncols(),
            t.nnz(),
            t.block_cols(),
            t.block_row_ptr().clone(),
            t.block_col_idx().clone(),
            t.values().clone(),
        )
        .map(drop),
        Tiling::Wcsr(t) => Wcsr::try_new(
            t.layout().clone(),
            t.ncols(),
            t.nnz(),
            t.pad_cols(),
            t.window_ptr().clone(),
            t.window_col_idx().clone(),
            t.values().clone(),
        )
        .map(drop),
        Tiling::BlockedEll(t) => BlockedEll::try_new(
            t.layout().clone(),
            t.ncols(),
            t.nnz(),
            t.ell_width(),
            t.ell_col_idx().clone(),
            t.values().clone(),
        )
        .map(drop),
        Tiling::BMat(t) => BMat::try_new(
            t.layout().clone(),
            t.ncols(),
            t.window_ptr().clone(),
            t.tile_col_idx().clone(),
            t.tile_bits().clone(),
            t.tile_value_ptr().clone(),
            t.values().cloned(),
        )
        .map(drop),
        Tiling::TwoFour(t) => TwoFour::try_new(
            t.layout().clone(),
            t.ncols(),
            t.nnz(),
            t.values().clone(),
            t.metadata().clone(),
        )
        .map(drop),
        Tiling::Hybrid(t) => Hybrid::try_new(
            t.layout().clone(),
            t.ncols(),
            t.nnz(),
            (t.pad_cols(), t.tile_entries()),
            t.window_ptr().clone(),
            t.window_col_idx().clone(),
            t.row_ptr().clone(),
            t.col_idx().clone(),
            t.values().clone(),
        )
        .map(drop),
    }
}

fn has_crowded_group<T: Scalar>(csr: &Csr<T>) -> bool {
    (0..csr.nrows()).any(|i| csr.row(i).0.windows(3).any(|c| c[0] / 4 == c[2] / 4))
}

fn check<T: Scalar>(csr: &Csr<T>, seed: u64) {
    for spec in SPECS {
        for layout in layouts(csr.nrows(), spec.window_rows(), seed) {
            let tiling = match Tiling::from_csr(csr, spec, layout.clone()) {
                Err(FormatError::NotTwoFour { .. }) if spec == FormatSpec::TwoFour => {
                    assert!(has_crowded_group(csr));
                    continue;
                }
                tiling => tiling.unwrap(),
            };
            assert!(spec != FormatSpec::TwoFour || !has_crowded_group(csr));
            assert_eq!((tiling.spec(), tiling.layout()), (spec, &layout));
            assert_eq!((tiling.ncols(), tiling.nnz()), (csr.ncols(), csr.nnz()), "{spec}");
            revalidate(&tiling).unwrap();
            assert_same(&tiling.to_csr(), &expected(csr, &tiling));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_format_returns_exactly_the_stored_nonzeros((ncols, rows) in matrix(), seed: u64) {
        let csr = csr_of::<f32>(ncols, &rows);
        check(&csr, seed);
        match seed % 5 {
            0 => check(&csr_of::<f64>(ncols, &rows), seed),
            3 => check(&csr_of::<Complex<f32>>(ncols, &rows), seed),
            4 => check(&csr_of::<Complex<f64>>(ncols, &rows), seed),
            1 => check(&csr_of::<f16>(ncols, &rows), seed),
            _ => check(&csr_of::<bf16>(ncols, &rows), seed),
        }
    }
}

/// The element of a tiling at a slot and a column, read off its arrays one by one.
fn element<T: Scalar>(tiling: &Tiling<T>, slot: usize, col: usize) -> T {
    let at = tiling.layout().window_rows();
    let (w, r) = (slot / at, slot % at);
    match tiling {
        Tiling::Csr(t) => {
            let (cols, values) = t.csr().row(slot);
            cols.iter().position(|&c| c as usize == col).map_or(T::ZERO, |i| values[i])
        }
        Tiling::Bcsr(t) => {
            let (rows, width) = (t.block_rows(), t.block_cols());
            let blocks = t.block_row_ptr()[w] as usize..t.block_row_ptr()[w + 1] as usize;
            blocks
                .into_iter()
                .find(|&b| t.block_col_idx()[b] as usize == col / width)
                .map_or(T::ZERO, |b| t.values()[(b * rows + r) * width + col % width])
        }
        Tiling::Wcsr(t) => {
            let packed = t.window_ptr()[w] as usize..t.window_ptr()[w + 1] as usize;
            packed
                .into_iter()
                .find(|&p| t.window_col_idx()[p] as usize == col)
                .map_or(T::ZERO, |p| t.values()[r * t.packed_cols() + p])
        }
        Tiling::BlockedEll(t) => {
            let (size, width) = (t.block_size(), t.ell_width());
            (0..width)
                .find(|&b| t.ell_col_idx()[w * width + b] as usize == col / size)
                .map_or(T::ZERO, |b| t.values()[slot * t.row_stride() + b * size + col % size])
        }
        Tiling::BMat(t) => {
            let tiles = t.window_ptr()[w] as usize..t.window_ptr()[w + 1] as usize;
            for tile in tiles {
                let cols = &t.tile_col_idx()[tile * 8..][..8];
                let Some(c) = cols.iter().position(|&c| c as usize == col) else { continue };
                let (word, bit) = BMat::<T>::bit(r, c);
                let masks = &t.tile_bits()[tile * 4..][..4];
                if masks[word] >> bit & 1 == 0 {
                    return T::ZERO;
                }
                let before: u32 = masks[..word].iter().map(|m| m.count_ones()).sum();
                let below = (masks[word] & ((1 << bit) - 1)).count_ones();
                let at = t.tile_value_ptr()[tile] as usize + (before + below) as usize;
                return t.values().map_or(T::ONE, |values| values[at]);
            }
            T::ZERO
        }
        Tiling::TwoFour(t) => {
            let positions = t.positions(slot, col / 4);
            positions
                .iter()
                .position(|&p| p == col % 4)
                .map_or(T::ZERO, |i| t.values()[slot * t.row_stride() + col / 4 * 2 + i])
        }
        Tiling::Hybrid(t) if t.is_packed(w) => {
            let cols =
                &t.window_col_idx()[t.window_ptr()[w] as usize..t.window_ptr()[w + 1] as usize];
            let values = &t.values()[t.window_values(w)];
            cols.iter()
                .position(|&c| c as usize == col)
                .map_or(T::ZERO, |p| values[r * cols.len() + p])
        }
        Tiling::Hybrid(t) => {
            let (first, row) = (t.row_ptr()[w * at], t.row_ptr()[slot]..t.row_ptr()[slot + 1]);
            let values = &t.values()[t.window_values(w)];
            row.into_iter()
                .find(|&e| t.col_idx()[e as usize] as usize == col)
                .map_or(T::ZERO, |e| values[(e - first) as usize])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_element_stands_where_the_format_says((ncols, rows) in matrix(), seed: u64) {
        let csr = csr_of::<f32>(ncols, &rows);
        for spec in SPECS {
            let layout = layouts(csr.nrows(), spec.window_rows(), seed).swap_remove(2);
            let Ok(tiling) = Tiling::from_csr(&csr, spec, layout.clone()) else { continue };
            let pattern_only = spec == FormatSpec::BMat { pattern_only: true };
            for slot in 0..layout.n_slots() {
                let mut dense = vec![0.0f32; ncols];
                if let Some(row) = layout.row(slot) {
                    for &(col, value) in &rows[row] {
                        dense[col as usize] = if pattern_only { 1.0 } else { value as f32 };
                    }
                }
                let found: Vec<f32> = (0..ncols).map(|col| element(&tiling, slot, col)).collect();
                prop_assert_eq!(bits(&found), bits(&dense), "{} slot {}", spec, slot);
            }
        }
    }
}

/// 4000 rows, large enough to be cut into chunks, a few of them long.
fn uneven() -> Model {
    let mut random = generator(7);
    (0..4000)
        .map(|_| {
            let len = if random(50) == 0 { 400 } else { random(12) };
            let mut cols: Vec<u32> = (0..len).map(|_| random(2000) as u32).collect();
            cols.sort_unstable();
            cols.dedup();
            cols.into_iter().map(|col| (col, random(1000) as f64 - 500.0)).collect()
        })
        .collect()
}

#[test]
fn bytes_do_not_depend_on_the_number_of_threads() {
    let csr = csr_of::<f32>(2000, &uneven());
    let thin = csr.prune_two_four();
    let pools = [1, 2, 3, 7]
        .map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a thread pool"));
    for spec in SPECS {
        let csr = if spec == FormatSpec::TwoFour { &thin } else { &csr };
        for layout in layouts(csr.nrows(), spec.window_rows(), 9) {
            let [one, others @ ..] = pools.each_ref().map(|pool| {
                pool.install(|| {
                    let tiling = Tiling::from_csr(csr, spec, layout.clone()).unwrap();
                    let back = tiling.to_csr();
                    (tiling, back)
                })
            });
            assert_same(&one.1, &expected(csr, &one.0));
            for other in others {
                assert!(other == one, "{spec}");
            }
        }
    }
    let [one, others @ ..] = pools.map(|pool| pool.install(|| csr.prune_two_four()));
    assert!(others.iter().all(|other| *other == one));
}

#[test]
fn the_natural_order_shares_the_entries() {
    let csr = csr_of::<f32>(3, &vec![vec![(0, 1.0), (2, 2.0)], vec![], vec![(1, 3.0)]]);
    let shared = RowCsr::from_csr(&csr, RowLayout::natural(3, 1).unwrap()).unwrap();
    assert_eq!(shared.csr().row_ptr().as_ptr(), csr.row_ptr().as_ptr());
    assert_eq!(shared.to_csr().values().as_ptr(), csr.values().as_ptr());
    let windows = RowCsr::from_csr(&csr, RowLayout::natural(3, 2).unwrap()).unwrap();
    assert_eq!(windows.csr().nrows(), 4);
    assert_eq!(windows.csr().values().as_ptr(), csr.values().as_ptr());
    assert_eq!(windows.to_csr(), csr);
}

#[test]
fn the_layout_of_another_matrix_or_height_is_refused() {
    let csr = csr_of::<f32>(3, &vec![vec![(0, 1.0)]; 5]);
    for spec in SPECS {
        let other = RowLayout::natural(6, spec.window_rows()).unwrap();
        assert!(matches!(
            Tiling::from_csr(&csr, spec, other),
            Err(FormatError::LayoutMismatch { what: "rows", found: 6, expected: 5 })
        ));
        let taller = RowLayout::natural(5, spec.window_rows() + 1).unwrap();
        assert!(matches!(
            Tiling::from_csr(&csr, spec, taller),
            Err(FormatError::LayoutMismatch { what: "rows per window", .. })
        ));
    }
    let layout = || RowLayout::natural(5, 4).unwrap();
    assert!(matches!(Bcsr::from_csr(&csr, layout(), 0), Err(FormatError::Parameter { .. })));
    assert!(matches!(Wcsr::from_csr(&csr, layout(), 0), Err(FormatError::Parameter { .. })));
    assert!(matches!(
        BMat::from_csr(&csr, layout(), false),
        Err(FormatError::LayoutMismatch { what: "rows per window", .. })
    ));
}

#[test]
fn the_last_columns_of_the_widest_matrix_do_not_overflow() {
    let ncols = u32::MAX as usize;
    let last = u32::MAX - 1;
    let csr =
        csr_of::<f32>(ncols, &vec![vec![(0, 1.0), (last - 1, 2.0), (last, 3.0)], vec![(5, 4.0)]]);
    let layout = RowLayout::natural(2, 2).unwrap();
    let bcsr = Bcsr::from_csr(&csr, layout.clone(), 1 << 20).unwrap();
    assert_eq!(bcsr.block_col_idx()[..], [0, 4095]);
    assert_eq!(bcsr.to_csr(), csr);
    assert!(matches!(
        BlockedEll::from_csr(&csr, RowLayout::natural(2, u32::MAX as usize).unwrap()),
        Err(FormatError::TooManyElements { .. } | FormatError::OutOfMemory { .. })
    ));
}

#[test]
fn padding_is_never_a_column() {
    let csr = csr_of::<f32>(40, &vec![vec![(3, 1.0), (39, 2.0)]; 3]);
    let t = Wcsr::from_csr(&csr, RowLayout::natural(3, 64).unwrap(), 8).unwrap();
    assert_eq!(t.window_col_idx()[..3], [3, 39, PAD_COL]);
    assert_eq!((t.packed_cols(), t.padding()), (8, 6));
    let t = BMat::from_csr(&csr, RowLayout::natural(3, 16).unwrap(), true).unwrap();
    assert_eq!(t.tile_col_idx()[2..], [PAD_COL; 6]);
    assert_eq!(t.tile_bits()[..], [0x333, 0, 0, 0]);
}
