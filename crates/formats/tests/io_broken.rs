//! Broken and odd inputs: each gives its own error at its own place, or is read as it is meant.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use girih_formats::io::{
    self, Field, FileKind, Place, ReadError, ReadOptions, Source, Symmetry, TextFault,
};
use girih_formats::{Csr, Duplicates};

const BANNER: &str = "%%MatrixMarket matrix coordinate real general\n";

fn read_with(text: &[u8], options: &ReadOptions) -> Result<Csr<f64>, ReadError> {
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

fn read(text: &str) -> Result<Csr<f64>, ReadError> {
    read_with(text.as_bytes(), &ReadOptions::default())
}

/// The fault and its place, of a text after the banner.
fn fault(body: &str) -> (u64, u64, TextFault) {
    fault_of(&format!("{BANNER}{body}"))
}

fn fault_of(text: &str) -> (u64, u64, TextFault) {
    match read(text) {
        Err(ReadError::Text { place: Place { line, column }, fault }) => (line, column, fault),
        other => panic!("{text:?} gave {other:?}"),
    }
}

const ROW: &str = "the row index";
const COL: &str = "the column index";

#[test]
fn empty_and_header_only() {
    assert!(matches!(read(""), Err(ReadError::Empty)));
    assert!(matches!(read("\n\n"), Err(ReadError::Empty)));
    assert_eq!(fault(""), (2, 1, TextFault::NoSize));
    assert_eq!(fault("% only\n\n%comments"), (5, 1, TextFault::NoSize));
    assert_eq!(fault("2 2 1\n"), (3, 1, TextFault::TooFewEntries { found: 0, expected: 1 }));
}

#[test]
fn indices_out_of_range() {
    assert_eq!(fault("2 3 1\n0 1 5\n"), (3, 1, TextFault::ZeroIndex { what: ROW }));
    assert_eq!(fault("2 3 1\n1 0 5\n"), (3, 3, TextFault::ZeroIndex { what: COL }));
    let too_large =
        |what, found: &str, limit| TextFault::IndexTooLarge { what, found: found.into(), limit };
    assert_eq!(fault("2 3 2\n1 1 1\n3 1 5\n"), (4, 1, too_large(ROW, "3", 2)));
    assert_eq!(fault("2 3 1\n  2\t4 5\n"), (3, 5, too_large(COL, "4", 3)));
    let huge = "18446744073709551617";
    assert_eq!(fault(&format!("2 3 1\n1 {huge} 5\n")), (3, 3, too_large(COL, huge, 3)));
    let negative = |what, found: &str| TextFault::Negative { what, found: found.into() };
    assert_eq!(fault("2 3 1\n-1 1 5\n"), (3, 1, negative(ROW, "-1")));
    assert_eq!(fault("2 3 -4\n"), (2, 5, negative("the number of entries", "-4")));
}

#[test]
fn text_where_a_number_belongs() {
    let integer = |what, found: &str| TextFault::NotAnInteger { what, found: found.into() };
    assert_eq!(fault("2 x 1\n"), (2, 3, integer("the number of columns", "x")));
    assert_eq!(fault("2 2 1\n1.0 1 5\n"), (3, 1, integer(ROW, "1.0")));
    assert_eq!(fault("2 2 1\n1 one 5\n"), (3, 3, integer(COL, "one")));
    let number = |found: &str| TextFault::NotANumber { found: found.into() };
    assert_eq!(fault("2 2 1\n1 1 five\n"), (3, 5, number("five")));
    assert_eq!(fault("2 2 1\n1 1 0x10\n"), (3, 5, number("0x10")));
    assert_eq!(fault("2 2 1\n1 1\n"), (3, 4, TextFault::Missing { what: "a value" }));
    assert_eq!(fault("2 2 1\n1\n"), (3, 2, TextFault::Missing { what: COL }));
    assert_eq!(fault("2 2\n"), (2, 4, TextFault::Missing { what: "the number of entries" }));
    assert_eq!(fault("2 2 1 9\n"), (2, 7, TextFault::Trailing { found: "9".into() }));
    assert_eq!(fault("2 2 1\n1 1 5 6\n"), (3, 7, TextFault::Trailing { found: "6".into() }));
    let text = "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n";
    assert_eq!(fault_of(text), (3, 5, TextFault::NotAnIntegerValue { found: "1.5".into() }));
}

#[test]
fn too_few_and_too_many_entries() {
    let few = TextFault::TooFewEntries { found: 1, expected: 2 };
    assert_eq!(fault("2 2 2\n1 1 5\n"), (4, 1, few.clone()));
    assert_eq!(fault("2 2 2\n1 1 5\n\n% end\n"), (6, 1, few));
    let many = TextFault::TooManyEntries { expected: 1 };
    assert_eq!(fault("2 2 1\n1 1 5\n%\n\n 2 2 6\n2 1 7\n"), (6, 2, many.clone()));
    // One too many is what is wrong, before what is wrong with later lines.
    assert_eq!(fault("2 2 1\n1 1 5\n2 2 6\nx\n"), (4, 1, many));
    assert_eq!(fault("2 2 0\n1 1 5\n"), (3, 1, TextFault::TooManyEntries { expected: 0 }));
}

#[test]
fn a_claim_of_a_trillion_entries() {
    let text = format!("{BANNER}1000000 1000000 1000000000000\n1 1 5\n");
    assert!(matches!(
        fault_of(&text),
        (2, 17, TextFault::ClaimTooLarge { claimed: 1_000_000_000_000, bytes: 6, most: 1 })
    ));
    let from_stream = io::read::<f64>(Source::reader(text.as_bytes()), &ReadOptions::default());
    assert!(matches!(
        from_stream,
        Err(ReadError::Text {
            place: Place { line: 4, column: 1 },
            fault: TextFault::TooFewEntries { found: 1, expected: 1_000_000_000_000 }
        })
    ));
    let array = "%%MatrixMarket matrix array real general\n4000000000 4000000000\n1\n";
    assert!(matches!(fault_of(array), (2, 1, TextFault::ClaimTooLarge { .. })));
}

#[test]
fn rows_out_of_proportion_are_refused_unless_allowed() {
    let text = format!("{BANNER}20000000 5 1\n20000000 5 1.5\n");
    let error = read(&text).unwrap_err();
    assert!(matches!(error, ReadError::Hypersparse { nrows: 20_000_000, entries: 1 }));
    assert!(error.to_string().contains("allow_hypersparse"), "{error}");
    let options = ReadOptions { allow_hypersparse: true, ..ReadOptions::default() };
    let a = read_with(text.as_bytes(), &options).unwrap();
    assert_eq!((a.nrows(), a.row(19_999_999)), (20_000_000, (&[4][..], &[1.5][..])));

    // A stream may claim entries that do not come.
    let text = format!("{BANNER}4000000000 5 1000000000\n4000000000 5 1.5\n");
    let error = io::read::<f64>(Source::reader(text.as_bytes()), &ReadOptions::default());
    assert!(matches!(error, Err(ReadError::Text { fault: TextFault::TooFewEntries { .. }, .. })));
    let too_large = TextFault::TooLarge { what: "ncols", found: 1 << 32 };
    assert_eq!(fault("1 4294967296 1\n1 1 1\n"), (2, 3, too_large));
}

#[test]
fn banners() {
    let banner = |text: &str| fault_of(&format!("{text}\n1 1 1\n1 1 1\n"));
    let (line, column, fault) = banner("%%MatrixMarket matrix coordinate real hermitean");
    assert!(matches!(fault, TextFault::Keyword { what: "symmetry", .. }));
    assert_eq!((line, column), (1, 39));
    assert!(matches!(
        banner("%%MatrixMarket vector coordinate real general"),
        (1, 16, TextFault::Keyword { what: "object", .. })
    ));
    assert!(matches!(
        banner("%%MatrixMarket matrix coordinate real"),
        (1, 38, TextFault::Keyword { what: "symmetry", .. })
    ));
    assert!(matches!(
        banner("%%MatrixMarket matrix array pattern general"),
        (1, 29, TextFault::PatternWithValues { .. })
    ));
    let file = tempfile::NamedTempFile::with_suffix(".mtx").unwrap();
    std::fs::write(file.path(), "1 1 1\n").unwrap();
    let error = io::read::<f64>(file.path(), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, ReadError::Text { fault: TextFault::Banner { .. }, .. }));
    for text in [
        "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
        "%%MatrixMarket matrix coordinate complex Hermitian\n1 1 1\n1 1 1 0\n",
        "%%matrixmarket MATRIX Coordinate Real HERMITIAN\n1 1 1\n1 1 1\n",
    ] {
        let error = read(text).unwrap_err();
        assert!(matches!(error, ReadError::Complex { .. }), "{text:?}: {error}");
        assert!(error.to_string().contains("complex numbers"), "{error}");
    }
}

