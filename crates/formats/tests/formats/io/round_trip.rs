//! What is written is read back, in every value type, and the same on any number of threads.

use girih_formats::io::{self, ReadOptions, Source};
use girih_formats::{Complex, Coo, Csr, Duplicates, Scalar};
use half::{bf16, f16};
use proptest::prelude::*;

/// Shapes and triplets without duplicates, in any order.
fn triplets() -> impl Strategy<Value = (usize, usize, Vec<(u32, u32, f64)>)> {
    (1usize..40, 1usize..40).prop_flat_map(|(m, k)| {
        let value = prop_oneof![
            4 => any::<f64>(),
            2 => (-100i32..100).prop_map(f64::from),
            1 => Just(0.0),
            1 => Just(f64::INFINITY),
        ];
        let entries = prop::collection::btree_map((0..m as u32, 0..k as u32), value, 0..200);
        let entries = entries.prop_map(|map| map.into_iter().map(|((i, j), v)| (i, j, v)));
        let entries = entries.prop_map(Iterator::collect::<Vec<_>>).prop_shuffle();
        (Just(m), Just(k), entries)
    })
}

fn coo<T: Scalar>(m: usize, k: usize, entries: &[(u32, u32, f64)]) -> Coo<T> {
    let (rows, (cols, values)) = entries
        .iter()
        .map(|&(i, j, v)| (i, (j, T::from_c64(Complex::new(v, 1.0 - v)))))
        .collect::<(Vec<_>, (Vec<_>, Vec<_>))>();
    Coo::try_new(m, k, rows, cols, values).unwrap()
}

/// Equality that counts NaN as equal to itself.
fn assert_same<T: Scalar>(a: &Csr<T>, b: &Csr<T>) {
    assert_eq!((a.nrows(), a.ncols()), (b.nrows(), b.ncols()));
    assert_eq!((a.row_ptr(), a.col_idx()), (b.row_ptr(), b.col_idx()));
    for (x, y) in a.values().iter().zip(b.values().iter()) {
        let same = |x: f64, y: f64| x == y || x.is_nan() && y.is_nan();
        let (a, b) = (x.to_c64(), y.to_c64());
        assert!(same(a.re, b.re) && same(a.im, b.im), "{x:?} became {y:?}");
    }
}

fn files_round_trip<T: Scalar>(m: usize, k: usize, entries: &[(u32, u32, f64)]) {
    let a = coo::<T>(m, k, entries).into_csr(Duplicates::Refuse).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.mtx", "a.mtx.gz", "a.npz"] {
        let path = dir.path().join(name);
        io::write(&path, &a).unwrap();
        assert_same(&io::read::<T>(&path, &ReadOptions::default()).unwrap(), &a);
        let bytes = std::fs::read(&path).unwrap();
        let stream = Source::reader(&bytes[..]);
        assert_same(&io::read::<T>(stream, &ReadOptions::default()).unwrap(), &a);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3, "a temporary file was left");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn files_round_trip_in_every_type((m, k, entries) in triplets()) {
        files_round_trip::<f64>(m, k, &entries);
        files_round_trip::<f32>(m, k, &entries);
        files_round_trip::<f16>(m, k, &entries);
        files_round_trip::<bf16>(m, k, &entries);
        files_round_trip::<Complex<f32>>(m, k, &entries);
        files_round_trip::<Complex<f64>>(m, k, &entries);
    }

    /// Triplets in any order, with duplicates, against a dense model that adds in the order given.
    #[test]
    fn triplets_agree_with_a_dense_model(
        (m, k, entries) in triplets(),
        repeated in prop::collection::vec((any::<prop::sample::Index>(), -9i32..9), 0..60),
    ) {
        let mut all: Vec<_> = entries.iter().map(|&(i, j, v)| (i, j, v.clamp(-1e6, 1e6))).collect();
        for (at, v) in repeated {
            if !entries.is_empty() {
                let (i, j, _) = entries[at.index(entries.len())];
                all.push((i, j, f64::from(v)));
            }
        }
        let mut dense: Vec<Option<f32>> = vec![None; m * k];
        for &(i, j, v) in &all {
            let slot = &mut dense[i as usize * k + j as usize];
            *slot = Some(slot.map_or(v as f32, |sum| sum + v as f32));
        }
        let a = coo::<f32>(m, k, &all).into_csr(Duplicates::Sum).unwrap();
        let mut stored = 0;
        for i in 0..m {
            let (cols, values) = a.row(i);
            for (&j, &v) in cols.iter().zip(values) {
                prop_assert_eq!(dense[i * k + j as usize], Some(v));
                stored += 1;
            }
        }
        prop_assert_eq!(stored, dense.iter().flatten().count());
        let refused = coo::<f32>(m, k, &all).into_csr(Duplicates::Refuse);
        prop_assert_eq!(refused.is_err(), all.len() > stored);
    }
}

