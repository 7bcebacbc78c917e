//! Matrix Market text: what is read is a matrix, and is read back as it was written.

use girih_formats::io::{self, ReadOptions, Source};
use girih_formats::{Complex, Csr, Duplicates, Scalar};

/// Runs the target on an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&flags, text)) = data.split_first() else { return };
    let duplicates = if flags & 1 == 0 { Duplicates::Sum } else { Duplicates::Refuse };
    let options = ReadOptions::default().duplicates(duplicates).prune_zeros(flags & 2 != 0);
    // Half of the inputs have the line that every file begins with.
    let banner = if flags & 4 == 0 { &b"%%MatrixMarket matrix "[..] } else { b"" };
    let text = [banner, text].concat();
    reads_back::<f64>(&text, &options);
    reads_back::<Complex<f64>>(&text, &options);
}

/// Reads a text and, if it is a matrix of this type, what is written of that.
fn reads_back<T: Scalar>(text: &[u8], options: &ReadOptions) {
    let Ok(a) = io::read::<T>(Source::reader(text), options) else { return };
    // Millions of empty rows take seconds, and are read as thousands are.
    if a.nnz() > 1 << 12 || a.nrows() > 1 << 20 {
        return;
    }
    let mut written = Vec::new();
    io::write_to(&mut written, "a.mtx", &a).unwrap();
    let again: Csr<T> =
        io::read(Source::reader(&written[..]), &ReadOptions::default().allow_hypersparse(true))
            .unwrap();
    assert_eq!((a.nrows(), a.ncols()), (again.nrows(), again.ncols()));
    assert_eq!(a.row_ptr()[..], again.row_ptr()[..]);
    assert_eq!(a.col_idx()[..], again.col_idx()[..]);
    let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    let alike = |(x, y): (&T, &T)| {
        let (x, y) = (x.to_c64(), y.to_c64());
        same(x.re, y.re) && same(x.im, y.im)
    };
    assert!(a.values().iter().zip(&again.values()[..]).all(alike));
}
