use super::*;
use crate::{Csr, PAD_COL};

/// Rows 0 and 1 alike, 2 and 3 with a single column each, 4 without any.
fn matrix() -> Csr<f32> {
    let (row_ptr, col_idx) = (vec![0, 3, 6, 7, 8, 8], vec![0, 2, 5, 0, 2, 5, 1, 4]);
    Csr::try_new(5, 6, row_ptr, col_idx, (1..9).map(|v| v as f32).collect::<Vec<_>>()).unwrap()
}

fn hybrid(tile_entries: usize) -> Hybrid<f32> {
    let layout = RowLayout::natural(5, 2).unwrap();
    Hybrid::from_csr(&matrix(), layout, (2, tile_entries)).unwrap()
}

#[test]
fn windows_are_packed_where_their_tiles_have_enough_entries() {
    // Window 0: six entries in two tiles, the second padded. Window 1: two in one.
    let t = hybrid(3);
    assert_eq!([0, 1, 2].map(|w| t.is_packed(w)), [true, false, false]);
    assert_eq!(
        (&t.window_ptr()[..], &t.window_col_idx()[..]),
        (&[0, 4, 4, 4][..], &[0, 2, 5, PAD_COL][..])
    );
    assert_eq!((&t.row_ptr()[..], &t.col_idx()[..]), (&[0, 0, 0, 1, 2, 2, 2][..], &[1, 4][..]));
    let values = [1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 6.0, 0.0, 7.0, 8.0];
    assert_eq!(t.values()[..], values);
    assert_eq!([0, 1, 2].map(|w| t.window_values(w)), [0..8, 8..10, 10..10]);
    // Two dense tiles, then two entries, which are less than three.
    assert_eq!([0, 1, 2, 3].map(|w| t.tile_ptr(w)), [0, 2, 3, 3]);
    assert_eq!([1, 2, 4].map(|entries| hybrid(entries).packed_windows()), [2, 2, 0]);
    assert_eq!(hybrid(4).values()[..], matrix().values()[..]);
    assert_eq!([1, 2, 3, 4].map(|entries| hybrid(entries).to_csr() == matrix()), [true; 4]);
}

#[test]
fn arrays_that_contradict_each_other_are_refused() {
    let t = hybrid(3);
    let with = |row_ptr: Vec<u64>, col_idx: Vec<u32>, nnz, n_values| {
        let (ptr, idx) = (t.window_ptr().clone(), t.window_col_idx().clone());
        let layout = RowLayout::explicit(5, 2, vec![0, 1, 2, 3, 4, crate::PAD_ROW]).unwrap();
        Hybrid::try_new(layout, 6, nnz, (2, 3), ptr, idx, row_ptr, col_idx, vec![1.0f32; n_values])
            .map(drop)
    };
    assert_eq!(with(vec![0, 0, 0, 1, 2, 2, 2], vec![1, 4], 8, 10), Ok(()));
    let reason = |result: Result<(), FormatError>| match result {
        Err(FormatError::Inconsistent { what: "row_ptr", position, reason }) => (position, reason),
        other => panic!("{other:?}"),
    };
    let both = with(vec![0, 1, 1, 1, 2, 2, 2], vec![1, 4], 8, 10);
    assert_eq!(reason(both), (0, "a window that is packed has rows with entries too"));
    let empty = with(vec![0, 0, 0, 0, 1, 1, 2], vec![1, 4], 8, 10);
    assert_eq!(reason(empty), (5, "an empty slot has entries"));
    for (result, what) in [
        (with(vec![0, 0, 0, 1, 2, 2, 2], vec![1, 6], 8, 10), "col_idx"),
        (with(vec![0, 0, 0, 1, 2, 2, 3], vec![1, 4], 8, 10), "row_ptr"),
        (with(vec![0, 0, 0, 1, 2, 2, 2], vec![1, 4], 8, 9), "values"),
        (with(vec![0, 0, 0, 1, 2, 2, 2], vec![1, 4], 1, 10), "nnz"),
        (with(vec![0, 0, 0, 1, 2, 2, 2], vec![1, 4], 11, 10), "nnz"),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(what), "{what}: {error}");
    }
}

#[test]
fn sizes_out_of_range_are_refused() {
    let layout = || RowLayout::natural(5, 2).unwrap();
    for sizes in [(0, 1), (1, 0)] {
        let refused = Hybrid::from_csr(&matrix(), layout(), sizes);
        assert!(matches!(refused, Err(FormatError::Parameter { .. })));
    }
}
