//! Metadata of sparse A operands: which of a row's k the stored elements stand for.
//!
//! A nibble describes one chunk: of four elements with two stored ones (their two 2-bit places, the
//! first stored element's in the lower bits), or for tf32 of two elements with one. A thread's word
//! holds nibbles in the order of k, its half-words two rows eight apart — except for 8-bit types,
//! where a whole word belongs to one row.

use super::Element;

/// Why metadata is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// A sparsity selector that names no threads.
    #[error("sparsity selector {selector} is out of range: this shape takes 0 to {most}")]
    Selector {
        /// The selector.
        selector: u32,
        /// The largest valid one.
        most: u32,
    },
    /// A chunk's code that names no places.
    #[error("metadata {code:#06b} for row {row}, k {k} and after, is not valid")]
    Code {
        /// Row of A.
        row: u32,
        /// The chunk's first k.
        k: u32,
        /// The nibble.
        code: u32,
    },
}

/// For each row of A, the k of each stored element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    stored: usize,
    k: Vec<u16>,
}

impl Selection {
    /// Reads metadata for `rows` rows (16 for `mma`, 64 for `wgmma`) of `k` elements; `word` gives a
    /// thread's metadata register. `ordered` is `.sp::ordered_metadata`.
    ///
    /// # Errors
    /// If the selector or a chunk's code is not valid.
    pub fn decode(
        element: Element,
        rows: u32,
        k: u32,
        selector: u32,
        ordered: bool,
        word: impl Fn(u32) -> u32,
    ) -> Result<Selection, MetadataError> {
        let (chunk, per_chunk) = if element.bytes() == 4 { (2, 1) } else { (4, 2) };
        // How many threads of a group of four speak for its two rows.
        let chunks = k / chunk;
        let speakers = chunks.div_ceil(4);
        let most = if element.bytes() == 1 { 0 } else { 4 / speakers - 1 };
        if selector > most {
            return Err(MetadataError::Selector { selector, most });
        }
        let stored = (k / chunk * per_chunk) as usize;
        let mut selection = Selection { stored, k: Vec::with_capacity(rows as usize * stored) };
        for row in 0..rows {
            let (group, upper) = (row / 16 * 32 + row % 8 * 4, row % 16 / 8);
            for at in 0..chunks {
                let code = if element.bytes() == 1 {
                    word(group + at / 8 * 2 + upper) >> (at % 8 * 4)
                } else {
                    word(group + selector * speakers + at / 4) >> (upper * 16 + at % 4 * 4)
                } & 0xf;
                let (first, second) = (code & 3, code >> 2);
                let first_k = at * chunk;
                let valid = match (chunk, ordered) {
                    (2, _) => matches!(code, 0b1110 | 0b0100),
                    (_, true) => first < second,
                    (_, false) => first != second,
                };
                if !valid {
                    return Err(MetadataError::Code { row, k: first_k, code });
                }
                if chunk == 2 {
                    selection.k.push((first_k + u32::from(code == 0b1110)) as u16);
                } else {
                    selection.k.extend([(first_k + first) as u16, (first_k + second) as u16]);
                }
            }
        }
        Ok(selection)
    }

    /// The k of each stored element of a row, in the order they are stored.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[u16] {
        &self.k[row * self.stored..][..self.stored]
    }
}
