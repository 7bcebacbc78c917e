//! The bytes that a box moves.

use super::{Fill, Interleave, TensorMap};
use crate::tensor_core::Swizzle;

/// The alignment of a box in shared memory.
const SHARED_ALIGNMENT: u32 = 128;

/// No shared memory is larger; boxes that are could not be moved.
const LARGEST_BOX: u64 = 1 << 18;

/// Consecutive bytes of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// Address in shared memory.
    pub shared: u32,
    /// Address in global memory; none where the elements are out of bounds.
    pub global: Option<u64>,
    /// Number of bytes.
    pub bytes: u32,
}

/// Why a box cannot be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum BoxError {
    /// As many coordinates as dimensions are needed.
    #[error("{coordinates} coordinates for a tensor map with {rank} dimensions")]
    Coordinates {
        /// The number of coordinates.
        coordinates: usize,
        /// The map's dimensions.
        rank: usize,
    },
    /// The box begins at a bad shared address.
    #[error("the box's shared address {address:#x} is not a multiple of {SHARED_ALIGNMENT}")]
    Misaligned {
        /// The address.
        address: u32,
    },
    /// The box is larger than any shared memory.
    #[error("the box has {bytes} bytes, more than any shared memory")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
    },
    /// The box does not begin at a 16-byte chunk of a row.
    #[error(
        "coordinate {coordinate} of dimension 0 is {bytes} bytes into a row, which is not a multiple of 16"
    )]
    Coordinate {
        /// The coordinate.
        coordinate: i32,
        /// The bytes it stands for.
        bytes: i64,
    },
    /// A box that is stored begins before the tensor.
    #[error("coordinate {coordinate} of dimension {dimension}: stores can't begin before 0")]
    Before {
        /// The dimension.
        dimension: usize,
        /// Its coordinate.
        coordinate: i32,
    },
}

impl TensorMap {
    /// Bytes of what dimension 0 counts.
    fn unit(&self) -> u32 {
        self.interleave.slice().unwrap_or(self.data_type.bytes())
    }

    /// Elements that a box takes along each dimension: one for every element stride begun.
    fn taken(&self) -> [u32; 5] {
        std::array::from_fn(|at| self.box_dims[at].div_ceil(self.element_strides[at]))
    }

    /// Bytes of a box in shared memory, which is what it adds to a barrier's transaction count
    /// whether it is in bounds or not.
    #[must_use]
    pub fn box_bytes(&self) -> u64 {
        let elements: u64 = self.taken().iter().map(|&taken| u64::from(taken)).product();
        elements * u64::from(self.unit())
    }

    /// An element's bits where the box is out of bounds.
    #[must_use]
    pub fn fill_bits(&self) -> u64 {
        match self.fill {
            Fill::Zero => 0,
            Fill::Nan => 0x7ff7_7ff7_7ff7_7ff7 >> (64 - 8 * self.data_type.bytes()),
        }
    }

    /// The bytes of the box at the given coordinates when it is stored: as [`runs`](Self::runs), but
    /// a row that ends within a chunk of 16 bytes is stored to the end of the chunk. An H200 was seen
    /// to do so, and to stop kernels that store at negative coordinates.
    ///
    /// # Errors
    /// If the box cannot be stored.
    pub fn stored_runs(&self, coordinates: &[i32], shared: u32) -> Result<Vec<Run>, BoxError> {
        if let Some(dimension) = coordinates.iter().position(|&at| at < 0) {
            return Err(BoxError::Before { dimension, coordinate: coordinates[dimension] });
        }
        let in_chunk = u64::from(16 / self.unit().min(16));
        self.walk(coordinates, shared, self.dims[0].next_multiple_of(in_chunk))
    }

    /// The bytes of the box at the given coordinates (innermost first, of the box's first element)
    /// and shared address. Runs are in the order of elements, split where either side is not
    /// consecutive; each is a whole number of elements.
    ///
    /// # Errors
    /// If the box cannot be moved.
    pub fn runs(&self, coordinates: &[i32], shared: u32) -> Result<Vec<Run>, BoxError> {
        self.walk(coordinates, shared, self.dims[0])
    }

