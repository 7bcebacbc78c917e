//! The entry points, by how rows of B are read and laid over lanes.

use girih_formats::DType;

/// Multiplies C by β.
pub(crate) const SCALE: &str = "csr_scale";

/// Items in vectors of 16 bytes, by the lanes across a tile; the last by two vectors to a lane.
pub(super) const VECTORS: [&str; 7] = [
    "csr_spmm_vectors_1x1",
    "csr_spmm_vectors_2x1",
    "csr_spmm_vectors_4x1",
    "csr_spmm_vectors_8x1",
    "csr_spmm_vectors_16x1",
    "csr_spmm_vectors_32x1",
    "csr_spmm_vectors_32x2",
];
/// Items of values of up to 4 bytes in two words of 4 bytes, by lanes.
pub(super) const WORD_PAIRS: [&str; 7] = [
    "csr_spmm_word_pairs_1x1",
    "csr_spmm_word_pairs_2x1",
    "csr_spmm_word_pairs_4x1",
    "csr_spmm_word_pairs_8x1",
    "csr_spmm_word_pairs_16x1",
    "csr_spmm_word_pairs_32x1",
    "csr_spmm_word_pairs_32x2",
];
/// Items of 16-bit values in words of 4 bytes, by lanes from two on.
pub(super) const WORDS: [&str; 6] = [
    "csr_spmm_words_2x1",
    "csr_spmm_words_4x1",
    "csr_spmm_words_8x1",
    "csr_spmm_words_16x1",
    "csr_spmm_words_32x1",
    "csr_spmm_words_32x2",
];
/// Items element by element, by lanes.
pub(super) const ELEMENTS: [&str; 7] = [
    "csr_spmm_elements_1x1",
    "csr_spmm_elements_2x1",
    "csr_spmm_elements_4x1",
    "csr_spmm_elements_8x1",
    "csr_spmm_elements_16x1",
    "csr_spmm_elements_32x1",
    "csr_spmm_elements_32x2",
];
/// Items times 1, 2, and 3 or 4 columns, element by element.
pub(super) const ELEMENTS_NARROW: [&str; 3] =
    ["csr_spmm_elements_column", "csr_spmm_elements_pair", "csr_spmm_elements_quad"];
/// Items times 2, and 3 or 4 columns, in one load.
pub(super) const NARROW: [&str; 2] = ["csr_spmm_pair", "csr_spmm_quad"];
/// Several items to a warp, by vectors.
pub(super) const RUNS: [&str; 2] = ["csr_spmm_runs_32x1", "csr_spmm_runs_32x2"];
/// Teams without items that wait for four rows of B at a time, in vectors, by lanes.
pub(super) const ROWS: [&str; 6] = [
    "csr_spmm_rows_1x4",
    "csr_spmm_rows_2x4",
    "csr_spmm_rows_4x4",
    "csr_spmm_rows_8x4",
    "csr_spmm_rows_16x4",
    "csr_spmm_rows_32x4",
];
/// For eight rows at a time, by lanes from eight on.
pub(super) const ROWS_DEEP: [&str; 3] =
    ["csr_spmm_rows_8x8", "csr_spmm_rows_16x8", "csr_spmm_rows_32x8"];
/// Of two vectors to a lane.
pub(super) const ROWS_IN_PAIRS: &str = "csr_spmm_rows_32x4x2";
/// In words: of 4 bytes or, where it has more, of one value.
pub(super) const ROWS_WORDS: [&str; 6] = [
    "csr_spmm_rows_words_1x4",
    "csr_spmm_rows_words_2x4",
    "csr_spmm_rows_words_4x4",
    "csr_spmm_rows_words_8x4",
    "csr_spmm_rows_words_16x4",
    "csr_spmm_rows_words_32x4",
];
/// Of values of up to 4 bytes, in two words.
pub(super) const ROWS_WORD_PAIRS: [&str; 6] = [
    "csr_spmm_rows_word_pairs_1x4",
    "csr_spmm_rows_word_pairs_2x4",
    "csr_spmm_rows_word_pairs_4x4",
    "csr_spmm_rows_word_pairs_8x4",
    "csr_spmm_rows_word_pairs_16x4",
    "csr_spmm_rows_word_pairs_32x4",
];
/// In 16-bit values.
pub(super) const ROWS_HALVES: [&str; 6] = [
    "csr_spmm_rows_halves_1x4",
    "csr_spmm_rows_halves_2x4",
    "csr_spmm_rows_halves_4x4",
    "csr_spmm_rows_halves_8x4",
    "csr_spmm_rows_halves_16x4",
    "csr_spmm_rows_halves_32x4",
];

