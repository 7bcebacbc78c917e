//! A sparsity pattern as a small picture in text.

use girih::formats::CsrPattern;
use girih_parallel::prelude::*;

/// Dots of a braille character, by row then column: the bits of U+2800's block.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws a pattern in braille characters, at most `max_width × max_height` of them, keeping the
/// matrix's aspect. A dot stands for a rectangle of the matrix and is set if the rectangle holds at
/// least one entry. O(nnz), in parallel.
pub(crate) fn draw(pattern: CsrPattern<'_>, max_width: usize, max_height: usize) -> String {
    let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
    if nrows == 0 || ncols == 0 {
        return String::new();
    }
    let (dot_rows, dot_cols) = grid(nrows, ncols, 4 * max_height, 2 * max_width);
    let chars_per_line = dot_cols.div_ceil(2);
    let lines: Vec<String> = (0..dot_rows.div_ceil(4))
        .into_par_iter()
        .map(|line| {
            let mut cells = vec![0u8; chars_per_line];
            for (dot, bits) in DOTS.iter().enumerate() {
                let dot_row = 4 * line + dot;
                for row in share(nrows, dot_rows, dot_row)..share(nrows, dot_rows, dot_row + 1) {
                    for &col in pattern.row(row) {
                        let dot_col = col as usize * dot_cols / ncols;
                        cells[dot_col / 2] |= bits[dot_col % 2];
                    }
                }
            }
            cells.iter().filter_map(|&bits| char::from_u32(0x2800 + u32::from(bits))).collect()
        })
        .collect();
    lines.join("\n")
}

/// Dots down and across: as many as fit, no more than the matrix has rows and columns, and in its
/// proportions, with at least one of each.
fn grid(nrows: usize, ncols: usize, max_rows: usize, max_cols: usize) -> (usize, usize) {
    let scale = (max_rows as f64 / nrows as f64).min(max_cols as f64 / ncols as f64).min(1.0);
    let dots = |n: usize, max: usize| ((n as f64 * scale).round() as usize).clamp(1, max);
    (dots(nrows, max_rows), dots(ncols, max_cols))
}

/// The first of `n` rows that belongs to dot `i` of `dots`; `n` past the end.
fn share(n: usize, dots: usize, i: usize) -> usize {
    (i.min(dots) * n).div_ceil(dots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih::formats::Csr;

    fn picture(nrows: usize, ncols: usize, entries: &[&[u32]]) -> String {
        let mut row_ptr = vec![0u64];
        for row in entries {
            row_ptr.push(row_ptr[row_ptr.len() - 1] + row.len() as u64);
        }
        let col_idx = entries.concat();
        let values = vec![1f32; col_idx.len()];
        let a = Csr::try_new(nrows, ncols, row_ptr, col_idx, values).unwrap();
        draw(a.pattern(), 64, 32)
    }

    #[test]
    fn every_entry_of_a_small_matrix_is_a_dot() {
        // Columns 0 and 1 are the left and right dots of the one character there is.
        assert_eq!(picture(4, 2, &[&[0], &[1], &[0, 1], &[]]), "⠵");
        assert_eq!(picture(1, 3, &[&[2]]), "⠀⠁");
    }

    #[test]
    fn a_large_diagonal_keeps_its_shape_and_size() {
        let n = 10_000;
        let rows: Vec<Vec<u32>> = (0..n).map(|i| vec![i]).collect();
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let text = picture(n as usize, n as usize, &rows);
        let lines: Vec<Vec<char>> = text.lines().map(|l| l.chars().collect()).collect();
        assert_eq!((lines.len(), lines[0].len()), (32, 64));
        for (i, line) in lines.iter().enumerate() {
            for (j, &c) in line.iter().enumerate() {
                // Four dots down and two across: two characters of each line lie on the diagonal.
                assert_eq!(c != '\u{2800}', j / 2 == i, "line {i}, character {j}");
            }
        }
    }

    #[test]
    fn slivers_and_nothing_are_drawn() {
        assert_eq!(picture(0, 5, &[]), "");
        let tall: Vec<&[u32]> = vec![&[0]; 100_000];
        assert_eq!(picture(100_000, 1, &tall).lines().count(), 32);
    }
}
