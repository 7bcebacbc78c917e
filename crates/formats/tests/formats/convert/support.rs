//! Matrices and layouts for the conversion and statistics tests.

use girih_formats::{Complex, Csr, FormatSpec, PAD_ROW, RowLayout, Scalar, Tiling};
use proptest::prelude::*;

/// Formats with sizes that divide nothing, divide everything, and exceed the matrix.
pub(crate) const SPECS: [FormatSpec; 20] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 1, block_cols: 1 },
    FormatSpec::Bcsr { block_rows: 3, block_cols: 5 },
    FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
    FormatSpec::Bcsr { block_rows: 64, block_cols: 16 },
    FormatSpec::Bcsr { block_rows: 2, block_cols: 1000 },
    FormatSpec::Wcsr { window_rows: 1, pad_cols: 1 },
    FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 5, pad_cols: 3 },
    FormatSpec::Wcsr { window_rows: 64, pad_cols: 16 },
    FormatSpec::BlockedEll { block_size: 1 },
    FormatSpec::BlockedEll { block_size: 4 },
    FormatSpec::BlockedEll { block_size: 7 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::BMat { pattern_only: true },
    FormatSpec::TwoFour,
    FormatSpec::Hybrid { window_rows: 8, pad_cols: 8, tile_entries: 10 },
    FormatSpec::Hybrid { window_rows: 5, pad_cols: 3, tile_entries: 4 },
    FormatSpec::Hybrid { window_rows: 16, pad_cols: 4, tile_entries: 1 },
    FormatSpec::Hybrid { window_rows: 1, pad_cols: 2, tile_entries: 3 },
];

/// Whether a tiling stores the zeros of a row as entries.
pub(crate) fn keeps_explicit_zeros<T: Scalar>(tiling: &Tiling<T>, row: usize) -> bool {
    let slots = tiling.layout().slot_of_rows();
    let slot = slots.map_or(row, |slots| slots[row]);
    match tiling {
        Tiling::Csr(_) | Tiling::BMat(_) => true,
        Tiling::Hybrid(t) => !t.is_packed(slot / t.window_rows()),
        _ => false,
    }
}

/// A matrix as rows of (column, value).
pub(crate) type Model = Vec<Vec<(u32, f64)>>;

/// With an imaginary part beside each value, for types that have one: 0 where the value is.
pub(crate) fn csr_of<T: Scalar>(ncols: usize, rows: &Model) -> Csr<T> {
    let value = |v: f64| T::from_c64(Complex::new(v, if v == 0.0 { 0.0 } else { 0.5 - v }));
    let row = |row: &Vec<(u32, f64)>| row.iter().map(|&(col, v)| (col, value(v))).collect();
    csr_of_values(ncols, &rows.iter().map(row).collect::<Vec<_>>())
}

pub(crate) fn csr_of_values<T: Scalar>(ncols: usize, rows: &[Vec<(u32, T)>]) -> Csr<T> {
    let mut row_ptr = vec![0];
    let (mut col_idx, mut values) = (Vec::new(), Vec::new());
    for row in rows {
        for &(col, value) in row {
            col_idx.push(col);
            values.push(value);
        }
        row_ptr.push(col_idx.len() as u64);
    }
    Csr::try_new(rows.len(), ncols, row_ptr, col_idx, values).expect("a valid model")
}

/// Values exact in every dtype, with the ones that break comparisons and sums among them.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        12 => (1..100i32).prop_map(|v| f64::from(v) / 4.0),
        4 => (-100..0i32).prop_map(f64::from),
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
    ]
}

/// Matrices up to 90 × 150 of any shape and density: empty ones, single rows and columns, dense
/// rows, runs of neighbours as well as scattered entries.
pub(crate) fn matrix() -> impl Strategy<Value = (usize, Model)> {
    let dim = |max: usize| prop_oneof![1 => 0..3usize, 6 => 1..=max];
    (dim(90), dim(150), 0..4u8).prop_flat_map(|(nrows, ncols, kind)| {
        let longest = if kind == 0 { 3 } else { ncols / 4 + 1 };
        let runs = prop::collection::vec((0..ncols.max(1), 1..9usize), 0..=longest / 4 + 1);
        let scattered = prop::collection::vec(0..ncols.max(1), 0..=longest);
        let row = (runs, scattered, prop::collection::vec(value(), ncols), 0..20u8).prop_map(
            move |(runs, scattered, values, dense)| {
                let mut present = vec![dense == 0 && kind == 2; ncols];
                if ncols > 0 && !(dense < 5 && kind != 2) {
                    scattered.iter().for_each(|&c| present[c] = true);
                    if kind > 0 {
                        let run = |&(start, len): &(usize, usize)| start..(start + len).min(ncols);
                        runs.iter().flat_map(run).for_each(|c| present[c] = true);
                    }
                }
                (0..ncols).filter(|&c| present[c]).map(|c| (c as u32, values[c])).collect()
            },
        );
        prop::collection::vec(row, nrows).prop_map(move |rows: Model| (ncols, rows))
    })
}

/// Numbers below what is asked for, reproducibly.
pub(crate) fn generator(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed | 1;
    move |below| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    }
}

/// The layouts to try: natural, reversed, and shuffled with empty slots scattered about, by a
/// generator seeded with `seed`.
pub(crate) fn layouts(nrows: usize, window_rows: usize, seed: u64) -> Vec<RowLayout> {
    let whole = |mut slots: Vec<u32>| {
        slots.resize(slots.len().next_multiple_of(window_rows), PAD_ROW);
        RowLayout::explicit(nrows, window_rows, slots).expect("every row once")
    };
    let mut random = generator(seed);
    let mut shuffled: Vec<u32> = (0..nrows as u32).collect();
    for i in (1..nrows).rev() {
        shuffled.swap(i, random(i + 1));
    }
    let mut spaced = Vec::new();
    for row in shuffled {
        spaced.extend(std::iter::repeat_n(PAD_ROW, random(12).saturating_sub(8)));
        spaced.push(row);
    }
    vec![
        RowLayout::natural(nrows, window_rows).expect("a valid height"),
        whole((0..nrows as u32).rev().collect()),
        whole(spaced),
    ]
}

/// Bits of the values: equality that tells NaN from NaN and zero from minus zero.
pub(crate) fn bits<T: Scalar>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}
