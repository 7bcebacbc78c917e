//! Which matrix a plan was made from.

use bytemuck::cast_slice;
use girih_formats::{Csr, DType, Scalar};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The xxh3 hashes of a matrix in CSR: pattern and values apart, so that a plan can tell new values
/// on the old pattern from another matrix.
///
/// It recognises; it does not authenticate: xxh3 is no cryptographic hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The value type hashed.
    pub dtype: DType,
    /// Hash of nrows, ncols, `row_ptr` and `col_idx`.
    pub pattern: u64,
    /// Hash of the values.
    pub values: u64,
}

impl Fingerprint {
    /// The fingerprint of a matrix: one pass over its arrays.
    #[must_use]
    pub fn of<T: Scalar>(csr: &Csr<T>) -> Self {
        let pattern = || {
            let mut hash = Xxh3::new();
            hash.update(&(csr.nrows() as u64).to_le_bytes());
            hash.update(&(csr.ncols() as u64).to_le_bytes());
            hash.update(cast_slice(csr.row_ptr().as_slice()));
            hash.update(cast_slice(csr.col_idx().as_slice()));
            hash.digest()
        };
        let (pattern, values) =
            girih_parallel::join(pattern, || xxh3_64(cast_slice(csr.values().as_slice())));
        Self { dtype: T::DTYPE, pattern, values }
    }
}
