//! The five tilings, and CSR in a row order: types, their invariants, their names.

pub(crate) mod bcsr;
pub(crate) mod blocked_ell;
pub(crate) mod bmat;
pub(crate) mod row_csr;
pub(crate) mod shared;
pub(crate) mod slot_map;
pub(crate) mod spec;
mod tiling;
pub(crate) mod two_four;
pub(crate) mod wcsr;

pub use bcsr::Bcsr;
pub use blocked_ell::BlockedEll;
pub use bmat::BMat;
pub use row_csr::RowCsr;
pub use spec::{FormatKind, FormatSpec};
pub use tiling::{AnyTiling, Tiling};
pub use two_four::TwoFour;
pub use wcsr::Wcsr;
