//! The five tilings, and CSR in a row order: types, their invariants, their names.

mod bcsr;
mod blocked_ell;
mod bmat;
mod row_csr;
pub(crate) mod spec;
mod tiling;
mod two_four;
mod wcsr;

pub use bcsr::Bcsr;
pub use blocked_ell::BlockedEll;
pub use bmat::BMat;
pub use row_csr::RowCsr;
pub use spec::{FormatKind, FormatSpec};
pub use tiling::{AnyTiling, Tiling};
pub use two_four::TwoFour;
pub use wcsr::Wcsr;
