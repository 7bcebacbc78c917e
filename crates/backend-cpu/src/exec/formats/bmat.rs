//! BMat: masks are decoded into short rows, as many tiles at a time as fit scratch on the stack.

use std::ops::Range;

use girih_formats::{BMat, Scalar};
use girih_simd::{RowBlock, RowMap};

use super::{Multiply, Panel, add_up, clamp, for_each_window};
use crate::kernels::CpuScalar;
use crate::thresholds::STACK_BMAT_ENTRIES;

/// Rows of a window.
const ROWS: usize = 16;

/// Some tiles of a window, row by row.
struct DecodedTiles<A> {
    row_ptr: [u64; ROWS + 1],
    col_idx: [u32; STACK_BMAT_ENTRIES],
    values: [A; STACK_BMAT_ENTRIES],
    /// Values in mask order, widened.
    stored: [A; STACK_BMAT_ENTRIES],
}

impl<T: CpuScalar> Multiply<T> for BMat<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let mut decoded = DecodedTiles {
            row_ptr: [0; ROWS + 1],
            col_idx: [0; STACK_BMAT_ENTRIES],
            values: [T::Acc::ONE; STACK_BMAT_ENTRIES],
            stored: [T::Acc::ONE; STACK_BMAT_ENTRIES],
        };
        let value_ptr: &[u64] = self.tile_value_ptr();
        for_each_window(ROWS, slots, |w, slots, before| {
            let tiles = clamp(self.window_ptr()[w]..self.window_ptr()[w + 1], &tiles);
            let rows = slots.start - w * ROWS..slots.end - w * ROWS;
            let map = map.part(before, slots.len());
            let next = |tile: usize| {
                let limit = value_ptr[tile] + STACK_BMAT_ENTRIES as u64;
                tile + value_ptr[tile + 1..=tiles.end].partition_point(|&end| end <= limit)
            };
            add_up(tiles.clone(), next, map, on, |tiles, map, on| {
                let n = decode(self, tiles, &mut decoded, on);
                let block = RowBlock {
                    row_ptr: &decoded.row_ptr[rows.start..=rows.end],
                    entries: (0, n as u64),
                    first: 0,
                    col_idx: &decoded.col_idx[..n],
                    values: &decoded.values[..n],
                };
                on.kernels.rows(&block, on.b, &on.out, map, on.width);
            });
        });
    }
}

/// Writes the entries of some tiles row by row; returns their number.
fn decode<T: CpuScalar>(
    a: &BMat<T>,
    tiles: Range<usize>,
    to: &mut DecodedTiles<T::Acc>,
    on: &Panel<'_, T>,
) -> usize {
    let bits = &a.tile_bits()[tiles.start * 4..tiles.end * 4];
    let mut counts = [0u32; ROWS];
    for tile in bits.as_chunks::<4>().0 {
        // At most 4 entries of a row in a word, so two words' counts fit a nibble.
        let low = nibble_counts(tile[0]) + nibble_counts(tile[2]);
        let high = nibble_counts(tile[1]) + nibble_counts(tile[3]);
        for r in 0..8 {
            counts[r] += low >> (4 * r) & 15;
            counts[r + 8] += high >> (4 * r) & 15;
        }
    }
    let mut fill = [0usize; ROWS];
    let mut total = 0;
    for r in 0..ROWS {
        to.row_ptr[r] = total as u64;
        fill[r] = total;
        total += counts[r] as usize;
    }
    to.row_ptr[ROWS] = total as u64;
    if let Some(values) = a.values() {
        let first = a.tile_value_ptr()[tiles.start] as usize;
        on.kernels.widen(&values[first..first + total], &mut to.stored[..total]);
    }
    let cols = &a.tile_col_idx()[tiles.start * 8..tiles.end * 8];
    let mut stored = to.stored.iter();
    for (tile, cols) in bits.as_chunks::<4>().0.iter().zip(cols.as_chunks::<8>().0) {
        for (t, &word) in tile.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let (row, col) = BMat::<T>::position(t, left.trailing_zeros());
                left &= left - 1;
                let at = fill[row];
                fill[row] += 1;
                to.col_idx[at] = cols[col];
                if let Some(&value) = stored.next() {
                    to.values[at] = value;
                }
            }
        }
    }
    total
}

/// The number of bits in each nibble of a word.
fn nibble_counts(word: u32) -> u32 {
    let pairs = word - (word >> 1 & 0x5555_5555);
    (pairs & 0x3333_3333) + (pairs >> 2 & 0x3333_3333)
}

#[cfg(test)]
mod tests {
    use super::nibble_counts;

    #[test]
    fn nibbles_are_counted_apart() {
        assert_eq!(nibble_counts(0xf731_0842), 0x4321_0111);
    }
}
