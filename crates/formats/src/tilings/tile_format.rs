//! What the code that is generic over formats asks of one.

use super::shared::fill::Locate;
use super::shared::read_back::Rows;
use super::spec::FormatSpec;
use crate::E4m3;
use crate::buffer::Buffer;
use crate::error::FormatError;
use crate::scalar::Scalar;

/// A matrix in one format. [`Tiling`](super::Tiling) dispatches to it, and nothing else does.
pub(crate) trait TileFormat<T: Scalar>: Rows<T> {
    /// Where its entries stand among its values.
    type Places<'a>: Locate
    where
        Self: 'a;

    /// The format with its sizes.
    fn spec(&self) -> FormatSpec;

    /// Entries the tiles were filled from.
    fn nnz(&self) -> usize;

    /// Where the tiles of window `w` begin in the sequence of all tiles, for `w` up to and including
    /// `n_windows`.
    fn tile_ptr(&self, w: usize) -> u64;

    /// Its arrays, besides those of the layout, in the order of plan files.
    fn arrays(&self) -> Vec<Array<'_, T>>;

    /// The value array, if there is one.
    fn values(&self) -> Option<&Buffer<T>>;

    /// The same, to be written.
    fn values_mut(&mut self) -> Option<&mut Buffer<T>>;

    /// The places of its entries.
    fn places(&self) -> Self::Places<'_>;

    /// Visits every value that is stored for the row in `slot`, with its column, in the order of the
    /// tiles: [`Tiling::visit_stored`](super::Tiling::visit_stored).
    fn visit_stored(&self, slot: usize, visit: impl FnMut(usize, T));

    /// Bytes of all arrays, those of the layout included.
    fn bytes(&self) -> u64 {
        self.layout().bytes() + self.arrays().iter().map(Array::bytes).sum::<u64>()
    }
}

/// The name of an array: that of its accessor in the type of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is named as the accessor is, which is documented")]
pub enum ArrayName {
    RowPtr,
    ColIdx,
    BlockRowPtr,
    BlockColIdx,
    WindowPtr,
    WindowColIdx,
    EllColIdx,
    TileColIdx,
    TileBits,
    TileValuePtr,
    Metadata,
    Values,
    Codes,
    Scales,
}

/// One of the arrays of a tiling.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a, T: Scalar> {
    /// Its name.
    pub name: ArrayName,
    /// What it holds.
    pub elements: Elements<'a, T>,
}

/// The elements of an array, by their type.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each variant is named for the type of the elements")]
pub enum Elements<'a, T: Scalar> {
    U16(&'a Buffer<u16>),
    U32(&'a Buffer<u32>),
    U64(&'a Buffer<u64>),
    Values(&'a Buffer<T>),
    E4m3(&'a Buffer<E4m3>),
    F32(&'a Buffer<f32>),
}

impl<'a, T: Scalar> Array<'a, T> {
    pub(crate) fn u16s(name: ArrayName, array: &'a Buffer<u16>) -> Self {
        Self { name, elements: Elements::U16(array) }
    }

    pub(crate) fn u32s(name: ArrayName, array: &'a Buffer<u32>) -> Self {
        Self { name, elements: Elements::U32(array) }
    }

    pub(crate) fn u64s(name: ArrayName, array: &'a Buffer<u64>) -> Self {
        Self { name, elements: Elements::U64(array) }
    }

    pub(crate) fn values(array: &'a Buffer<T>) -> Self {
        Self { name: ArrayName::Values, elements: Elements::Values(array) }
    }

    pub(crate) fn codes(array: &'a Buffer<E4m3>) -> Self {
        Self { name: ArrayName::Codes, elements: Elements::E4m3(array) }
    }

    pub(crate) fn scales(array: &'a Buffer<f32>) -> Self {
        Self { name: ArrayName::Scales, elements: Elements::F32(array) }
    }

    fn bytes(&self) -> u64 {
        let bytes = match self.elements {
            Elements::U16(array) => size_of_val(&array[..]),
            Elements::U32(array) => size_of_val(&array[..]),
            Elements::U64(array) => size_of_val(&array[..]),
            Elements::Values(array) => size_of_val(&array[..]),
            Elements::E4m3(array) => size_of_val(&array[..]),
            Elements::F32(array) => size_of_val(&array[..]),
        };
        bytes as u64
    }
}

/// Where the arrays of a tiling come from: a file, say.
pub trait ArraySource {
    /// Why there is no such array, or none of these elements.
    type Error: From<FormatError>;

    /// An array of `u16`.
    ///
    /// # Errors
    /// If there is no such array.
    fn u16s(&self, name: ArrayName) -> Result<Buffer<u16>, Self::Error>;

    /// An array of `u32`.
    ///
    /// # Errors
    /// If there is no such array.
    fn u32s(&self, name: ArrayName) -> Result<Buffer<u32>, Self::Error>;

    /// An array of `u64`.
    ///
    /// # Errors
    /// If there is no such array.
    fn u64s(&self, name: ArrayName) -> Result<Buffer<u64>, Self::Error>;

    /// The values in e4m3.
    ///
    /// # Errors
    /// If there is no such array.
    fn codes(&self) -> Result<Buffer<E4m3>, Self::Error>;

    /// The scales of values in e4m3.
    ///
    /// # Errors
    /// If there is no such array.
    fn scales(&self) -> Result<Buffer<f32>, Self::Error>;

    /// The value array.
    ///
    /// # Errors
    /// If there is none of this value type.
    fn values<T: Scalar>(&self) -> Result<Buffer<T>, Self::Error>;
}

/// What a tiling is besides its arrays, its format and its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of columns (k).
    pub ncols: usize,
    /// Entries the tiles were filled from.
    pub nnz: usize,
    /// Block slots of a block row of Blocked-ELL; 0 for other formats.
    pub ell_width: usize,
}
