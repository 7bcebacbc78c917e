//! Shared-memory matrix descriptors of `wgmma` and the layouts they name.
//!
//! Offsets follow the canonical layouts of the PTX ISA; the swizzle then acts on the whole shared
//! address. That is why a descriptor's start may be moved along k inside a swizzled row.

use super::{Element, Swizzle, Tile};
use std::ops::Range;

/// A 64-bit matrix descriptor, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor {
    /// Start address in shared memory, a multiple of 16.
    pub start: u32,
    /// Leading dimension byte offset.
    pub leading: u32,
    /// Stride dimension byte offset.
    pub stride: u32,
    /// Rows of 128 bytes by which the swizzle pattern's start is off its natural alignment, 0–7.
    pub base_offset: u32,
    /// The swizzle.
    pub swizzle: Swizzle,
}

/// Why a descriptor, or its use, is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// Bits that the format leaves unused are set.
    #[error(
        "matrix descriptor {descriptor:#018x} has reserved bits set, {bits:#018x}: of a shared address it \
         takes bits 4 to 17"
    )]
    ReservedBits {
        /// The descriptor.
        descriptor: u64,
        /// Its reserved bits.
        bits: u64,
    },
    /// A base offset without a swizzle pattern that could be off.
    #[error("matrix descriptor {descriptor:#018x} has base offset {base_offset} but no swizzle")]
    BaseOffset {
        /// The descriptor.
        descriptor: u64,
        /// The offset.
        base_offset: u32,
    },
    /// The leading offset of an operand whose layout has none is the rank of the CTA in its cluster,
    /// which shared addresses have from bit 24 up.
    #[error(
        "matrix descriptor {descriptor:#018x} has the CTA's rank, {rank}, in its leading offset, which \
         this layout does not use: of a shared address it takes bits 4 to 17"
    )]
    Rank {
        /// The descriptor.
        descriptor: u64,
        /// The rank.
        rank: u32,
    },
    /// A K-major operand whose k does not fit in a swizzled row.
    #[error("{bytes} bytes of k do not fit in the {span}-byte rows of the descriptor's swizzle")]
    WiderThanSwizzle {
        /// Bytes of k.
        bytes: u32,
        /// Bytes of a row.
        span: u32,
    },
    /// A transposed operand of a type that cannot be.
    #[error("operands of {bytes}-byte elements cannot be transposed")]
    Transposed {
        /// An element's bytes.
        bytes: u32,
    },
    /// The operand reaches past shared memory.
    #[error("matrix operand reads shared bytes {start:#x}..{end:#x}, of which there are {size:#x}")]
    OutOfRange {
        /// First byte of the range that is wrong.
        start: u32,
        /// One past its last byte.
        end: u32,
        /// Bytes of shared memory.
        size: u32,
    },
}

/// The bits that hold fields.
const USED: u64 = 0x3fff | 0x3fff << 16 | 0x3fff << 32 | 7 << 49 | 3 << 62;

impl Descriptor {
    /// Takes a descriptor apart.
    ///
    /// # Errors
    /// If reserved bits are set, or a base offset without a swizzle.
    pub fn decode(bits: u64) -> Result<Descriptor, DescriptorError> {
        if bits & !USED != 0 {
            return Err(DescriptorError::ReservedBits { descriptor: bits, bits: bits & !USED });
        }
        let field = |shift: u32| ((bits >> shift) as u32 & 0x3fff) << 4;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        };
        let base_offset = (bits >> 49) as u32 & 7;
        if swizzle == Swizzle::None && base_offset != 0 {
            return Err(DescriptorError::BaseOffset { descriptor: bits, base_offset });
        }
        Ok(Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base_offset,
            swizzle,
        })
    }

    /// The 64 bits. Offsets lose what does not fit their fields, as in a kernel.
    #[must_use]
    pub fn encode(self) -> u64 {
        let field = |bytes: u32| u64::from((bytes & 0x3_ffff) >> 4);
        let swizzle = match self.swizzle {
            Swizzle::None => 0,
            Swizzle::Bytes128 => 1,
            Swizzle::Bytes64 => 2,
            Swizzle::Bytes32 => 3,
        };
        field(self.start)
            | field(self.leading) << 16
            | field(self.stride) << 32
            | u64::from(self.base_offset & 7) << 49
            | swizzle << 62
    }
}

/// A multiplicand in shared memory: the bytes of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedOperand {
    descriptor: Descriptor,
    bytes: u32,
    rows: u32,
    k: u32,
    along_rows: bool,
}

/// 16 consecutive bytes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// Shared address, a multiple of 16.
    pub address: u32,
    /// Row of the first element.
    pub row: u32,
    /// k of the first element.
    pub k: u32,
}

