//! What a matrix is like, and what each format would make of it, without building anything.
//!
//! All of it works on the pattern, in parallel, in time linear in the entries.
//!
//! ```
//! use girih_formats::stats::{FormatStats, MatrixStats};
//! use girih_formats::{Csr, DType, FormatSpec, RowLayout};
//!
//! let a = Csr::try_new(2, 9, vec![0, 2, 3], vec![0, 8, 0], vec![1.0f32, 2.0, 3.0])?;
//! assert_eq!(MatrixStats::of(a.pattern()).empty_cols, 7);
//!
//! let spec = FormatSpec::Bcsr { block_rows: 2, block_cols: 4 };
//! let layout = RowLayout::natural(2, spec.window_rows())?;
//! let stats = FormatStats::of(a.pattern(), spec, &layout, DType::F32)?;
//! assert_eq!((stats.tiles, stats.fill_ratio), (2, 3.0 / 16.0));
//! # Ok::<(), girih_formats::FormatError>(())
//! ```

mod format;
mod matrix;
pub(crate) mod measure;
mod shared;

pub use format::FormatStats;
pub use matrix::MatrixStats;
pub use shared::SharedStats;
