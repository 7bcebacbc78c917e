//! Copies of CSR, laid out for a number of columns of B.
//!
//! [`sorted`] has rows sorted by length, [`tiles`] tiles of neighbouring rows. [`saved`] writes both to a
//! plan and reads them back, [`refresh`] puts new values in. How they are multiplied stands in [`exec`](crate::exec).

mod fill;
mod join;
mod order;
mod pieces;
mod refresh;
mod saved;
pub(crate) mod sorted;
pub(crate) mod tiles;

use std::ops::Range;

use girih_formats::Scalar;

pub(crate) use pieces::row_of;
pub(crate) use refresh::Sources;
use sorted::SortedCsr;
use tiles::TiledCsr;

/// A copy of a CSR matrix.
#[derive(Debug)]
pub(crate) enum CsrLayout<T: Scalar> {
    Sorted(SortedCsr<T>),
    Tiles(TiledCsr<T>),
}

impl<T: Scalar> CsrLayout<T> {
    /// The ranges of rows of B that its slabs use: one or several. B has `k` rows.
    pub(crate) fn slabs(&self, k: usize) -> impl Iterator<Item = Range<usize>> {
        let cols = match self {
            Self::Sorted(_) => None,
            Self::Tiles(tiled) => tiled.slab_cols,
        };
        let cols = cols.unwrap_or(k.max(1));
        (0..k.div_ceil(cols).max(1)).map(move |s| s * cols..k.min((s + 1) * cols))
    }

    /// Parts of each task.
    pub(crate) fn parts(&self) -> usize {
        match self {
            Self::Sorted(sorted) => sorted.parts,
            Self::Tiles(_) => 1,
        }
    }
}

/// A matrix with its rows in their own order.
#[cfg(test)]
pub(crate) fn natural(a: &girih_formats::Csr<f32>) -> girih_formats::RowCsr<f32> {
    let layout = girih_formats::RowLayout::natural(a.nrows(), 1).unwrap();
    girih_formats::RowCsr::try_new(layout, a.clone()).unwrap()
}
