//! Readers count what rounding makes of values: as if the matrix were read in f64 and counted then.

use std::fmt::Write;

use girih_formats::io::{self, ReadOptions, Source, npy};
use girih_formats::{Csr, DType, Narrowing, Scalar, bf16, f16};
use ndarray::Array2;
use proptest::prelude::*;

fn read<T: Scalar>(bytes: &[u8], options: &ReadOptions) -> (Csr<T>, Narrowing) {
    let (matrix, info) = io::read_with_info(Source::reader(bytes), options).unwrap();
    (matrix, info.narrowing)
}

fn coordinate(symmetry: &str, n: usize, entries: &[(usize, usize, f64)]) -> String {
    let count = entries.len();
    let mut text = format!("%%MatrixMarket matrix coordinate real {symmetry}\n{n} {n} {count}\n");
    for (i, j, v) in entries {
        writeln!(text, "{} {} {v:e}", i + 1, j + 1).unwrap();
    }
    text
}

fn array(symmetry: &str, n: usize, at: impl Fn(usize, usize) -> f64) -> String {
    let mut text = format!("%%MatrixMarket matrix array real {symmetry}\n{n} {n}\n");
    for j in 0..n {
        let first = match symmetry {
            "general" => 0,
            "symmetric" => j,
            _ => j + 1,
        };
        for i in first..n {
            writeln!(text, "{:e}", at(i, j)).unwrap();
        }
    }
    text
}

#[test]
fn a_symmetric_file_by_hand() {
    // On the diagonal 1e6, which overflows f16, and 0; beside it 1e-9, which vanishes, and 1e-5, which
    // becomes subnormal; both stand for two.
    let entries = [(0, 0, 1e6), (1, 0, 1e-9), (1, 1, 0.0), (2, 1, 1e-5), (2, 2, f64::NAN)];
    let text = coordinate("symmetric", 3, &entries).replace("NaN", "nan");
    let expected =
        Narrowing { nonzeros: 6, overflowed: 1, vanished: 2, subnormal: 2, non_finite: 1 };
    for options in [ReadOptions::default(), ReadOptions::default().prune_zeros(true)] {
        assert_eq!(read::<f16>(text.as_bytes(), &options).1, expected);
        // bf16 has the range of f32.
        let found = read::<bf16>(text.as_bytes(), &options).1;
        assert_eq!(found, Narrowing { nonzeros: 6, non_finite: 1, ..Narrowing::default() });
    }
}

#[test]
fn a_sum_of_duplicates_overflows_once() {
    let entries = [(0, 0, 4e4), (0, 0, 4e4), (1, 1, 1e6), (1, 1, -1e6), (1, 0, 3.0), (1, 0, 2.0)];
    let text = coordinate("general", 2, &entries);
    let (matrix, found) = read::<f16>(text.as_bytes(), &ReadOptions::default());
    // 8e4 is infinite in f16, and so were both of the values that cancel.
    assert_eq!(matrix.values()[0], f16::INFINITY);
    assert!(matrix.values()[2].is_nan());
    assert_eq!(found, Narrowing { nonzeros: 6, overflowed: 3, ..Narrowing::default() });
    let (_, found) = read::<f32>(text.as_bytes(), &ReadOptions::default());
    assert_eq!(found, Narrowing { nonzeros: 6, ..Narrowing::default() });
}

#[test]
fn ones_of_a_pattern_are_harmless() {
    let text = b"2, 2, 3\n0 1 3\n0 0 1\n";
    let (_, found) = read::<f16>(text, &ReadOptions::default());
    assert_eq!(found, Narrowing { nonzeros: 3, ..Narrowing::default() });
}

#[test]
fn dense_files_are_counted() {
    let wide = Array2::from_shape_vec((2, 3), vec![1e5, 0.0, -1e-8, 3e-8, 7.0, 1e300]).unwrap();
    let mut bytes = Vec::new();
    npy::write_dense(&mut bytes, &wide.view()).unwrap();
    let found = |into| match into {
        DType::F16 => npy::read_dense::<f16>(Source::reader(&bytes[..])).unwrap().narrowing,
        DType::F32 => npy::read_dense::<f32>(Source::reader(&bytes[..])).unwrap().narrowing,
        _ => npy::read_dense::<f64>(Source::reader(&bytes[..])).unwrap().narrowing,
    };
    let none = Narrowing { nonzeros: 5, ..Narrowing::default() };
    // 2⁻²⁵ is 2.98e-8: 3e-8 rounds up to the least subnormal number.
    assert_eq!(found(DType::F16), Narrowing { overflowed: 2, vanished: 1, subnormal: 1, ..none });
    assert_eq!(found(DType::F32), Narrowing { overflowed: 1, ..none });
    assert_eq!(found(DType::F64), none);
}

/// A value of any magnitude, a zero or one that is not finite.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-45i32..45, -9.99f64..9.99).prop_map(|(e, x)| x * 10f64.powi(e)),
        1 => Just(0.0),
        1 => Just(f64::INFINITY),
        1 => Just(65519.0),
    ]
}

fn agree<T: Scalar>(bytes: &[u8]) {
    for prune_zeros in [false, true] {
        let options = ReadOptions::default().prune_zeros(prune_zeros);
        let wide = read::<f64>(bytes, &options).0;
        let expected = Narrowing::of(wide.values(), T::DTYPE);
        assert_eq!(read::<T>(bytes, &options).1, expected, "{}", T::DTYPE);
        assert_eq!(wide.cast_counted::<T>().1, expected);
    }
}

fn agree_in_every_type(bytes: &[u8]) {
    agree::<f16>(bytes);
    agree::<bf16>(bytes);
    agree::<f32>(bytes);
    agree::<f64>(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_kind_of_file_agrees_with_counting_the_matrix(
        n in 1usize..9,
        values in prop::collection::vec(value(), 81),
        kept in prop::collection::vec(any::<bool>(), 81),
    ) {
        for symmetry in ["general", "symmetric", "skew-symmetric"] {
            let listed = |i: usize, j: usize| match symmetry {
                "general" => true,
                "symmetric" => i >= j,
                _ => i > j,
            };
            let entries: Vec<_> = (0..n * n)
                .map(|e| (e / n, e % n, values[e]))
                .filter(|&(i, j, _)| listed(i, j) && kept[i * n + j])
                .collect();
            agree_in_every_type(coordinate(symmetry, n, &entries).as_bytes());
            agree_in_every_type(array(symmetry, n, |i, j| values[i * n + j]).as_bytes());
        }
        let entries: Vec<_> = (0..n * n).map(|e| (e / n, e % n, values[e])).collect();
        let text = coordinate("general", n, &entries);
        let wide = read::<f64>(text.as_bytes(), &ReadOptions::default()).0;
        let file = tempfile::Builder::new().suffix(".npz").tempfile().unwrap();
        io::write(file.path(), &wide).unwrap();
        agree_in_every_type(&std::fs::read(file.path()).unwrap());
    }
}
