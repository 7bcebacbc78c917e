//! What tensor copies can move of dense operands.

use crate::CudaError;
use crate::launch::tensor_map::{Element, EncodedMap, MapEncoder, Swizzle, TensorMap};
use crate::operand::Place;

/// How a kernel reads B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// By tensor copies of its rows.
    Rows,
    /// By tensor copies of its columns.
    Columns,
    /// Element by element.
    Elements,
}

impl Reading {
    /// By tensor copies if the rows of B, or else its columns, can be moved so; `size` is an element's bytes.
    pub(crate) fn of(b: &Place, size: u64) -> Self {
        let transposed = Place {
            rows: b.cols,
            cols: b.rows,
            row_stride: b.col_stride,
            col_stride: b.row_stride,
            ..*b
        };
        if is_matrix(b, size) {
            Self::Rows
        } else if is_matrix(&transposed, size) {
            Self::Columns
        } else {
            Self::Elements
        }
    }
}

/// Whether tensor copies can move a matrix of `size` bytes per element: contiguous rows, apart, on 16
/// bytes.
pub(crate) fn is_matrix(place: &Place, size: u64) -> bool {
    let Place { address, rows, cols, row_stride, col_stride, .. } = *place;
    let apart = row_stride >= cols as u64;
    let there = rows > 0 && cols > 0;
    there && col_stride == 1 && apart && TensorMap::is_possible(address, row_stride * size)
}

/// C in boxes of 64 rows and 32 columns, swizzled: what leaves shared memory at once.
pub(crate) fn map_of_c(c: &Place, encoder: &dyn MapEncoder) -> Result<EncodedMap, CudaError> {
    let (dims, strides) = ([c.cols as u64, c.rows as u64], [c.row_stride * 4]);
    let map = TensorMap::new(Element::F32, c.address, &dims, &strides, &[32, 64]);
    encoder.encode(&map.swizzle(Swizzle::Bytes128))
}
