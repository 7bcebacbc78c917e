//! Files made to harm: whatever the hashes say, they match.

use girih_formats::{AnyTiling, MAX_DIM, RowLayout, Tiling, Wcsr, for_any_tiling};
use girih_planner::Plan;
use girih_planner::file::{LoadOptions, PlanFileError};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use crate::golden::OLDER;
use crate::support::{LargestAllocation, all_plans, file_of, plans};

/// Bytes of a row of the section table, which ends the header: kind and element (u32), offset,
/// count, bytes and hash (u64).
const ROW: usize = 40;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

pub(crate) fn put(bytes: &mut [u8], at: usize, field: &[u8]) {
    bytes[at..at + field.len()].copy_from_slice(field);
}

pub(crate) fn header_end(bytes: &[u8]) -> usize {
    64 + u64_at(bytes, 24) as usize
}

/// Where row `i` of a table of `rows` rows begins.
pub(crate) fn row(bytes: &[u8], rows: usize, i: usize) -> usize {
    header_end(bytes) - (rows - i) * ROW
}

/// Makes the header's and the prologue's hashes match again.
pub(crate) fn rehash_header(bytes: &mut [u8]) {
    let hash = xxh3_64(&bytes[64..header_end(bytes)]);
    put(bytes, 40, &hash.to_le_bytes());
    let hash = xxh3_64(&bytes[..56]);
    put(bytes, 56, &hash.to_le_bytes());
}

/// Makes every hash match again.
fn rehash(bytes: &mut [u8], rows: usize) {
    for i in 0..rows {
        let at = row(bytes, rows, i);
        let (offset, len) = (u64_at(bytes, at + 8) as usize, u64_at(bytes, at + 24) as usize);
        let hash = xxh3_64(&bytes[offset..offset + len]);
        put(bytes, at + 32, &hash.to_le_bytes());
    }
    rehash_header(bytes);
}

/// Number of sections of a file that was just written.
pub(crate) fn rows_of(bytes: &[u8]) -> usize {
    let end = header_end(bytes);
    (1..).find(|&n| u64_at(bytes, end - n * ROW - 8) == n as u64).unwrap()
}

/// The options, the target and the explanation of a file of this version; nothing of an older one.
fn texts(bytes: &[u8]) -> std::ops::Range<usize> {
    let header = &bytes[..header_end(bytes)];
    let find = |text: &[u8]| header.windows(text.len()).position(|w| w == text);
    let last = |text: &[u8]| header.windows(text.len()).rposition(|w| w == text);
    match (find(b"{\"n\":"), last(b"}")) {
        (Some(begin), Some(end)) => begin + 8..end.saturating_sub(8),
        _ => 0..0,
    }
}

fn load(bytes: &[u8]) -> Result<Plan, PlanFileError> {
    LoadOptions::default().read_bytes(bytes)
}

/// Does with a plan what relies on its indices.
pub(crate) fn exercise(plan: &Plan) {
    for_any_tiling!(plan.tiling(), t => plan.hold(&plan.release(&t.to_csr()).unwrap()).map(drop))
        .unwrap();
    assert_eq!(plan.row_permutation().len(), plan.nrows());
    plan.schedule().check(plan.tiling()).unwrap();
    if plan.slot_map().is_some() {
        let mut again = plan.clone();
        // What was read may not be what its fingerprint says; the scatter must not care.
        let _ = for_any_tiling!(plan.tiling(), t => again.refresh_values(&t.to_csr()));
    }
    let again = load(&file_of(plan)).unwrap();
    // NaNs differ from themselves; the files don't.
    assert_eq!(file_of(&again), file_of(plan));
}

#[test]
fn no_field_of_the_header_can_do_harm() {
    let wild = [0, 1, 7, u64::MAX, u64::MAX / 2, 1 << 63, 1 << 40, 1 << 32, u64::from(u32::MAX)];
    let files: Vec<_> = plans::<f32>().iter().map(file_of).collect();
    for good in files.iter().map(Vec::as_slice).chain(OLDER) {
        let texts = texts(good);
        for at in 64..header_end(good) - 8 {
            // Texts are long, and a byte of them is like another.
            let fields = match texts.contains(&at) {
                false => &wild[..],
                true if at % 16 == 0 => &[0, u64::MAX],
                true => &[],
            };
            for field in fields {
                let mut bytes = good.to_vec();
                put(&mut bytes, at, &field.to_le_bytes());
                rehash_header(&mut bytes);
                if let Ok(loaded) = load(&bytes) {
                    exercise(&loaded);
                }
            }
        }
    }
    // What an honest decoder sets aside for a list of a claimed length, at most.
    assert!(LargestAllocation::bytes() <= 2 << 20, "{}", LargestAllocation::bytes());
}

