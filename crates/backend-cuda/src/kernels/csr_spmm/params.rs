//! What the entry points are passed.

use bytemuck::cast;

use crate::epilogue::PlacedEpilogue;
use crate::kernels::shared::passed::passed;

passed! {
    "csr_spmm/passed.cuh";

    /// A run of entries of one row.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct Item {
        /// The first entry.
        begin: u64,
        /// How many there are.
        length: u32,
        /// The row of C that a whole row goes to; of a piece, the row of `partials`.
        row: u32,
    }

    /// A row in pieces.
    #[align(16)]
    #[derive(PartialEq, Eq)]
    pub(crate) struct SplitRow {
        /// The first of its pieces.
        first_piece: u64,
        /// How many there are, in order.
        n_pieces: u32,
        /// The row of C.
        row: u32,
    }

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    pub(crate) struct Params {
        /// Pieces; other items that a block takes each; those that a warp takes each; the rest.
        items: u64 as "const Item*",
        splits: u64 as "const SplitRow*",
        /// Of each row of `partials`, which split row it is a piece of.
        split_of: u64 as "const u32*",
        /// How many pieces of a split row are there, of each of its tiles of columns: zero between products.
        arrived: u64 as "u32*",
        col_idx: u64 as "const u32*",
        values: u64 as "const void*",
        b: u64 as "const void*",
        c: u64 as "void*",
        partials: u64 as "void*",
        n_items: u64,
        n_pieces: u64,
        n_by_block: u64,
        n_by_warp: u64,
        m: u64,
        n: u64,
        b_row_stride: u64,
        b_col_stride: u64,
        c_row_stride: u64,
        c_col_stride: u64,
        partial_stride: u64,
        alpha: f64,
        beta: f64,
        /// Of the rest, lanes to an item: a power of two, at least LANES, at most 32. Or items to a warp, at
        /// most 32.
        team: u32,
        /// Rows of C are contiguous and begin on what as many bytes of sums come to, 16 or 8; 0 where they do not.
        c_vector_bytes: u32,
        /// Tiles of columns that there are counts in `arrived` for.
        counted_tiles: u64,
        /// Of the rest, instead of items, where all rows are of it: the end of each slot before the first and
        /// after the others, and the row of C of each slot, which is the slot's own number if there are none.
        row_ptr: u64 as "const u32*",
        rows: u64 as "const u32*",
        /// Items that a team of `multiply_rows` takes, one after the other.
        turns: u32,
        /// Tiles of columns that neighbouring blocks take of the same items: a panel. Blocks of all items come
        /// before those of the next panel.
        panel_tiles: u32,
        /// Rows of C whose rows of A have no entries, besides the items; and the first warp that takes some of them.
        empty_rows: u64 as "const u32*",
        n_empty_rows: u64,
        first_empty_warp: u64,
        /// An epilogue, or what stands in its place.
        last: [u64; 4] as "Last",
    }
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
