//! Statistics against what is really there: built tilings, and a dense model.

use super::support::{SPECS, csr_of, layouts, matrix};
use girih_formats::stats::{FormatStats, MatrixStats};
use girih_formats::{
    Complex, Csr, DType, FormatError, FormatSpec, PAD_COL, RowLayout, Scalar, Tiling,
    for_any_tiling,
};
use half::{bf16, f16};
use proptest::prelude::*;

fn check<T: Scalar>(csr: &Csr<T>, spec: FormatSpec, layout: &RowLayout) {
    let stats = FormatStats::of(csr.pattern(), spec, layout, T::DTYPE);
    let tiling = match Tiling::from_csr(csr, spec, layout.clone()) {
        Ok(tiling) => tiling,
        Err(refused) => return assert_eq!(stats, Err(refused)),
    };
    let stats = stats.unwrap();
    assert_eq!((stats.spec, stats.dtype), (spec, T::DTYPE));
    assert_eq!(stats.bytes, tiling.bytes(), "{spec}");
    assert_eq!(stats.windows, tiling.n_windows() as u64);
    assert_eq!(stats.tiles, tiling.n_tiles(), "{spec}");
    let fullest =
        (0..tiling.n_windows()).map(|w| tiling.tile_ptr(w + 1) - tiling.tile_ptr(w)).max();
    assert_eq!(stats.max_tiles_per_window, fullest.unwrap_or(0), "{spec}");
    let (stored, fill_ratio) = match &tiling {
        Tiling::Csr(t) => (t.csr().nnz(), 1.0),
        Tiling::Bcsr(t) => (t.values().len(), t.fill_ratio()),
        Tiling::Wcsr(t) => {
            assert_eq!(stats.padding_cols, t.padding() as u64);
            assert_eq!(stats.gathered_cols, (t.packed_cols() - t.padding()) as u64);
            (t.values().len(), t.fill_ratio())
        }
        Tiling::BlockedEll(t) => {
            let (size, slots) = (t.block_size(), t.ell_col_idx().len());
            assert_eq!(stats.ell_width, t.ell_width() as u64);
            assert_eq!(stats.gathered_cols, (t.nnzb() * size) as u64);
            assert_eq!(stats.padding_cols, ((slots - t.nnzb()) * size) as u64);
            (t.values().len(), t.fill_ratio())
        }
        Tiling::BMat(t) => {
            let slots = t.tile_col_idx().len() as u64;
            assert_eq!(stats.gathered_cols + stats.padding_cols, slots);
            (t.values().map_or(0, |values| values.len()), t.fill_ratio())
        }
        Tiling::TwoFour(t) => (t.values().len(), t.fill_ratio()),
        Tiling::Hybrid(t) => {
            let padding = t.window_col_idx().iter().filter(|&&col| col == PAD_COL).count();
            assert_eq!(stats.padding_cols, padding as u64);
            let gathered = t.packed_cols() - padding + t.col_idx().len();
            assert_eq!(stats.gathered_cols, gathered as u64);
            assert_eq!(stats.row_windows as usize, tiling.n_windows() - t.packed_windows());
            assert_eq!(stats.row_entries, t.col_idx().len() as u64);
            (t.values().len(), t.fill_ratio())
        }
    };
    assert_eq!((stats.stored, stats.fill_ratio), (stored as u64, fill_ratio), "{spec}");
    let any = girih_formats::AnyTiling::from(tiling);
    assert_eq!(any.bytes(), for_any_tiling!(&any, t => t.bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn statistics_are_those_of_the_built_tiling((ncols, rows) in matrix(), seed: u64) {
        for spec in SPECS {
            for layout in layouts(rows.len(), spec.window_rows(), seed) {
                match DType::ALL[(seed % 6) as usize] {
                    DType::F16 => check(&csr_of::<f16>(ncols, &rows), spec, &layout),
                    DType::Bf16 => check(&csr_of::<bf16>(ncols, &rows), spec, &layout),
                    DType::F32 => check(&csr_of::<f32>(ncols, &rows), spec, &layout),
                    DType::F64 => check(&csr_of::<f64>(ncols, &rows), spec, &layout),
                    DType::C32 => check(&csr_of::<Complex<f32>>(ncols, &rows), spec, &layout),
                    DType::C64 => check(&csr_of::<Complex<f64>>(ncols, &rows), spec, &layout),
                }
            }
        }
    }

    #[test]
    fn matrix_statistics_are_those_of_a_dense_scan((ncols, rows) in matrix()) {
        let mut symmetric = rows.clone();
        if rows.len() == ncols {
            // Every other square matrix is made symmetric, or none would ever be.
            let present: Vec<(usize, u32)> =
                rows.iter().enumerate().flat_map(|(i, r)| r.iter().map(move |e| (i, e.0))).collect();
            for (i, j) in present {
                symmetric[j as usize].push((i as u32, 1.0));
            }
            for row in &mut symmetric {
                row.sort_by_key(|e| e.0);
                row.dedup_by_key(|e| e.0);
            }
        }
        for rows in [rows, symmetric] {
            let csr = csr_of::<f32>(ncols, &rows);
            let stats = MatrixStats::of(csr.pattern());
            let has = |i: usize, j: usize| rows[i].iter().any(|e| e.0 as usize == j);
            let (m, k) = (rows.len(), ncols);
            let entries: Vec<(usize, usize)> =
                (0..m).flat_map(|i| (0..k).map(move |j| (i, j))).filter(|&(i, j)| has(i, j)).collect();
            let lengths: Vec<f64> = rows.iter().map(|r| r.len() as f64).collect();
            let mean = entries.len() as f64 / m.max(1) as f64;
            let variance = lengths.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / m.max(1) as f64;
            prop_assert_eq!((stats.nrows, stats.ncols, stats.nnz), (m, k, entries.len()));
            prop_assert_eq!(stats.empty_rows, (0..m).filter(|&i| rows[i].is_empty()).count());
            prop_assert_eq!(stats.empty_cols, (0..k).filter(|&j| !(0..m).any(|i| has(i, j))).count());
            prop_assert_eq!(stats.max_row_nnz, rows.iter().map(Vec::len).max().unwrap_or(0));
            prop_assert_eq!(stats.bandwidth, entries.iter().map(|&(i, j)| i.abs_diff(j)).max().unwrap_or(0));
            let envelope = |i: usize| i - rows[i].first().map_or(i, |e| i.min(e.0 as usize));
            prop_assert_eq!(stats.profile, (0..m).map(envelope).sum::<usize>() as u64);
            prop_assert_eq!(stats.symmetric_pattern, m == k && entries.iter().all(|&(i, j)| has(j, i)));
            prop_assert!((stats.mean_row_nnz - mean).abs() < 1e-12);
            prop_assert!((stats.row_nnz_cv * mean - variance.sqrt()).abs() < 1e-6);
            prop_assert!((stats.density * (m * k) as f64 - entries.len() as f64).abs() < 1e-6);
            let zeros = rows.iter().flatten().filter(|e| e.1 == 0.0).count();
            prop_assert_eq!(csr.explicit_zeros(), zeros);
        }
    }
}

#[test]
fn sizes_beyond_any_memory_are_measured_or_refused_but_not_built() {
    // One dense row over a million columns: Blocked-ELL pads every block row to its width.
    let n = 1 << 20;
    let row_ptr: Vec<u64> = std::iter::once(0).chain((0..n as u64).map(|_| n as u64)).collect();
    let csr =
        Csr::try_new(n, n, row_ptr, (0..n as u32).collect::<Vec<_>>(), vec![1.0f32; n]).unwrap();
    let spec = FormatSpec::BlockedEll { block_size: 64 };
    let layout = RowLayout::natural(n, 64).unwrap();
    let stats = FormatStats::of(csr.pattern(), spec, &layout, DType::F32).unwrap();
    let (block_rows, width) = (1 << 14, 1 << 14);
    assert_eq!(stats.ell_width, width);
    assert_eq!(stats.stored, block_rows * width * 64 * 64);
    assert_eq!(stats.bytes, 4 * stats.stored + 4 * block_rows * width);

    let tall = u32::MAX as usize;
    let spec = FormatSpec::Bcsr { block_rows: tall, block_cols: tall };
    let layout = RowLayout::natural(n, tall).unwrap();
    assert!(matches!(
        FormatStats::of(csr.pattern(), spec, &layout, DType::F32),
        Err(FormatError::TooManyElements { .. })
    ));
}