#[test]
fn symmetry() {
    let of = |symmetry: &str, body: &str| {
        format!("%%MatrixMarket matrix coordinate real {symmetry}\n{body}")
    };
    let symmetric = Symmetry::Symmetric;
    assert_eq!(
        fault_of(&of("symmetric", "2 3 1\n1 1 1\n")),
        (2, 1, TextFault::NotSquare { symmetry: symmetric, nrows: 2, ncols: 3 })
    );
    let both = TextFault::BothTriangles { symmetry: symmetric };
    assert_eq!(fault_of(&of("symmetric", "2 2 2\n2 1 1\n1 2 1\n")), (4, 1, both));
    assert_eq!(
        fault_of(&of("skew-symmetric", "2 2 2\n2 1 1\n2 2 1\n")),
        (4, 1, TextFault::SkewDiagonal)
    );
    let lower = read(&of("symmetric", "3 3 3\n1 1 1\n2 1 2\n3 2 -3\n")).unwrap();
    let upper = read(&of("Symmetric", "3 3 3\n1 1 1\n1 2 2\n2 3 -3\n")).unwrap();
    assert_eq!(lower, upper);
    assert_eq!(lower.row(1), (&[0, 2][..], &[2.0, -3.0][..]));
    let skew = read(&of("skew-symmetric", "3 3 2\n2 1 2\n3 2 -3\n")).unwrap();
    assert_eq!(skew.row(1), (&[0, 2][..], &[2.0, 3.0][..]));
    assert_eq!(skew.row(0), (&[1][..], &[-2.0][..]));
}