#[test]
fn no_index_can_do_harm() {
    for plan in plans::<half::bf16>() {
        let good = file_of(&plan);
        let rows = rows_of(&good);
        for i in 0..rows {
            let at = row(&good, rows, i);
            let (offset, len) = (u64_at(&good, at + 8) as usize, u64_at(&good, at + 24) as usize);
            for at in offset..offset + len {
                for field in [&[0xFF][..], &[0xFF; 4], &[0xFF; 8], &[0, 0, 0, 0, 1, 0, 0, 0], &[9]]
                {
                    let mut bytes = good.clone();
                    let field = &field[..field.len().min(offset + len - at)];
                    put(&mut bytes, at, field);
                    rehash(&mut bytes, rows);
                    if let Ok(loaded) = load(&bytes) {
                        exercise(&loaded);
                    }
                }
            }
        }
    }
}

/// The section table's lies, one by one, with what the error says.
#[test]
fn lies_about_sections_are_named() {
    let good = file_of(&plans::<f32>()[0]);
    let rows = rows_of(&good);
    assert_eq!(rows, 4, "row_ptr, col_idx, values, tasks");
    let lie = |i: usize, at: usize, field: &[u8]| {
        let mut bytes = good.clone();
        let row = row(&good, rows, i);
        put(&mut bytes, row + at, field);
        rehash_header(&mut bytes);
        load(&bytes).unwrap_err().to_string()
    };
    let cases: [(String, &str); 12] = [
        (lie(1, 0, &1u32.to_le_bytes()), "stands twice"),
        (lie(1, 0, &3u32.to_le_bytes()), "col_idx: it is missing"),
        (lie(1, 0, &99u32.to_le_bytes()), "decoded"),
        (lie(1, 4, &5u32.to_le_bytes()), "holds f32 and not u32"),
        (lie(1, 8, &8200u64.to_le_bytes()), "not page-aligned"),
        (lie(1, 8, &4096u64.to_le_bytes()), "overlaps"),
        (lie(1, 8, &(1u64 << 40).to_le_bytes()), "belong to nothing"),
        (lie(3, 8, &(u64::MAX - 4095).to_le_bytes()), "belong to nothing"),
        (lie(1, 16, &u64::MAX.to_le_bytes()), "are not"),
        (lie(1, 16, &(1u64 << 62).to_le_bytes()), "are not"),
        (lie(1, 24, &(1u64 << 40).to_le_bytes()), "are not"),
        (lie(1, 32, &0u64.to_le_bytes()), "hash does not match"),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message:?} does not say {expected:?}");
    }
    let giant = |count: u64| {
        let mut bytes = good.clone();
        let at = row(&good, rows, 2);
        put(&mut bytes, at + 16, &count.to_le_bytes());
        put(&mut bytes, at + 24, &(4 * count).to_le_bytes());
        rehash_header(&mut bytes);
        load(&bytes).unwrap_err().to_string()
    };
    assert!(giant(1 << 40).contains("leave the file"));
    assert!(giant((u64::MAX - 4096) / 4).contains("leave the file"));
    assert!(giant(2000).contains("overlaps"));
}

#[test]
fn a_shorter_table_leaves_bytes_that_belong_to_nothing() {
    let good = file_of(&plans::<f32>()[0]);
    let rows = rows_of(&good);
    let mut bytes = good.clone();
    let table = row(&good, rows, 0);
    put(&mut bytes, table - 8, &(rows as u64 - 1).to_le_bytes());
    let end = header_end(&good);
    bytes[end - ROW..end].fill(0);
    put(&mut bytes, 24, &((end - 64 - ROW) as u64).to_le_bytes());
    rehash_header(&mut bytes);
    let message = load(&bytes).unwrap_err().to_string();
    assert!(message.contains("not on the same page"), "{message}");
}

#[test]
fn lies_about_the_matrix_are_refused() {
    for plan in all_plans() {
        let good = file_of(&plan);
        for (at, what) in [(64, "nrows"), (72, "ncols"), (80, "nnz")] {
            for field in [u64::MAX, 1 << 32, 1 << 20, 0] {
                let mut bytes = good.clone();
                put(&mut bytes, at, &field.to_le_bytes());
                rehash_header(&mut bytes);
                match load(&bytes) {
                    Err(error) => assert!(!error.to_string().is_empty()),
                    // More columns than there are indices for are an honest matrix.
                    Ok(loaded) => {
                        assert_ne!(what, "nrows");
                        exercise(&loaded);
                    }
                }
            }
        }
    }
}