/// A matrix large enough for many blocks, buckets and pieces, its triplets in one of three orders.
fn large(order: u8) -> Coo<f64> {
    let (m, k) = (30_011usize, 20_011usize);
    let mut entries: Vec<(u32, u32, f64)> = Vec::new();
    let mut state = 1u64;
    for i in 0..m as u32 {
        // One row is long enough to be sorted in parallel, others are empty.
        let len = if i == 7 { 70_000 } else { i % 9 };
        for _ in 0..len {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            entries.push((i, (state >> 33) as u32 % k as u32, (state >> 11) as f64 * 1e-12));
        }
    }
    match order {
        0 => entries.sort_by_key(|e| (e.0, e.1)),
        1 => entries.sort_by_key(|e| (e.1, e.0)),
        _ => entries.sort_by_key(|e| e.2.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    }
    coo(m, k, &entries)
}

#[test]
fn the_same_on_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    for order in 0..3 {
        let text = {
            let coo = large(order);
            let one = rayon_pool(1).install(|| coo.clone().into_csr(Duplicates::Sum).unwrap());
            for threads in [2, 3, 7] {
                let many = rayon_pool(threads).install(|| coo.clone().into_csr(Duplicates::Sum));
                assert_eq!(many.unwrap(), one, "order {order}, {threads} threads");
            }
            mtx_text(&coo)
        };
        let path = dir.path().join("a.mtx");
        std::fs::write(&path, &text).unwrap();
        let read = |threads| {
            rayon_pool(threads).install(|| {
                let from_file = io::read::<f64>(&path, &ReadOptions::default()).unwrap();
                let stream = Source::reader(text.as_bytes());
                let from_stream = io::read::<f64>(stream, &ReadOptions::default()).unwrap();
                assert_eq!(from_file, from_stream);
                from_file
            })
        };
        let one = read(1);
        assert_eq!(one, large(order).into_csr(Duplicates::Sum).unwrap());
        for threads in [2, 3, 7] {
            assert_eq!(read(threads), one, "order {order}, {threads} threads");
        }
        for name in ["b.mtx", "b.mtx.gz", "b.npz"] {
            let path = dir.path().join(name);
            let mut written = [1, 3].map(|threads| {
                rayon_pool(threads).install(|| io::write(&path, &one)).unwrap();
                std::fs::read(&path).unwrap()
            });
            assert!(written[0] == written[1], "{name} depends on the threads");
            written[0].clear();
        }
    }
}

#[test]
fn symmetric_files_expand_the_same_on_any_number_of_threads() {
    let n = 40_000u32;
    let mut text =
        format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n", 3 * n - 300);
    for j in 1..=n {
        for i in [j, j + 1, j + 299] {
            if i <= n {
                text.push_str(&format!("{i} {j} {}.25\n", i % 97));
            }
        }
    }
    let read = |threads| {
        rayon_pool(threads).install(|| {
            io::read::<f32>(Source::reader(text.as_bytes()), &ReadOptions::default()).unwrap()
        })
    };
    let one = read(1);
    assert_eq!(one.nnz(), (5 * n - 600) as usize);
    for i in 0..n as usize {
        let (cols, values) = one.row(i);
        for (&j, &v) in cols.iter().zip(values) {
            assert_eq!(v, ((i as u32).max(j) + 1) as f32 % 97.0 + 0.25);
        }
    }
    for threads in [2, 3, 7] {
        assert_eq!(read(threads), one);
    }
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn mtx_text(coo: &Coo<f64>) -> String {
    use std::fmt::Write;
    let (m, k) = coo.shape();
    let mut text =
        format!("%%MatrixMarket matrix coordinate real general\n{m} {k} {}\n", coo.len());
    for (i, j, v) in coo.iter() {
        writeln!(text, "{} {} {v:?}", i + 1, j + 1).unwrap();
    }
    text
}
