//! The 128 bytes of a tensor map.

use super::TensorMap;
use super::tiled::{DataType, Fill, Interleave, L2Promotion, Tiled};
use crate::tensor_core::Swizzle;

/// Bytes that are no tensor map of this crate's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error(
    "these 128 bytes are not a tensor map encoded by `TensorMap::tiled` (one encoded by the CUDA driver cannot be read here)"
)]
pub struct NotATensorMap;

const MARK: u64 = u64::from_le_bytes(*b"ptxemu\x01\x7f");

/// The bit of the second word that CUTLASS clears in every map it has made (it worked around a driver): it
/// means nothing here.
const CLEARED: u64 = 1 << 21;

const INTERLEAVES: [Interleave; 3] = [Interleave::None, Interleave::Bytes16, Interleave::Bytes32];
const SWIZZLES: [Swizzle; 4] =
    [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];
const PROMOTIONS: [L2Promotion; 4] =
    [L2Promotion::None, L2Promotion::Bytes64, L2Promotion::Bytes128, L2Promotion::Bytes256];
const FILLS: [Fill; 2] = [Fill::Zero, Fill::Nan];

impl TensorMap {
    /// The bytes of the tensor map, to be passed as a 64-byte aligned kernel parameter or written
    /// to global memory.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 128] {
        let kinds = [
            position(&DataType::ALL, &self.data_type),
            self.rank,
            position(&INTERLEAVES, &self.interleave),
            position(&SWIZZLES, &self.swizzle),
            position(&PROMOTIONS, &self.l2_promotion),
            position(&FILLS, &self.fill),
            0,
            0,
        ];
        let mut words = [0; 16];
        words[0] = MARK;
        words[2] = self.address;
        words[3] = u64::from_le_bytes(kinds);
        // Sizes are kept less one, so that their largest value fits.
        for (dimension, &size) in self.dims.iter().enumerate() {
            words[4 + dimension / 2] |= (size - 1) << (32 * (dimension % 2));
        }
        words[7..11].copy_from_slice(&self.strides);
        for dimension in 0..5 {
            words[11] |= u64::from(self.box_dims[dimension] - 1) << (8 * dimension);
            words[12] |= u64::from(self.element_strides[dimension]) << (8 * dimension);
        }
        words[1] = checksum(&words);
        let mut bytes = [0; 128];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Reads a tensor map back.
    ///
    /// # Errors
    /// If the bytes are not those of [`TensorMap::to_bytes`].
    pub fn from_bytes(bytes: &[u8; 128]) -> Result<TensorMap, NotATensorMap> {
        let mut words = [0u64; 16];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        if words[0] != MARK || (words[1] ^ checksum(&words)) & !CLEARED != 0 {
            return Err(NotATensorMap);
        }
        let kinds = words[3].to_le_bytes();
        let rank = usize::from(kinds[1]).min(5);
        let byte = |word: u64, at: usize| (word >> (8 * at)) as u32 & 0xff;
        let dims: [u64; 5] =
            std::array::from_fn(|at| (words[4 + at / 2] >> (32 * (at % 2)) & 0xffff_ffff) + 1);
        let box_dims: [u32; 5] = std::array::from_fn(|at| byte(words[11], at) + 1);
        let element_strides: [u32; 5] = std::array::from_fn(|at| byte(words[12], at));
        // A checksum can be forged; the checks of the encoder are made again.
        TensorMap::tiled(&Tiled {
            data_type: pick(&DataType::ALL, kinds[0])?,
            address: words[2],
            dims: &dims[..rank],
            strides: &words[7..11][..rank.saturating_sub(1)],
            box_dims: &box_dims[..rank],
            element_strides: &element_strides[..rank],
            interleave: pick(&INTERLEAVES, kinds[2])?,
            swizzle: pick(&SWIZZLES, kinds[3])?,
            l2_promotion: pick(&PROMOTIONS, kinds[4])?,
            fill: pick(&FILLS, kinds[5])?,
        })
        .map_err(|_| NotATensorMap)
    }
}

fn position<T: PartialEq>(all: &[T], value: &T) -> u8 {
    all.iter().take_while(|&other| other != value).count() as u8
}

fn pick<T: Copy>(all: &[T], at: u8) -> Result<T, NotATensorMap> {
    all.get(usize::from(at)).copied().ok_or(NotATensorMap)
}

/// FNV-1a over all words but the checksum's own.
fn checksum(words: &[u64; 16]) -> u64 {
    let others = words.iter().enumerate().filter(|&(at, _)| at != 1);
    others.fold(0xcbf2_9ce4_8422_2325, |hash, (_, word)| {
        (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29)
    })
}
