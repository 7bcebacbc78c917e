//! Which elements of a matrix go through a staging buffer at a time.

use std::ops::Range;

/// Part of a matrix: some of its rows whole, or part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) rows: Range<usize>,
    pub(super) cols: Range<usize>,
    /// Elements of the matrix's place before it.
    pub(super) first: u64,
    /// Elements that it takes in a buffer, those between its rows included.
    pub(super) len: usize,
    /// Elements from one of its rows to the next in a buffer.
    pub(super) stride: usize,
}

/// The blocks of a matrix whose rows stand `stride` elements apart on the device, each of at most
/// `most` elements, or of one: in the order of their addresses.
pub(super) fn blocks(
    (rows, cols): (usize, usize),
    stride: usize,
    most: usize,
) -> impl Iterator<Item = Block> {
    let whole = stride.max(1) <= most;
    // Rows to a block, or columns of one.
    let (of_rows, of_cols) = if whole { (most / stride.max(1), cols) } else { (1, most.max(1)) };
    let per_row = if cols == 0 { 0 } else { cols.div_ceil(of_cols) };
    let n_blocks = rows.div_ceil(of_rows) * per_row;
    (0..n_blocks).map(move |i| {
        let (first_row, first_col) = (i / per_row * of_rows, i % per_row * of_cols);
        let rows = first_row..rows.min(first_row + of_rows);
        let cols = first_col..cols.min(first_col + of_cols);
        let stride_here = if whole { stride } else { cols.len() };
        let len = rows.len() * stride_here;
        let first = first_row as u64 * stride as u64 + first_col as u64;
        Block { rows, cols, first, len, stride: stride_here }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_in_one_block() {
        for (rows, cols, stride) in [
            (1, 1, 1),
            (7, 5, 8),
            (100, 64, 64),
            (3, 1000, 1000),
            (2, 70, 72),
            (0, 4, 4),
            (4, 0, 0),
        ] {
            for most in [1, 8, 64, 100, 1 << 20] {
                let mut seen = vec![0u8; rows * cols];
                let mut end = 0;
                for block in blocks((rows, cols), stride, most) {
                    assert!(block.len <= most && block.len > 0, "{block:?} of {most}");
                    assert!(block.first >= end, "{block:?} begins before {end}");
                    assert_eq!(block.first, (block.rows.start * stride + block.cols.start) as u64);
                    assert!(block.rows.len() == 1 || block.cols == (0..cols));
                    end = block.first + block.len as u64;
                    for row in block.rows {
                        block.cols.clone().for_each(|col| seen[row * cols + col] += 1);
                    }
                }
                assert!(end <= (rows * stride) as u64);
                assert!(seen.iter().all(|&times| times == 1), "{rows}×{cols}, {stride}, {most}");
            }
        }
    }
}