/// Rows that no array holds: what is done with a plan takes memory for each of them.
#[test]
fn rows_out_of_proportion_are_refused() {
    let plan_of = |nrows: usize, window_rows: usize| {
        let layout = RowLayout::natural(nrows, window_rows).unwrap();
        let n_windows = layout.n_windows();
        let empty = Wcsr::<f32>::try_new(layout, 6, 0, 8, vec![0; n_windows + 1], vec![], vec![]);
        Plan::from_tiling(Tiling::Wcsr(empty.unwrap()))
    };
    for (nrows, window_rows) in [(MAX_DIM, MAX_DIM), (100_000_000, 1 << 24), (1 << 25, 1 << 20)] {
        let file = file_of(&plan_of(nrows, window_rows));
        assert!(file.len() < 20_000);
        let error = load(&file).unwrap_err();
        assert!(matches!(error, PlanFileError::Hypersparse { .. }), "{error}");
        assert!(error.to_string().contains(&format!("{nrows} rows for 0 entries")), "{error}");
        let accepted = LoadOptions::default().allow_hypersparse(true).read_bytes(&file).unwrap();
        assert_eq!(accepted.nrows(), nrows);
    }
    // What a reader accepts unasked is loaded unasked.
    let file = file_of(&plan_of(1 << 24, 1 << 16));
    assert_eq!(load(&file).unwrap().nrows(), 1 << 24);
}

#[cfg(unix)]
#[test]
fn a_plan_that_is_locked_for_a_change_is_not_mapped() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let plan = &plans::<f32>()[0];
    plan.write_to(file.as_file()).unwrap();
    // SAFETY: nobody else knows the file, and it is not changed.
    let map = || unsafe { LoadOptions::default().map(file.path()) };
    file.as_file().lock().unwrap();
    assert!(matches!(map(), Err(PlanFileError::Locked { .. })));
    file.as_file().unlock().unwrap();
    let mapped = map().unwrap();
    let another = std::fs::File::open(file.path()).unwrap();
    let lock = || another.try_lock();
    if cfg!(target_os = "linux") {
        assert!(lock().is_err(), "the mapping holds a lock");
    }
    drop(mapped);
    lock().unwrap();
}

#[test]
fn a_header_that_claims_too_much_is_not_decoded() {
    let good = file_of(&plans::<f32>()[0]);
    for len in [(1u64 << 20) + 1, u64::MAX, u64::MAX - 64] {
        let mut bytes = good.clone();
        put(&mut bytes, 24, &len.to_le_bytes());
        let hash = xxh3_64(&bytes[..56]);
        put(&mut bytes, 56, &hash.to_le_bytes());
        let message = load(&bytes).unwrap_err().to_string();
        assert!(message.contains("1 MiB"), "{message}");
    }
}

fn is_bmat(tiling: &AnyTiling) -> bool {
    tiling.kind() == girih_formats::FormatKind::BMat
}

#[test]
fn a_section_of_another_format_is_refused() {
    // A pattern-only plan whose file also holds values that nothing would check.
    let plans: Vec<Plan> = plans::<f32>().into_iter().filter(|p| is_bmat(p.tiling())).collect();
    let mut bytes = file_of(&plans[0]);
    let without = file_of(&plans[1]);
    let flag = (64..header_end(&bytes))
        .find(|&at| bytes[at] == 0 && without[at] == 1)
        .expect("the format's sizes say whether values are there");
    bytes[flag] = 1;
    rehash_header(&mut bytes);
    let message = load(&bytes).unwrap_err().to_string();
    assert!(message.contains("does not belong"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_does_harm(
        which in 0..56usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        in_header in any::<bool>(),
    ) {
        let mut bytes = file_of(&all_plans()[which]);
        let rows = rows_of(&bytes);
        let end = header_end(&bytes);
        // Places that mean something: the header, or the arrays.
        let places: Vec<usize> = if in_header {
            (64..end).collect()
        } else {
            (0..rows)
                .flat_map(|i| {
                    let at = row(&bytes, rows, i);
                    let (offset, len) = (u64_at(&bytes, at + 8), u64_at(&bytes, at + 24));
                    offset as usize..(offset + len) as usize
                })
                .collect()
        };
        for (index, value) in changes {
            bytes[places[index.index(places.len())]] = value;
        }
        if in_header {
            rehash_header(&mut bytes);
        } else {
            rehash(&mut bytes, rows);
        }
        if let Ok(plan) = load(&bytes) {
            exercise(&plan);
        }
    }
}