#[test]
fn arrays() {
    let of = |symmetry: &str, body: &str| {
        read(&format!("%%MatrixMarket matrix array real {symmetry}\n{body}")).unwrap()
    };
    let general = of("general", "2 3\n1\n0\n3\n% halfway\n4\n\n5\n-0.0\n");
    assert_eq!(general.row(0), (&[0, 1, 2][..], &[1.0, 3.0, 5.0][..]));
    assert_eq!(general.row(1), (&[1][..], &[4.0][..]));
    let symmetric = of("symmetric", "3 3\n1\n2\n3\n4\n5\n6\n");
    assert_eq!(symmetric.row(0), (&[0, 1, 2][..], &[1.0, 2.0, 3.0][..]));
    assert_eq!(symmetric.row(2), (&[0, 1, 2][..], &[3.0, 5.0, 6.0][..]));
    let skew = of("skew-symmetric", "3 3\n1\n2\n3\n");
    assert_eq!(skew.row(1), (&[0, 2][..], &[1.0, -3.0][..]));
    let empty = of("general", "0 7\n");
    assert_eq!((empty.nrows(), empty.ncols(), empty.nnz()), (0, 7, 0));
    let text = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n5\n";
    assert_eq!(fault_of(text), (7, 1, TextFault::TooManyEntries { expected: 4 }));
    let text = "%%MatrixMarket matrix array real general\n2 2\n1\n2 2\n3\n";
    assert_eq!(fault_of(text), (4, 3, TextFault::Trailing { found: "2".into() }));
}

