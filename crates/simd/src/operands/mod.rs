//! B and C as kernels see them: an address and two strides.
//!
//! These are the raw halves of views that were checked. Kernels may use them because of what holds here:
//!
//! 1. An operand is made from a view of the right shape, which outlives the product.
//! 2. Columns of a validated tiling are below the number of rows of B.
//! 3. A valid schedule puts every window, or every part of it in a panel of columns, in exactly one task. So
//!    no two threads write the same element of C.
//! 4. What elements of C go through before they are stored, and its bias, outlive the product.
//!
//! Of a [rounded](Output::rounded) C, addresses stand for elements that lie elsewhere. All that is said of an address of
//! C holds for the element that it stands for, which is stored [element by element](Store::Elements).

mod finish;
mod input;
mod output;
mod rounded;
mod row_map;

use girih_formats::Scalar;

pub use finish::{BiasPart, Finish};
pub use input::{Input, Source};
pub use output::{Output, Store, leaves_caches};
pub use rounded::RoundedC;
pub use row_map::RowMap;

/// Vectors of a group of columns that kernels keep in registers.
pub const GROUP_VECTORS: usize = 4;

/// Bytes of the sums in a vector.
pub const VECTOR_BYTES: usize = 64;

/// Columns of a vector, also where values of B are narrower than sums.
pub const fn lanes<T: Scalar>() -> usize {
    VECTOR_BYTES / size_of::<T::Acc>()
}
