//! Matrix Market: the entries, what is wrong with them and where.

use girih_formats::Duplicates;
use girih_formats::io::{self, Place, ReadError, ReadOptions, Source, TextFault};

use super::support::{BANNER, COL, ROW, fault, fault_of, read, read_with};

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
    let options = ReadOptions::default().allow_hypersparse(true);
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
    let refuse = ReadOptions::default().duplicates(Duplicates::Refuse);
    let error = read_with(text.as_bytes(), &refuse).unwrap_err();
    assert!(matches!(
        error,
        ReadError::Text {
            place: Place { line: 6, column: 1 },
            fault: TextFault::Duplicate { row: 1, col: 1 }
        }
    ));
    let zeros = format!("{BANNER}2 2 2\n1 1 0\n1 1 4\n");
    let strict = refuse.prune_zeros(true);
    assert!(read_with(zeros.as_bytes(), &strict).is_err());
}

#[test]
fn zeros_are_kept_or_pruned() {
    for body in ["2 2 3\n1 1 0\n1 2 3\n2 2 -0.0\n", "2 2 3\n2 2 -0.0\n1 2 3\n1 1 0\n"] {
        let text = format!("{BANNER}{body}");
        assert_eq!(read(&text).unwrap().nnz(), 3);
        let prune = ReadOptions::default().prune_zeros(true);
        let a = read_with(text.as_bytes(), &prune).unwrap();
        assert_eq!((a.nnz(), a.row(0)), (1, (&[1][..], &[3.0][..])));
    }
}
