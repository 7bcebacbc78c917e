//! A as the stages of `produce.cuh` hold it, so that each stage is one contiguous copy.
//!
//! Tiles of 128 slots × 64 columns, of e4m3 128, all steps of 128 slots one after the other. What a tile has beyond the
//! matrix are zeros at the positions of an empty group.

use bytemuck::Pod;
use girih_formats::{RowLayout, Scalar, TwoFour};
use girih_parallel::prelude::*;

use super::config::{DEPTH, NARROW_DEPTH, ROWS};

/// Bytes of a slot's values in a tile: a swizzled row.
const ROW_BYTES: usize = 64;
/// Bytes of a chunk, which the swizzle moves as one.
const CHUNK_BYTES: usize = 16;
/// Words of metadata for 16 slots × 32 columns, as `formats` packs them.
const WORDS: usize = 16;

/// Values of 16 bits, or of 8, as tensor copies of 64-byte rows with the 64-byte swizzle would lay them out: chunk `c`
/// of row `r` stands at place `c ^ r / 2 % 4`. O(slots · k), in parallel.
pub(super) fn pack_values<V: Pod + Send + Sync>(
    layout: &RowLayout,
    values: &[V],
    stride: usize,
    row_tiles: usize,
) -> Vec<V> {
    // Values of a slot in a tile, and of a chunk.
    let (stored, chunk_len) = (ROW_BYTES / size_of::<V>(), CHUNK_BYTES / size_of::<V>());
    let steps = stride.div_ceil(stored);
    let mut packed = vec![V::zeroed(); row_tiles * steps * ROWS * stored];
    let tiles = packed.par_chunks_exact_mut(ROWS * stored).enumerate();
    tiles.for_each(|(i, tile)| {
        let (first_slot, first) = (i / steps * ROWS, i % steps * stored);
        let slots = layout.n_slots().saturating_sub(first_slot).min(ROWS);
        for (r, row) in tile.chunks_exact_mut(stored).take(slots).enumerate() {
            let from = &values[(first_slot + r) * stride..][..stride];
            let from = &from[first..stride.min(first + stored)];
            for (c, chunk) in from.chunks(chunk_len).enumerate() {
                row[(c ^ (r / 2 % 4)) * chunk_len..][..chunk.len()].copy_from_slice(chunk);
            }
        }
    });
    packed
}

/// Metadata, a word for each lane of both warpgroups of a CTA: of 16 slots those of the step's first and last
/// 32 columns, which the lanes' sparsity selectors 0 and 1 take. O(slots · k), in parallel.
///
/// # Panics
/// If memory runs out, as allocations do that can't say so.
pub(super) fn pack_metadata<T: Scalar>(a: &TwoFour<T>, row_tiles: usize) -> Vec<u32> {
    let steps = a.ncols().div_ceil(DEPTH);
    let by_tiles = a.prepacked_metadata().unwrap_or_else(|error| panic!("{error}"));
    // Tiles of 16 × 32.
    let (tile_rows, tile_cols) = (a.layout().n_slots().div_ceil(16), a.ncols().div_ceil(32));
    let empty = u32::from(TwoFour::<T>::EMPTY_GROUP) * 0x1111_1111;
    let mut packed = vec![empty; row_tiles * steps * ROWS / 16 * 2 * WORDS];
    let warps = packed.par_chunks_exact_mut(2 * WORDS).with_min_len(64).enumerate();
    warps.for_each(|(i, words)| {
        let (warp, tile) = (i % (ROWS / 16), i / (ROWS / 16));
        let (row, step) = (tile / steps * (ROWS / 16) + warp, tile % steps);
        if row >= tile_rows {
            return;
        }
        for (lane, own) in words.iter_mut().enumerate() {
            // Lane 4g + 2s + h speaks under selector s with word 2g + h.
            let (column, word) = (2 * step + lane / 2 % 2, lane / 4 * 2 + lane % 2);
            if column < tile_cols {
                *own = by_tiles[(row * tile_cols + column) * WORDS + word];
            }
        }
    });
    packed
}

