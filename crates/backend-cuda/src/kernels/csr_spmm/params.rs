//! What the entry points are passed.

use bytemuck::{Pod, Zeroable, cast};

use crate::epilogue::PlacedEpilogue;

/// Entries of one row: `Item` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Item {
    /// The first entry.
    pub(crate) begin: u64,
    /// How many there are.
    pub(crate) length: u32,
    /// The row of C; of a piece, that of the sums.
    pub(crate) row: u32,
}

/// A row in pieces: `SplitRow` in CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct SplitRow {
    /// The first of its pieces.
    pub(crate) first_piece: u64,
    /// How many there are, in order.
    pub(crate) n_pieces: u32,
    /// The row of C.
    pub(crate) row: u32,
}

/// What the entry points are passed: `Params` in CUDA. Addresses are of device memory, strides count
/// elements.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Params {
    pub(crate) items: u64,
    pub(crate) splits: u64,
    pub(crate) split_of: u64,
    pub(crate) arrived: u64,
    pub(crate) col_idx: u64,
    pub(crate) values: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) partials: u64,
    pub(crate) n_items: u64,
    pub(crate) n_pieces: u64,
    pub(crate) n_by_block: u64,
    pub(crate) n_by_warp: u64,
    pub(crate) m: u64,
    pub(crate) n: u64,
    pub(crate) b_row_stride: u64,
    pub(crate) b_col_stride: u64,
    pub(crate) c_row_stride: u64,
    pub(crate) c_col_stride: u64,
    pub(crate) partial_stride: u64,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) team: u32,
    pub(crate) c_vector_bytes: u32,
    pub(crate) counted_tiles: u64,
    pub(crate) row_ptr: u64,
    pub(crate) rows: u64,
    pub(crate) turns: u32,
    pub(crate) panel_tiles: u32,
    pub(crate) empty_rows: u64,
    pub(crate) n_empty_rows: u64,
    pub(crate) first_empty_warp: u64,
    /// What [`Last`] is in words.
    pub(crate) last: [u64; 4],
}

/// What kernels are passed last, each kind in the same place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Last {
    /// What is applied to products of real values.
    Epilogue(PlacedEpilogue),
    /// Of aggregations: where the numbers of entries of split rows are.
    SplitEntries(u64),
    /// Of products of complex values: the imaginary parts of α and β.
    Imaginary(f64, f64),
}

impl Last {
    /// That of the columns from `first` on, of elements of C of `size` bytes.
    pub(crate) fn words(&self, first: u64, size: u64) -> [u64; 4] {
        match *self {
            Self::Epilogue(epilogue) => cast(epilogue.columns(first, size)),
            Self::SplitEntries(address) => [address, 0, 0, 0],
            Self::Imaginary(alpha, beta) => [alpha.to_bits(), beta.to_bits(), 0, 0],
        }
    }
}

const _: () = assert!(size_of::<Item>() == 16 && size_of::<SplitRow>() == 16);
const _: () = assert!(size_of::<Params>() == 272);