#[test]
fn odd_but_readable() {
    let plain = read(&format!("{BANNER}2 3 2\n1 2 0.5\n2 3 -2e3\n")).unwrap();
    for text in [
        "%%MatrixMarket matrix coordinate real general\r\n2 3 2\r\n1 2 0.5\r\n2 3 -2e3\r\n",
        "\u{feff}%%matrixmarket\tMATRIX coordinate  Double GENERAL  \n%c\n\n % c\n 2  3\t2 \n\n% c\n1 2 .5\n%\n2 3 -2000",
        "\n\n%%MatrixMarket matrix coordinate real general\n2 3 2\n2 3 -2.0D+03\n1 2 +0.5\n\n\n% bye",
    ] {
        assert_eq!(read(text).unwrap(), plain, "{text:?}");
    }
    let a = read(&format!("{BANNER}1 5 5\n1 1 nan\n1 2 inf\n1 3 -Inf\n1 4 Infinity\n1 5 NaN\n"));
    let a = a.unwrap();
    let values = a.values();
    assert!(values[0].is_nan() && values[4].is_nan());
    assert_eq!(values[1..4], [f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY]);
    let text =
        "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 9007199254740993\n1 2 -3\n";
    assert_eq!(read(text).unwrap().values()[..], [9_007_199_254_740_992.0, -3.0]);
    let text = "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2 7\n";
    assert_eq!(read(text).unwrap().values()[..], [1.0, 1.0]);
}

#[test]
fn lines_without_end() {
    let long = " ".repeat(3 << 20);
    let text = format!("{BANNER}2 2 2\n1 1 5\n{long}2 2 1\n");
    let limit = 1 << 20;
    assert_eq!(fault_of(&text), (4, limit as u64 + 1, TextFault::LineTooLong { limit }));
    let text = format!("{BANNER}%{long}\n2 2 0\n");
    assert_eq!(fault_of(&text), (2, limit as u64 + 1, TextFault::LineTooLong { limit }));
    // Zero bytes for ever, as some devices give: no memory is spent on them.
    let endless = Read::chain(BANNER.as_bytes(), std::io::repeat(b'0'));
    let error = io::read::<f64>(Source::reader(endless), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, ReadError::Text { fault: TextFault::LineTooLong { .. }, .. }));
}

#[test]
fn faults_far_into_a_file_keep_their_line() {
    // Many blocks of text, with lines of all lengths, comments and blanks among them.
    let mut text = format!("{BANNER}300000 300000 300000\n");
    let mut bad_line = 0;
    for i in 1..=300_000u32 {
        if i % 1000 == 0 {
            text.push_str("% a comment\n\n");
        }
        if i == 250_001 {
            bad_line = text.lines().count() as u64 + 1;
            text.push_str("250001 x 1\n");
        } else {
            text.push_str(&format!("{i} {i} {}\n", f64::from(i) / 7.0));
        }
    }
    let fault = TextFault::NotAnInteger { what: COL, found: "x".into() };
    assert_eq!(fault_of(&text), (bad_line, 8, fault));
    let text = text.replace("250001 x 1\n", "250001 250001 1\n");
    let text = text.replacen("300000 300000 300000\n", "300000 300000 250000\n", 1);
    let many = TextFault::TooManyEntries { expected: 250_000 };
    assert_eq!(fault_of(&text), (bad_line, 1, many));
}

