//! DLMC's `.smtx`.

use girih_formats::io::TextFault;

use super::support::{fault_of, read};

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
