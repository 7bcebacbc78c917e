//! Matrix Market text: what is read is a matrix, and is read back as it was written.

use girih_formats::io::{self, ReadOptions, Source};
use girih_formats::{Csr, Duplicates};

/// Runs the target on an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&flags, text)) = data.split_first() else { return };
    let duplicates = if flags & 1 == 0 { Duplicates::Sum } else { Duplicates::Refuse };
    let options = ReadOptions::default().duplicates(duplicates).prune_zeros(flags & 2 != 0);
    // Half of the inputs have the line that every file begins with.
    let banner = if flags & 4 == 0 { &b"%%MatrixMarket matrix "[..] } else { b"" };
    let text = [banner, text].concat();
    let Ok(a) = io::read::<f64>(Source::reader(&text[..]), &options) else { return };
    if a.nnz() > 1 << 12 {
        return;
    }
    let mut written = Vec::new();
    io::write_to(&mut written, "a.mtx", &a).unwrap();
    let again: Csr<f64> =
        io::read(Source::reader(&written[..]), &ReadOptions::default().allow_hypersparse(true))
            .unwrap();
    assert_eq!((a.nrows(), a.ncols()), (again.nrows(), again.ncols()));
    assert_eq!(a.row_ptr()[..], again.row_ptr()[..]);
    assert_eq!(a.col_idx()[..], again.col_idx()[..]);
    let same = |(x, y): (&f64, &f64)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    assert!(a.values().iter().zip(&again.values()[..]).all(same));
}