#[test]
fn duplicates() {
    let text = format!("{BANNER}2 2 4\n1 1 1\n2 1 2\n%\n1 1 4\n2 2 8\n");
    assert_eq!(read(&text).unwrap().values()[..], [5.0, 2.0, 8.0]);
    let refuse = ReadOptions { duplicates: Duplicates::Refuse, ..ReadOptions::default() };
    let error = read_with(text.as_bytes(), &refuse).unwrap_err();
    assert!(matches!(
        error,
        ReadError::Text {
            place: Place { line: 6, column: 1 },
            fault: TextFault::Duplicate { row: 1, col: 1 }
        }
    ));
    let zeros = format!("{BANNER}2 2 2\n1 1 0\n1 1 4\n");
    let strict = ReadOptions { prune_zeros: true, ..refuse };
    assert!(read_with(zeros.as_bytes(), &strict).is_err());
}

#[test]
fn zeros_are_kept_or_pruned() {
    for body in ["2 2 3\n1 1 0\n1 2 3\n2 2 -0.0\n", "2 2 3\n2 2 -0.0\n1 2 3\n1 1 0\n"] {
        let text = format!("{BANNER}{body}");
        assert_eq!(read(&text).unwrap().nnz(), 3);
        let prune = ReadOptions { prune_zeros: true, ..ReadOptions::default() };
        let a = read_with(text.as_bytes(), &prune).unwrap();
        assert_eq!((a.nnz(), a.row(0)), (1, (&[1][..], &[3.0][..])));
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_seen_by_its_bytes_and_may_have_members() {
    let text = format!("{BANNER}2 2 2\n1 1 5\n2 2 6\n");
    let (first, second) = text.split_at(60);
    let bytes = [gzip(first), gzip(second)].concat();
    let (a, info) =
        io::read_with_info::<f32>(Source::reader(&bytes[..]), &ReadOptions::default()).unwrap();
    assert_eq!(a.values()[..], [5.0, 6.0]);
    assert!(info.gzip);
    assert_eq!(
        (info.kind, info.field, info.symmetry, info.stored_entries),
        (FileKind::MatrixMarketCoordinate, Field::Real, Symmetry::General, 2)
    );
}

#[test]
fn truncated_gzip_says_how_far_it_got() {
    let mut text = format!("{BANNER}50000 50000 50000\n");
    for i in 1..=50_000u32 {
        text.push_str(&format!("{i} {} 1.{}\n", i * 7919 % 50_000 + 1, i * 31 % 1009));
    }
    let whole = gzip(&text);
    for keep in [3, 10, 11, 40, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let result = read_with(&whole[..keep], &ReadOptions::default());
        match result {
            Err(ReadError::Gzip { place, truncated: true, .. }) => {
                assert!(place.line >= 1 && place.line <= 50_003, "{place}");
                assert!(keep < whole.len() / 2 || place.line > 1000, "{place}");
            }
            other => panic!("{keep} bytes: {other:?}"),
        }
    }
    let mut corrupt = whole.clone();
    let middle = whole.len() / 2;
    corrupt[middle..middle + 64].fill(0xff);
    let error = read_with(&corrupt, &ReadOptions::default()).unwrap_err();
    assert!(error.place().is_some(), "{error}");
}

#[test]
fn streams_that_trickle_are_read_all_the_same() {
    struct Trickle<'a>(&'a [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            let n = 7.min(self.0.len()).min(buf.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }
    let mut text = format!("{BANNER}2000 2000 2000\n");
    for i in (1..=2000).rev() {
        text.push_str(&format!("{i} {i} {i}.5\n"));
    }
    let a = io::read::<f64>(Source::reader(Trickle(text.as_bytes())), &ReadOptions::default());
    assert_eq!(a.unwrap(), read(&text).unwrap());
}

#[test]
fn progress_ends_at_the_total() {
    use std::sync::{Arc, Mutex};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let text = format!("{BANNER}2 2 1\n1 1 5\n");
    let sink = Arc::clone(&seen);
    let options = ReadOptions {
        progress: Some(Arc::new(move |n, of| sink.lock().unwrap().push((n, of)))),
        ..ReadOptions::default()
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    io::read::<f32>(file.path(), &options).unwrap();
    let total = text.len() as u64;
    assert_eq!(seen.lock().unwrap().last(), Some(&(total, Some(total))));
}

mod smtx {
    use super::*;

    #[test]
    fn reads_and_tolerates_comments() {
        let text = "% made by hand\n2, 3, 3\n0 2 3 \n0 2 1 \n";
        let a = read(text).unwrap();
        assert_eq!((a.row(0).0, a.row(1).0), (&[0, 2][..], &[1][..]));
        assert_eq!(a.values()[..], [1.0; 3]);
        // Unsorted rows are sorted, duplicates added up.
        let a = read("2, 3, 3\n0 2 3\n2 0 1").unwrap();
        assert_eq!(a.row(0).0, [0, 2]);
        let a = read("1, 3, 3\n0 3\n2 2 1").unwrap();
        assert_eq!(a.row(0), (&[1, 2][..], &[1.0, 2.0][..]));
    }

    #[test]
    fn faults_have_places() {
        let offsets = |found, reason| TextFault::Offsets { found, reason };
        for (text, line, column, expected) in [
            ("2, 3, 3\n1 2 3\n0 2 1", 2, 1, offsets(1, "is the first and should be 0")),
            ("2, 3, 3\n0 4 3\n0 2 1", 2, 3, offsets(4, "is above nnz")),
            ("3, 3, 3\n0 2 1 3\n0 2 1", 2, 5, offsets(1, "is below the one before it")),
            ("2, 3, 3\n0 2 2\n0 2 1", 2, 5, offsets(2, "is the last and should be nnz")),
            (
                "2, 3, 3\n0 2 3\n0 3 1",
                3,
                3,
                TextFault::IndexTooLarge {
                    what: "the column index, counted from 0,",
                    found: "3".into(),
                    limit: 3,
                },
            ),
            ("2, 3, 3\n0 2 3\n0 2", 3, 4, TextFault::TooFewEntries { found: 2, expected: 3 }),
            ("2, 3, 3\n0 2 3\n0 2 1 1", 3, 7, TextFault::TooManyEntries { expected: 3 }),
            ("2, 3, 3\n0 2", 2, 4, TextFault::Missing { what: "a row offset" }),
            (
                "2, 3, 3\n0 2 3\n0 x 1",
                3,
                3,
                TextFault::NotAnInteger { what: "a column index", found: "x".into() },
            ),
            (
                "2, 3, 3\n0 2 3\n0 -2 1",
                3,
                3,
                TextFault::Negative { what: "a column index", found: "-2".into() },
            ),
        ] {
            assert_eq!(fault_of(text), (line, column, expected), "{text:?}");
        }
        assert!(matches!(
            fault_of("2, 3, 1000000000000\n0 1 2\n"),
            (1, 7, TextFault::ClaimTooLarge { .. })
        ));
    }
}

/// A `.npz` of these arrays: name, type, shape and bytes.
fn npz(arrays: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, descr, shape, bytes) in arrays {
        archive
            .start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default())
            .unwrap();
        let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
        archive.write_all(&(dict.len() as u16).to_le_bytes()).unwrap();
        archive.write_all(dict.as_bytes()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn one_row_of_huge_blocks_does_not_make_room_for_its_rows() {
    let side = i64::from(u32::MAX);
    let file = npz(&[
        ("format", "|S3", "()", b"bsr"),
        ("shape", "<i8", "(2,)", &[side.to_le_bytes(), 4i64.to_le_bytes()].concat()),
        ("data", "<f4", &format!("(0, {side}, 4)"), &[]),
        ("indptr", "<i8", "(2,)", &[0; 16]),
        ("indices", "<i4", "(0,)", &[]),
    ]);
    let read = io::read::<f32>(Source::reader(&file[..]), &ReadOptions::default());
    assert!(matches!(read, Err(ReadError::Hypersparse { entries: 0, .. })), "{read:?}");
}
