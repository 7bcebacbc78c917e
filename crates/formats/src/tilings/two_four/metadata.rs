//! 2:4 metadata in the order sparse tensor cores read it.

use girih_parallel::prelude::*;

use crate::buffer::Buffer;
use crate::dtype::DType;
use crate::error::FormatError;
use crate::scalar::Scalar;
use crate::tilings::TwoFour;
use crate::tilings::shared::windows::zeroed;

/// Rows of the instruction's tile that one warp holds.
const TILE_ROWS: usize = 16;
/// Columns of A that one instruction covers: two metadata words of a row.
const TILE_COLS: usize = 32;
/// `u32` words of one tile: a pair of threads in each of eight quads.
const TILE_WORDS: usize = 16;

impl<T: Scalar> TwoFour<T> {
    /// The metadata in the order `wgmma.mma_async.sp` (m64nNk32) and `mma.sp` (m16n8k32) read it,
    /// for 16-bit values: an array `[⌈slots/16⌉, ⌈k/32⌉, 16]` of `u32`.
    ///
    /// Of a tile of 16 rows × 32 columns, word `2g + h` belongs to the thread with lane `4g + h`,
    /// or `4g + 2 + h` under sparsity selector 1: its low half holds the positions of row `g`,
    /// its high half those of row `g + 8`, in columns `16h .. 16h + 16`. Warp `i` of a warpgroup
    /// takes the tile of rows `16i ..` of the 64. Rows and columns beyond the matrix hold
    /// [`EMPTY_GROUP`](Self::EMPTY_GROUP), as 0 would be an invalid pair.
    ///
    /// The order is that of the metadata figures in the PTX ISA (sparse `mma.m16n8k32` with
    /// `.f16`/`.bf16`, and `wgmma.mma_async.sp`), of CUTLASS's `ELayout_64x32`
    /// (`cute/atom/mma_traits_sm90_gmma_sparse.hpp`) and of its `reorder_meta`
    /// (`cutlass/util/host_reorder.h`), which interleaves two such tiles for `ldmatrix`; storing
    /// tile by tile is Croqtile's choice.
    ///
    /// # Errors
    /// [`FormatError::DTypeUnsupported`] for f32 and f64: TF32 sparsity is 1:2, which these
    /// metadata do not describe.
    pub fn prepacked_metadata(&self) -> Result<Buffer<u32>, FormatError> {
        if !matches!(T::DTYPE, DType::F16 | DType::Bf16) {
            return Err(FormatError::DTypeUnsupported {
                what: "prepacked 2:4 metadata",
                found: T::DTYPE,
                expected: "f16 or bf16",
            });
        }
        let words = Self::words_of(self.ncols());
        let n_slots = self.layout().n_slots();
        let (tile_rows, tile_cols) =
            (n_slots.div_ceil(TILE_ROWS), self.ncols().div_ceil(TILE_COLS));
        let mut packed = zeroed(&[tile_rows, tile_cols, TILE_WORDS])?;
        if tile_cols == 0 {
            return Ok(packed);
        }
        let empty = Self::EMPTY_GROUP * 0x1111;
        let word = |slot: usize, word: usize| {
            let inside = slot < n_slots && word < words;
            if inside { self.metadata()[slot * words + word] } else { empty }
        };
        let rows = packed.make_mut().par_chunks_exact_mut(tile_cols * TILE_WORDS).enumerate();
        rows.for_each(|(i, tiles)| {
            for (j, tile) in tiles.chunks_exact_mut(TILE_WORDS).enumerate() {
                for (k, packed) in tile.iter_mut().enumerate() {
                    let (slot, column) = (i * TILE_ROWS + k / 2, 2 * j + k % 2);
                    *packed =
                        u32::from(word(slot, column)) | u32::from(word(slot + 8, column)) << 16;
                }
            }
        });
        Ok(packed)
    }
}

/// Columns of A that one instruction covers where values have 8 bits: four metadata words of a row.
const TILE_COLS_8: usize = 64;
/// `u32` words of such a tile: one of every lane.
const TILE_WORDS_8: usize = 32;

