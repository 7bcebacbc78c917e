//! Matrix Market files whose entries come by row, by column or in neither order, with one triangle
//! or both, are the same matrix.

use std::fmt::Write;

use girih_formats::io::{self, ReadOptions, Source};
use girih_formats::{Coo, Csr, Duplicates};
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;

type Entry = (u32, u32, f64);

fn text(symmetry: &str, (m, k): (usize, usize), entries: &[Entry]) -> String {
    let mut text = format!("%%MatrixMarket matrix coordinate real {symmetry}\n");
    writeln!(text, "{m} {k} {}", entries.len()).unwrap();
    for (i, j, v) in entries {
        writeln!(text, "{} {} {v}", i + 1, j + 1).unwrap();
    }
    text
}

fn read(text: &str, options: &ReadOptions) -> Csr<f64> {
    io::read(Source::reader(text.as_bytes()), options).unwrap()
}

/// The matrix by way of triplets.
fn expected(symmetry: &str, (m, k): (usize, usize), entries: &[Entry]) -> Csr<f64> {
    let mut all = entries.to_vec();
    let mirrored = entries.iter().filter(|(i, j, _)| i != j);
    match symmetry {
        "general" => {}
        "symmetric" => all.extend(mirrored.map(|&(i, j, v)| (j, i, v))),
        _ => all.extend(mirrored.map(|&(i, j, v)| (j, i, -v))),
    }
    let rows = all.iter().map(|e| e.0).collect();
    let cols = all.iter().map(|e| e.1).collect();
    let values = all.iter().map(|e| e.2).collect();
    Coo::try_new(m, k, rows, cols, values).unwrap().into_csr(Duplicates::Refuse).unwrap()
}

fn entries(m: usize, k: usize) -> impl Strategy<Value = Vec<Entry>> {
    let entries =
        prop::collection::btree_map((0..m as u32, 0..k as u32), -9i32..9, 0..3 * m.max(k));
    entries.prop_map(|map| map.into_iter().map(|((i, j), v)| (i, j, f64::from(v))).collect())
}

fn check_orders(symmetry: &str, shape: (usize, usize), mut entries: Vec<Entry>, middle: usize) {
    let whole = expected(symmetry, shape, &entries);
    let default = ReadOptions::default();
    let pruning = ReadOptions::default().prune_zeros(true);
    let mut orders = Vec::new();
    entries.sort_by_key(|&(i, j, _)| (i, j));
    orders.push(entries.clone());
    entries.sort_by_key(|&(i, j, _)| (j, i));
    orders.push(entries.clone());
    let middle = middle.min(entries.len());
    entries.rotate_left(middle);
    orders.push(entries.clone());
    for order in orders {
        let text = text(symmetry, shape, &order);
        assert_eq!(read(&text, &default), whole);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        assert_eq!(io::read::<f64>(file.path(), &default).unwrap(), whole);
        assert_eq!(read(&text, &pruning), whole.prune_zeros());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn general_files_in_any_order(
        (shape, entries) in (1usize..40, 1usize..40)
            .prop_flat_map(|(m, k)| (Just((m, k)), entries(m, k))),
        middle in 0usize..50,
    ) {
        check_orders("general", shape, entries, middle);
    }

    #[test]
    fn one_triangle_in_any_order(
        (n, entries) in (1usize..40).prop_flat_map(|n| (Just(n), entries(n, n))),
        middle in 0usize..50,
        lower in any::<bool>(),
    ) {
        let side = |i: u32, j: u32| if lower { i >= j } else { i <= j };
        let one: Vec<_> = entries.into_iter().filter(|&(i, j, _)| side(i, j)).collect();
        check_orders("symmetric", (n, n), one.clone(), middle);
        let strict = one.into_iter().filter(|&(i, j, _)| i != j).collect();
        check_orders("skew-symmetric", (n, n), strict, middle);
    }
}

/// Long enough for several rounds of blocks, so that the order breaks after some were kept.
#[test]
fn an_order_may_break_late_and_threads_do_not_matter() {
    let n = 300_000u32;
    let mut lower: Vec<Entry> = (0..n)
        .flat_map(|j| [j, j + 1, j + 7].into_iter().filter(|&i| i < n).map(move |i| (i, j, 1.0)))
        .collect();
    for late in [false, true] {
        if late {
            let last = lower.len() - 1;
            lower.swap(0, last);
            lower.swap(0, last - 1);
            lower.rotate_left(1);
        }
        for symmetry in ["general", "symmetric"] {
            let shape = (n as usize, n as usize);
            let text = text(symmetry, shape, &lower);
            assert!(text.len() > 3 * (16 << 18));
            let whole = expected(symmetry, shape, &lower);
            for threads in [1, 2, 3, 7] {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                assert_eq!(pool.install(|| read(&text, &ReadOptions::default())), whole);
            }
        }
    }
}
