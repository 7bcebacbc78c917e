//! Texts read from a stream and from a file, and the fault that either gave.

use girih_formats::Csr;
use girih_formats::io::{self, Place, ReadError, ReadOptions, Source, TextFault};

pub(crate) const BANNER: &str = "%%MatrixMarket matrix coordinate real general\n";

pub(crate) fn read_with(text: &[u8], options: &ReadOptions) -> Result<Csr<f64>, ReadError> {
    let from_stream = io::read::<f64>(Source::reader(text), options);
    // A file takes another way through the reader; it must come to the same.
    let file = tempfile::NamedTempFile::with_suffix(".mtx").unwrap();
    std::fs::write(file.path(), text).unwrap();
    let from_file = io::read::<f64>(file.path(), options);
    match (&from_stream, &from_file) {
        (Ok(a), Ok(b)) => assert_eq!(
            (a.row_ptr(), a.col_idx(), format!("{:?}", a.values())),
            (b.row_ptr(), b.col_idx(), format!("{:?}", b.values()))
        ),
        // What a stream cannot know: how long it is, and what an earlier pass over it found.
        (
            Err(ReadError::Text { .. }),
            Err(ReadError::Text { fault: TextFault::ClaimTooLarge { .. }, .. }),
        ) => {}
        (Err(ReadError::Matrix(_)), Err(ReadError::Text { .. })) => {}
        (Err(ReadError::UnknownFormat), Err(_)) => {}
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        (a, b) => panic!("stream {a:?}, file {b:?}"),
    }
    from_file
}

pub(crate) fn read(text: &str) -> Result<Csr<f64>, ReadError> {
    read_with(text.as_bytes(), &ReadOptions::default())
}

/// The fault and its place, of a text after the banner.
pub(crate) fn fault(body: &str) -> (u64, u64, TextFault) {
    fault_of(&format!("{BANNER}{body}"))
}

pub(crate) fn fault_of(text: &str) -> (u64, u64, TextFault) {
    match read(text) {
        Err(ReadError::Text { place: Place { line, column }, fault }) => (line, column, fault),
        other => panic!("{text:?} gave {other:?}"),
    }
}

pub(crate) const ROW: &str = "the row index";
pub(crate) const COL: &str = "the column index";