    /// The bytes of a box, with rows of `length` elements.
    fn walk(&self, coordinates: &[i32], shared: u32, length: u64) -> Result<Vec<Run>, BoxError> {
        let rank = self.rank();
        if coordinates.len() != rank {
            return Err(BoxError::Coordinates { coordinates: coordinates.len(), rank });
        }
        let into = i64::from(coordinates[0]) * i64::from(self.unit());
        if into % 16 != 0 {
            return Err(BoxError::Coordinate { coordinate: coordinates[0], bytes: into });
        }
        if !shared.is_multiple_of(SHARED_ALIGNMENT) {
            return Err(BoxError::Misaligned { address: shared });
        }
        let bytes = self.box_bytes();
        if bytes > LARGEST_BOX {
            return Err(BoxError::TooLarge { bytes });
        }
        let taken = self.taken();
        let row_bytes = taken[0] * self.unit();
        // Swizzled rows begin where the swizzle's do, also where they are shorter.
        let pitch = match self.interleave {
            Interleave::None if self.swizzle != Swizzle::None => self.swizzle.span(),
            _ => row_bytes,
        };
        let mut runs = Vec::new();
        let mut index = [0u32; 5];
        let mut address = shared;
        loop {
            self.push_row(coordinates, index, address, length as i64, &mut runs);
            address = address.wrapping_add(pitch);
            // Counts through the outer dimensions, the innermost of them fastest.
            let mut dimension = 1;
            while dimension < rank {
                index[dimension] += 1;
                if index[dimension] < taken[dimension] {
                    break;
                }
                index[dimension] = 0;
                dimension += 1;
            }
            if dimension >= rank {
                return Ok(runs);
            }
        }
    }

    /// One row: elements before the tensor's first, within it, and past its last.
    fn push_row(
        &self,
        coordinates: &[i32],
        index: [u32; 5],
        shared: u32,
        length: i64,
        runs: &mut Vec<Run>,
    ) {
        let size = self.unit();
        let taken = i64::from(self.taken()[0]);
        let first = i64::from(coordinates[0]);
        let mut row = Some(self.address);
        for dimension in 1..self.rank() {
            let step = i64::from(index[dimension] * self.element_strides[dimension]);
            let at = i64::from(coordinates[dimension]) + step;
            let inside = u64::try_from(at).ok().filter(|&at| at < self.dims[dimension]);
            row = row
                .zip(inside)
                .map(|(row, at)| row.wrapping_add(at.wrapping_mul(self.strides[dimension - 1])));
        }
        let Some(row) = row else {
            return self.push_swizzled(shared, taken as u32 * size, None, runs);
        };
        let step = i64::from(self.element_strides[0]);
        if step > 1 {
            // Only slices of channels can be skipped.
            for (at, shared) in (first..)
                .step_by(step as usize)
                .zip((shared..).step_by(size as usize))
                .take(taken as usize)
            {
                let global = row.wrapping_add_signed(at * i64::from(size));
                let inside = (0..length).contains(&at);
                self.push_swizzled(shared, size, inside.then_some(global), runs);
            }
            return;
        }
        let begin = (-first).clamp(0, taken);
        let end = (length - first).clamp(begin, taken);
        let global = row.wrapping_add_signed((first + begin) * i64::from(size));
        for (from, to, global) in [(0, begin, None), (begin, end, Some(global)), (end, taken, None)]
        {
            let (from, to) = (from as u32 * size, to as u32 * size);
            self.push_swizzled(shared.wrapping_add(from), to - from, global, runs);
        }
    }

    /// Splits consecutive bytes where the swizzle does.
    fn push_swizzled(&self, shared: u32, bytes: u32, global: Option<u64>, runs: &mut Vec<Run>) {
        let mut done = 0;
        while done < bytes {
            let linear = shared.wrapping_add(done);
            let step = if self.swizzle == Swizzle::None {
                bytes
            } else {
                (16 - linear % 16).min(bytes - done)
            };
            runs.push(Run {
                shared: self.swizzle.apply(linear),
                global: global.map(|global| global.wrapping_add(u64::from(done))),
                bytes: step,
            });
            done += step;
        }
    }
}
