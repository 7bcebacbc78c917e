//! Which rows of B are read so often that a copy of them in whole vectors saves time.
//!
//! # What was measured
//! Times without a copy over those with one, on an H100, where the product begins while B is copied. A row of B is read as
//! often as its column of A has entries, on average; rows of A go to teams where they are much alike, else they are
//! items.
//!
//! | matrix, reads of a row | f16 by 2 bytes, n = 17 | 33 | 101 | 253 | f16 by 4, n = 34 | 70 | 250 | f32 by 4, n = 17 | 41 | 125 |
//! |---|---|---|---|---|---|---|---|---|---|---|
//! | `delaunay_n15`, 6, teams | 0.86 | 1.15 | 1.17 | 1.19 | 1.02 | 1.02 | 0.87 | 0.87 | 0.87 | 0.79 |
//! | `fe_body_graph`, 7, teams | 1.07 | 1.24 | 1.20 | 1.21 | 0.88 | 0.86 | 0.81 | 0.94 | 0.93 | 0.74 |
//! | `memplus`, 7, items | 0.90 | 0.94 | 0.79 | 0.69 | 0.74 | 0.71 | 0.50 | 0.93 | 1.02 | 0.97 |
//! | `wave_graph`, 14, teams | 1.16 | 1.47 | 1.49 | | 0.99 | 0.96 | | 1.01 | 0.93 | |
//! | `astro-ph`, 15, items | 0.89 | 0.98 | 0.89 | 0.66 | 0.91 | 0.88 | 0.54 | 0.98 | 0.97 | 0.83 |
//! | `nasa4704`, 22, teams | 1.08 | 1.19 | 1.34 | 1.52 | 0.93 | 0.98 | 0.99 | 0.82 | 0.91 | 1.03 |
//! | `musae_squirrel`, 42, items | 1.20 | 1.34 | 1.34 | 1.30 | 0.98 | 0.99 | 0.85 | 1.07 | 1.07 | 1.08 |
//! | pruned weights, 51, items | 1.23 | 1.23 | 1.69 | 1.76 | 1.02 | 1.27 | 1.29 | 0.98 | 1.55 | 1.59 |
//! | `bcsstk33`, 68, teams | 1.37 | 1.64 | 1.80 | 1.99 | 1.12 | 1.14 | 1.18 | 1.09 | 1.10 | 1.34 |
//!
//! By 8 bytes, and in f64, a copy takes as long or longer in 230 of 240 cases of 16 matrices; weights gain 1.1 to 1.2 at
//! some n.

use girih_formats::DType;

use super::Problem;

/// Bytes of rows of B that a product reads for its entries, from which B is copied: below, what takes the time is the
/// second launch. Loads of 4 bytes are fast enough for more. On an H200, in f32, with a copy and without one: 1024 rows of
/// 32, n = 33: 8.1 µs and 4.5; 966 rows of 37, n = 65: 8.5 and 6.5; 2048 rows of 51, n = 17: 9.1 and 7.2, but n = 33: 8.3
/// and 9.5, which is above the limit.
const BRIEF: u64 = 4 << 20;
const BRIEF_BY_WORDS: u64 = 12 << 20;

/// How often, on average, rows are read whose copy saves time, and how many bytes they have at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Copied {
    reads: u64,
    row_bytes: u64,
}

/// Whether a copy of B saves time, of which `row_bytes` of each row are read by loads of `load_bytes`; 0 if neighbouring
/// elements lie apart.
pub(super) fn saves_time(problem: &Problem, row_bytes: u64, load_bytes: u64) -> bool {
    let Problem { dtype, statistics, order, k, .. } = problem;
    let copied = copied(*dtype, load_bytes, !order.has_items()).iter().any(|copied| {
        let reads = if cfg!(test) { 1 } else { copied.reads };
        row_bytes >= copied.row_bytes && statistics.entries >= k.saturating_mul(reads)
    });
    // Tests have small matrices.
    let least = if cfg!(test) { 1 } else { least_bytes(load_bytes) };
    copied && statistics.entries.saturating_mul(row_bytes) >= least
}

/// The fewest bytes of rows of B, read by loads of as many bytes, for which B is copied.
fn least_bytes(load_bytes: u64) -> u64 {
    if load_bytes == 4 { BRIEF_BY_WORDS } else { BRIEF }
}

/// What is copied of a B that is read by loads of as many bytes, by teams or for items.
fn copied(dtype: DType, load_bytes: u64, by_teams: bool) -> &'static [Copied] {
    match (load_bytes, dtype.size()) {
        // Values of 16 bytes are vectors.
        (_, 16) => &[],
        // An element that lies apart is read with the 32 bytes around it. Fewer than 16 columns are no faster copied.
        (0, 2) => &[Copied { reads: 2, row_bytes: 32 }],
        (0, 4) => &[Copied { reads: 2, row_bytes: 64 }],
        (0, _) => &[Copied { reads: 2, row_bytes: 128 }],
        (8.., _) => &[],
        // A lane has all of a few columns, which are read as they lie.
        (4, 4) => &[Copied { reads: 32, row_bytes: 64 }],
        (4, _) => &[Copied { reads: 48, row_bytes: 64 }],
        _ if by_teams => &[Copied { reads: 12, row_bytes: 32 }, Copied { reads: 6, row_bytes: 64 }],
        _ => &[Copied { reads: 32, row_bytes: 32 }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_by_words_need_more_work_for_a_copy() {
        assert_eq!([0, 2, 4].map(least_bytes), [4 << 20, 4 << 20, 12 << 20]);
    }

    #[test]
    fn narrower_loads_make_copies_save_time_sooner() {
        let fewest = |dtype, load_bytes, by_teams| {
            copied(dtype, load_bytes, by_teams).iter().map(|copied| copied.reads).min()
        };
        for by_teams in [false, true] {
            for dtype in [DType::F16, DType::F32, DType::F64, DType::C32] {
                assert_eq!(fewest(dtype, 8, by_teams), None, "{dtype}");
            }
            assert_eq!(fewest(DType::F32, 4, by_teams), Some(32));
            assert_eq!(fewest(DType::Bf16, 4, by_teams), Some(48));
        }
        assert_eq!(
            [false, true].map(|by_teams| fewest(DType::F16, 2, by_teams)),
            [Some(32), Some(6)]
        );
    }
}
