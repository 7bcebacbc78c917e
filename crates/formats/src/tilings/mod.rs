//! The five tilings, hybrids of two, and CSR in a row order: types, their invariants, their names.

mod any_tiling;
pub(crate) mod bcsr;
pub(crate) mod blocked_ell;
pub(crate) mod bmat;
mod complex_parts;
pub(crate) mod hybrid;
pub(crate) mod row_csr;
pub(crate) mod shared;
pub(crate) mod slot_map;
pub(crate) mod spec;
pub(crate) mod tile_format;
pub(crate) mod tiling;
pub(crate) mod two_four;
pub(crate) mod value_places;
pub(crate) mod wcsr;

pub use any_tiling::AnyTiling;
pub use bcsr::Bcsr;
pub use blocked_ell::BlockedEll;
pub use bmat::BMat;
pub use hybrid::Hybrid;
pub use row_csr::RowCsr;
pub use spec::{FormatKind, FormatSpec, ScalesPer, TileShape};
pub use tile_format::{Array, ArrayName, ArraySource, Elements, Extent};
pub use tiling::Tiling;
pub use two_four::{E4m3Narrowing, E4m3Overflow, E4m3Scales, E4m3Values, TwoFour};
pub use wcsr::Wcsr;
