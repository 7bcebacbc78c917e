//! DLMC's `.smtx`.

use girih_formats::io::{self, ReadOptions, Source};

/// Runs the target on an input.
pub(crate) fn run(data: &[u8]) {
    let options = ReadOptions::default();
    let Ok(a) = io::read::<f32>(Source::reader(data), &options) else { return };
    // A text of so few bytes has at most half as many numbers.
    assert!(
        a.nnz() <= data.len() / 2 + 1 || data.starts_with(b"%%") || data.starts_with(&[0x1f, 0x8b])
    );
    assert_eq!(a.row_ptr()[a.nrows()], a.nnz() as u64);
}
