//! Masks and values as the kernel wants them.

use bytemuck::cast_slice;
use girih_formats::{BMat, Scalar};
use girih_parallel::prelude::*;

use super::params::Header;
use crate::launch::Bytes;

/// Bytes of a bulk copy are a multiple of this.
const CHUNK: usize = 16;

/// The header of every tile, and of one that would begin where the last one ends: O(tiles).
pub(super) fn headers<T: Scalar>(a: &BMat<T>) -> Vec<Header> {
    let begin = |ptr: u64| Header {
        first_value_low: ptr as u32,
        first_value_high: (ptr >> 32) as u32,
        ..Header::default()
    };
    let masks = a.tile_bits().par_chunks_exact(BMat::<T>::TILE_WORDS);
    let of_tiles = masks.zip(&a.tile_value_ptr()[..a.n_tiles()]).map(|(masks, &ptr)| {
        let mask: [u32; 4] = std::array::from_fn(|t| masks[t]);
        // Three words have 96 bits at most, which 8 bits count.
        let before = (0..3).fold((0, 0), |(packed, sum), t| {
            let sum = sum + mask[t].count_ones();
            (packed | sum << (8 * t), sum)
        });
        Header { mask, before: before.0, ..begin(ptr) }
    });
    let mut headers: Vec<_> = of_tiles.collect();
    headers.push(begin(a.nnz() as u64));
    headers
}

/// The values, in whole chunks: shared with the tiling where they are that already.
pub(super) fn values<T: Scalar>(a: &BMat<T>) -> Box<dyn Bytes> {
    let Some(values) = a.values() else { return Box::new(Vec::<u8>::new()) };
    let bytes: &[u8] = cast_slice(values);
    if bytes.len().is_multiple_of(CHUNK) {
        return Box::new(values.clone());
    }
    let mut padded = vec![0u8; bytes.len().next_multiple_of(CHUNK)];
    padded[..bytes.len()].copy_from_slice(bytes);
    Box::new(padded)
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, RowLayout};

    use super::*;

    fn bmat(nnz: usize, pattern_only: bool) -> BMat<f32> {
        // One row of entries 0, 1, …
        let cols: Vec<u32> = (0..nnz as u32).collect();
        let values: Vec<f32> = (0..nnz).map(|i| i as f32).collect();
        let csr = Csr::try_new(1, nnz, vec![0, nnz as u64], cols, values).unwrap();
        BMat::from_csr(&csr, RowLayout::natural(1, 16).unwrap(), pattern_only).unwrap()
    }

    #[test]
    fn a_header_says_where_the_values_of_every_word_are() {
        let headers = headers(&bmat(13, false));
        assert_eq!(headers.len(), 3);
        // Row 0: columns 0 to 3 are bits 0 to 3 of word 0, columns 4 to 7 of word 2.
        assert_eq!((headers[0].mask, headers[0].before), ([15, 0, 15, 0], 0x08_04_04));
        assert_eq!((headers[1].mask, headers[1].before), ([15, 0, 1, 0], 0x05_04_04));
        let begins: Vec<_> = headers.iter().map(|header| header.first_value_low).collect();
        assert_eq!(begins, [0, 8, 13]);
    }

    #[test]
    fn values_are_whole_chunks() {
        assert_eq!(values(&bmat(13, false)).bytes().len(), 64);
        assert_eq!(values(&bmat(12, false)).bytes().len(), 48);
        assert_eq!(values(&bmat(12, false)).bytes()[4..8], 1f32.to_le_bytes());
        assert_eq!(values(&bmat(12, true)).bytes().len(), 0);
    }
}