impl<T: Scalar> TwoFour<T> {
    /// The metadata in the order `wgmma.mma_async.sp` (m64nNk64) reads it for 8-bit values: an array
    /// `[⌈slots/16⌉, ⌈k/64⌉, 32]` of `u32`.
    ///
    /// Of a tile of 16 rows × 64 columns, word `4g + 2h + u` belongs to the thread of that lane. It holds the
    /// positions of row `g + 8u` in columns `32h .. 32h + 32`. Every lane has a word, so there is no selector. Warps,
    /// and what lies beyond the matrix, are as in [`prepacked_metadata`](Self::prepacked_metadata).
    ///
    /// The order is that of the metadata figures in the PTX ISA (sparse `mma.m16n8k64` with `.e4m3`, and
    /// `wgmma.mma_async.sp`).
    ///
    /// # Errors
    /// If memory is short.
    pub fn prepacked_metadata_8bit(&self) -> Result<Buffer<u32>, FormatError> {
        let words = Self::words_of(self.ncols());
        let n_slots = self.layout().n_slots();
        let (tile_rows, tile_cols) =
            (n_slots.div_ceil(TILE_ROWS), self.ncols().div_ceil(TILE_COLS_8));
        let mut packed = zeroed(&[tile_rows, tile_cols, TILE_WORDS_8])?;
        if tile_cols == 0 {
            return Ok(packed);
        }
        let word = |slot: usize, word: usize| {
            let inside = slot < n_slots && word < words;
            let empty = Self::EMPTY_GROUP * 0x1111;
            u32::from(if inside { self.metadata()[slot * words + word] } else { empty })
        };
        let rows = packed.make_mut().par_chunks_exact_mut(tile_cols * TILE_WORDS_8).enumerate();
        rows.for_each(|(i, tiles)| {
            for (j, tile) in tiles.chunks_exact_mut(TILE_WORDS_8).enumerate() {
                for (lane, packed) in tile.iter_mut().enumerate() {
                    let slot = i * TILE_ROWS + lane / 4 + lane % 2 * 8;
                    let column = 4 * j + lane % 4 / 2 * 2;
                    *packed = word(slot, column) | word(slot, column + 1) << 16;
                }
            }
        });
        Ok(packed)
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::csr::Csr;
    use crate::layout::RowLayout;

    fn two_four<T: Scalar>(ncols: usize, rows: &[&[u32]]) -> TwoFour<T> {
        let mut row_ptr = vec![0];
        row_ptr.extend(rows.iter().scan(0, |n, r| {
            *n += r.len() as u64;
            Some(*n)
        }));
        let values = vec![T::ONE; rows.concat().len()];
        let csr = Csr::try_new(rows.len(), ncols, row_ptr, rows.concat(), values).unwrap();
        TwoFour::from_csr(&csr, RowLayout::natural(rows.len(), 1).unwrap()).unwrap()
    }

    #[test]
    fn words_follow_the_instruction() {
        // Row 1: columns 2, 3 of group 0 and column 3 of the group at 16. Row 9: column 7.
        let mut rows = vec![&[][..]; 17];
        rows[1] = &[2, 3, 19];
        rows[9] = &[7];
        rows[16] = &[34];
        let packed = two_four::<bf16>(35, &rows).prepacked_metadata().unwrap();
        assert_eq!(packed.len(), 2 * 2 * 16);
        // Quad 1, columns 0–15: row 1 has 0b1110 in its first group, row 9 0b1100 in its second.
        assert_eq!(packed[2], 0x44c4_444e);
        assert_eq!(packed[3], 0x4444_444c);
        // The second row of tiles, columns 32–47: row 16 has column 2 of the first group.
        let second = (2 + 1) * 16;
        assert_eq!(packed[second], 0x4444_4448);
        let others = (0..64).filter(|i| ![2, 3, second].contains(i));
        assert!(others.into_iter().all(|i| packed[i] == 0x4444_4444));
    }

    #[test]
    fn other_value_types_and_empty_matrices() {
        assert!(matches!(
            two_four::<f32>(4, &[&[0]]).prepacked_metadata(),
            Err(FormatError::DTypeUnsupported { found: DType::F32, .. })
        ));
        assert!(two_four::<bf16>(0, &[&[]]).prepacked_metadata().unwrap().is_empty());
        assert!(two_four::<bf16>(9, &[]).prepacked_metadata().unwrap().is_empty());
    }

    #[test]
    fn words_of_8_bit_values_are_of_one_row() {
        // Row 1: columns 2, 3 and 19. Row 9: column 39. Row 16: column 66.
        let mut rows = vec![&[][..]; 17];
        rows[1] = &[2, 3, 19];
        rows[9] = &[39];
        rows[16] = &[66];
        let packed = two_four::<f32>(67, &rows).prepacked_metadata_8bit().unwrap();
        assert_eq!(packed.len(), 2 * 2 * 32);
        // Quad 1: row 1 in columns 0–31, row 9 there, row 1 in columns 32–63, row 9 there.
        assert_eq!(packed[4..8], [0x444c_444e, 0x4444_4444, 0x4444_4444, 0x4444_44c4]);
        // The second row of tiles, columns 64–127.
        let second = (2 + 1) * 32;
        assert_eq!(packed[second], 0x4444_4448);
        let others = (0..128).filter(|i| ![4, 7, second].contains(i));
        assert!(others.into_iter().all(|i| packed[i] == 0x4444_4444));
        assert!(two_four::<f32>(0, &[&[]]).prepacked_metadata_8bit().unwrap().is_empty());
    }
}
