//! Matrix Market: banners, symmetry and arrays.

use girih_formats::DType;
use girih_formats::io::{self, Field, ReadError, ReadOptions, Symmetry, TextFault};

use super::support::{fault_of, read};

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
    assert!(matches!(
        banner("%%matrixmarket MATRIX Coordinate Real HERMITIAN"),
        (1, 39, TextFault::HermitianReals { field: Field::Real })
    ));
    for text in [
        "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
        "%%MatrixMarket matrix coordinate complex Hermitian\n1 1 1\n1 1 1 0\n",
    ] {
        let error = read(text).unwrap_err();
        assert!(matches!(error, ReadError::Complex { dtype: DType::F64, .. }), "{text:?}: {error}");
        assert!(error.to_string().contains("read it as c64"), "{error}");
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