/// Metadata where values have 8 bits, two words for each lane of both warpgroups of a CTA: first all lanes' for the
/// step's first 64 columns, then all lanes' for the last. O(slots · k), in parallel.
///
/// # Panics
/// If memory runs out, as allocations do that can't say so.
pub(super) fn pack_metadata_8bit<T: Scalar>(a: &TwoFour<T>, row_tiles: usize) -> Vec<u32> {
    const LANES: usize = 32;
    let steps = a.ncols().div_ceil(NARROW_DEPTH);
    let by_tiles = a.prepacked_metadata_8bit().unwrap_or_else(|error| panic!("{error}"));
    // Tiles of 16 × 64.
    let (tile_rows, tile_cols) = (a.layout().n_slots().div_ceil(16), a.ncols().div_ceil(64));
    let empty = u32::from(TwoFour::<T>::EMPTY_GROUP) * 0x1111_1111;
    let warps = ROWS / 16;
    let mut packed = vec![empty; row_tiles * steps * 2 * warps * LANES];
    let all = packed.par_chunks_exact_mut(LANES).with_min_len(64).enumerate();
    all.for_each(|(i, words)| {
        // Warps of a half, halves of a step, steps of a tile of rows.
        let (warp, half, step) = (i % warps, i / warps % 2, i / warps / 2);
        let (row, column) = (step / steps * warps + warp, step % steps * 2 + half);
        if row < tile_rows && column < tile_cols {
            words.copy_from_slice(&by_tiles[(row * tile_cols + column) * LANES..][..LANES]);
        }
    });
    packed
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, E4m3, FormatSpec, ScalesPer, Tiling};
    use girih_generate::two_four;
    use half::f16;

    use super::*;

    fn tiled(csr: &Csr<f16>) -> TwoFour<f16> {
        TwoFour::from_csr(csr, RowLayout::natural(csr.nrows(), 1).unwrap()).unwrap()
    }

    fn packed_values(a: &TwoFour<f16>, tiles: usize) -> Vec<f16> {
        pack_values(a.layout(), a.values(), a.row_stride(), tiles)
    }

    /// What a lane's word says of a group of four columns in a row of its warp.
    fn nibble(packed: &[u32], steps: usize, slot: usize, group: usize) -> u32 {
        let (tile, step) = (slot / ROWS, group / 16);
        let (selector, in_step) = (group % 16 / 8, group % 8);
        let lane = slot % 8 * 4 + selector * 2 + in_step / 4;
        let word = packed[((tile * steps + step) * 8 + slot % ROWS / 16) * 32 + lane];
        word >> (slot % 16 / 8 * 16 + in_step % 4 * 4) & 0xf
    }

    #[test]
    fn every_value_and_position_is_where_the_kernel_looks() {
        let (m, k) = (277, 139);
        let csr = two_four::<f32>(m, k, 1).unwrap().cast::<f16>();
        let a = tiled(&csr);
        let (tiles, steps) = (4, 3);
        let (values, metadata) = (packed_values(&a, tiles), pack_metadata(&a, tiles));
        assert_eq!(values.len(), tiles * steps * 128 * 32);
        assert_eq!(metadata.len(), tiles * steps * 256);
        let mut seen = 0;
        for slot in 0..tiles * 128 {
            for group in 0..steps * 16 {
                let found = nibble(&metadata, steps, slot, group);
                let (step, at) = (group / 16, group % 16 * 2);
                let row = &values[((slot / 128 * steps + step) * 128 + slot % 128) * 32..][..32];
                let place = ((at / 8) ^ (slot % 128 / 2 % 4)) * 8 + at % 8;
                let pair = [row[place], row[place + 1]];
                if slot < m && group < k.div_ceil(4) {
                    let [first, second] = a.positions(slot, group);
                    assert_eq!(found as usize, first | second << 2, "slot {slot}, group {group}");
                    assert_eq!(pair, a.values()[slot * a.row_stride() + 2 * group..][..2]);
                    seen += 2;
                } else {
                    assert_eq!((found, pair), (0b0100, [f16::ZERO; 2]));
                }
            }
        }
        assert_eq!(seen, a.values().len());
    }

    #[test]
    fn nothing_is_packed_of_nothing() {
        for (m, k) in [(0, 5), (5, 0)] {
            let a = tiled(&Csr::empty(m, k).unwrap());
            let tiles = usize::from(m > 0);
            assert_eq!((packed_values(&a, tiles), pack_metadata(&a, tiles)), (vec![], vec![]));
        }
    }

    #[test]
    fn every_code_and_position_is_where_the_kernel_looks() {
        let (m, k) = (277, 331);
        let csr = two_four::<f32>(m, k, 1).unwrap();
        let spec = FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row };
        let layout = RowLayout::natural(m, 1).unwrap();
        let Tiling::TwoFour(a) = Tiling::from_csr(&csr, spec, layout).unwrap() else { panic!() };
        let narrow = a.e4m3().unwrap();
        let (tiles, steps) = (4, 3);
        let values = pack_values(a.layout(), narrow.codes(), a.row_stride(), tiles);
        let metadata = pack_metadata_8bit(&a, tiles);
        assert_eq!(values.len(), tiles * steps * 128 * 64);
        assert_eq!(metadata.len(), tiles * steps * 512);
        for slot in 0..tiles * 128 {
            for group in 0..steps * 32 {
                let (step, in_step) = (slot / 128 * steps + group / 32, group % 32);
                // Groups of the first product, then of the second; 8 groups to a word.
                let lane =
                    slot % 128 / 16 * 32 + slot % 8 * 4 + in_step % 16 / 8 * 2 + slot % 16 / 8;
                let word = metadata[step * 512 + in_step / 16 * 256 + lane];
                let found = (word >> (in_step % 8 * 4) & 0xf) as usize;
                let row = &values[(step * 128 + slot % 128) * 64..][..64];
                let place = ((in_step * 2 / 16) ^ (slot % 128 / 2 % 4)) * 16 + in_step * 2 % 16;
                let pair = [row[place], row[place + 1]].map(|code| E4m3::to_bits(&code));
                if slot < m && group < k.div_ceil(4) {
                    let [first, second] = a.positions(slot, group);
                    assert_eq!(found, first | second << 2, "slot {slot}, group {group}");
                    let at = slot * a.row_stride() + 2 * group;
                    assert_eq!(pair, [0, 1].map(|i| narrow.codes()[at + i].to_bits()));
                } else {
                    assert_eq!((found, pair), (0b0100, [0; 2]));
                }
            }
        }
    }
}