/// Of 1, 2, and 3 or 4 columns, in one load.
pub(super) const ROWS_NARROW: [&str; 3] =
    ["csr_spmm_rows_column", "csr_spmm_rows_pair", "csr_spmm_rows_quad"];

/// Of 3 or 4 columns, in 16-bit values.
pub(super) const ROWS_HALVES_QUAD: &str = "csr_spmm_rows_halves_quad";

/// Everything in vectors.
const IN_VECTORS: [&str; 20] =
    joined(&[&VECTORS, &ROWS, &ROWS_DEEP, &[ROWS_IN_PAIRS], &RUNS, &[SCALE]]);
/// Those of aggregations: warps take one item at a time, and nothing is only scaled.
const IN_VECTORS_AGGREGATING: [&str; 17] = joined(&[&VECTORS, &ROWS, &ROWS_DEEP, &[ROWS_IN_PAIRS]]);

/// Everything in parts of vectors that values of a size have: 2, 4, 8 and 16 bytes.
const IN_PARTS_OF_2: [&str; 47] = joined(&[
    &ELEMENTS,
    &ELEMENTS_NARROW,
    &NARROW,
    &WORD_PAIRS,
    &WORDS,
    &ROWS_NARROW,
    &ROWS_WORD_PAIRS,
    &ROWS_WORDS,
    &ROWS_HALVES,
    &[ROWS_HALVES_QUAD],
]);
const IN_PARTS_OF_4: [&str; 31] = joined(&[
    &ELEMENTS,
    &[ELEMENTS_NARROW[0], ELEMENTS_NARROW[1], NARROW[0]],
    &WORD_PAIRS,
    &[ROWS_NARROW[0], ROWS_NARROW[1]],
    &ROWS_WORD_PAIRS,
    &ROWS_WORDS,
]);
const IN_PARTS_OF_8: [&str; 15] =
    joined(&[&ELEMENTS, &[ELEMENTS_NARROW[0], ROWS_NARROW[0]], &ROWS_WORDS]);
/// The entry points that read B in vectors.
pub(super) fn in_vectors() -> &'static [&'static str] {
    &IN_VECTORS
}

/// The entry points that read B in parts of vectors, of a value type.
pub(super) fn in_parts(dtype: DType) -> &'static [&'static str] {
    match dtype.size() {
        2 => &IN_PARTS_OF_2,
        4 => &IN_PARTS_OF_4,
        8 => &IN_PARTS_OF_8,
        // A value is a vector, and a single column is read in vectors.
        _ => &ELEMENTS,
    }
}

/// Of a kernel's entry points those that compute aggregations.
pub(crate) fn aggregating(entries: &'static [&'static str]) -> &'static [&'static str] {
    if entries.contains(&SCALE) { &IN_VECTORS_AGGREGATING } else { entries }
}

/// Lists one after the other.
const fn joined<const N: usize>(lists: &[&[&'static str]]) -> [&'static str; N] {
    let mut all = [""; N];
    let (mut list, mut at) = (0, 0);
    while list < lists.len() {
        let mut i = 0;
        while i < lists[list].len() {
            all[at] = lists[list][i];
            (i, at) = (i + 1, at + 1);
        }
        list += 1;
    }
    assert!(at == N, "the lists have as many");
    all
}
