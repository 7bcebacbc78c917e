//! CSR into every tiling and back, in parallel and deterministic.
//!
//! Each tiling is built in two steps. The index — which columns, blocks or tiles there are —
//! depends on the pattern only; then every value is written to its place. Both run over runs of
//! whole windows, each owned by one thread, so the result does not depend on how many there are.
//!
//! ```
//! use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
//!
//! let a = Csr::try_new(3, 4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0f32, 2.0, 3.0])?;
//! let spec = FormatSpec::Bcsr { block_rows: 2, block_cols: 2 };
//! let layout = RowLayout::natural(a.nrows(), spec.window_rows())?;
//! let tiling = Tiling::from_csr(&a, spec, layout)?;
//! assert_eq!(tiling.n_tiles(), 3);
//! assert_eq!(tiling.to_csr(), a);
//! # Ok::<(), girih_formats::FormatError>(())
//! ```

pub use crate::tilings::slot_map::SlotMap;
pub use crate::tilings::value_places::ValuePlaces;