impl SharedOperand {
    /// An operand of `rows` (of A, or columns of B: a multiple of 8) by `k` elements, `k` a multiple
    /// of 16 bytes. `transposed` is the instruction's `imm-trans`: M- or N-major.
    ///
    /// # Errors
    /// If the descriptor is malformed or the type cannot be transposed.
    pub fn new(
        descriptor: u64,
        element: Element,
        rows: u32,
        k: u32,
        transposed: bool,
    ) -> Result<SharedOperand, DescriptorError> {
        let descriptor = Descriptor::decode(descriptor)?;
        let (bytes, span) = (element.bytes(), descriptor.swizzle.span());
        if transposed && bytes != 2 {
            return Err(DescriptorError::Transposed { bytes });
        }
        if !transposed && descriptor.swizzle != Swizzle::None && k * bytes > span {
            return Err(DescriptorError::WiderThanSwizzle { bytes: k * bytes, span });
        }
        Ok(SharedOperand { descriptor, bytes, rows, k, along_rows: transposed })
    }

    /// The shared address of an element's first byte.
    #[must_use]
    pub fn address(&self, row: u32, k: u32) -> u32 {
        let Descriptor { start, leading, stride, base_offset, swizzle } = self.descriptor;
        let span = swizzle.span();
        let offset = if self.along_rows {
            // 8 rows of one k are a chunk; k's 8 to a group.
            let (chunk, within) = (row / 8, row % 8 * self.bytes);
            let (group, k) = (k / 8, k % 8);
            if swizzle == Swizzle::None {
                within + chunk * stride + k * 16 + group * leading
            } else {
                let per_row = span / 16;
                within
                    + chunk % per_row * 16
                    + chunk / per_row * leading
                    + k * span
                    + group * stride
            }
        } else {
            let (chunk, within) = (k * self.bytes / 16, k * self.bytes % 16);
            let (group, row) = (row / 8, row % 8);
            let step = if swizzle == Swizzle::None { leading } else { 16 };
            within + chunk * step + row * span + group * stride
        };
        swizzle.apply_from(start.wrapping_add(offset), base_offset)
    }

    /// All 16-byte chunks, each once.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> + '_ {
        let per_chunk = 16 / self.bytes;
        let (row_step, k_step) = if self.along_rows { (per_chunk, 1) } else { (1, per_chunk) };
        (0..self.rows).step_by(row_step as usize).flat_map(move |row| {
            (0..self.k).step_by(k_step as usize).map(move |k| Chunk {
                address: self.address(row, k),
                row,
                k,
            })
        })
    }

    /// The byte ranges the operand covers, in order and merged.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range<u32>> {
        let mut starts: Vec<u32> = self.chunks().map(|chunk| chunk.address).collect();
        starts.sort_unstable();
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for start in starts {
            match ranges.last_mut() {
                Some(last) if start <= last.end => last.end = last.end.max(start + 16),
                _ => ranges.push(start..start + 16),
            }
        }
        ranges
    }

    /// Checks that the descriptor does not hold a shared address of the CTA of this rank as it is. An
    /// H200 does not mind where the layout has no leading offset; with another layout it would.
    ///
    /// # Errors
    /// If it does, as far as that can be seen: where the leading offset is not used.
    pub fn check_rank(&self, rank: u32) -> Result<(), DescriptorError> {
        let Descriptor { leading, swizzle, .. } = self.descriptor;
        let unused = !self.along_rows && swizzle != Swizzle::None;
        if unused && rank != 0 && leading & 0xf00 == rank << 8 {
            return Err(DescriptorError::Rank { descriptor: self.descriptor.encode(), rank });
        }
        Ok(())
    }

    /// [`ranges`](Self::ranges), all of them within the first `size` bytes of shared memory.
    ///
    /// # Errors
    /// The first range that is not.
    pub fn ranges_within(&self, size: u32) -> Result<Vec<Range<u32>>, DescriptorError> {
        let ranges = self.ranges();
        match ranges.iter().find(|range| range.end > size) {
            None => Ok(ranges),
            Some(&Range { start, end }) => Err(DescriptorError::OutOfRange { start, end, size }),
        }
    }

    /// The operand's elements; `read` gives the 16 bytes at a shared address.
    ///
    /// # Errors
    /// What `read` reports.
    pub fn load<E>(&self, mut read: impl FnMut(u32) -> Result<[u8; 16], E>) -> Result<Tile, E> {
        let mut tile = Tile::zeros(self.rows, self.k);
        for Chunk { address, row, k } in self.chunks() {
            let bytes = read(address)?;
            if self.along_rows {
                tile.put_along_rows(row, k, &bytes, self.bytes);
            } else {
                tile.put_along_k(row, k, &bytes, self.bytes);
            }
        }
        Ok(tile)
    }
}
