//! The real and the imaginary parts of a tiling of complex values.

use girih_parallel::prelude::*;

use super::{Bcsr, RowCsr, Tiling};
use crate::scalar::ComplexScalar;

impl<T: ComplexScalar> Tiling<T> {
    /// The same tiles with the real part of each value, zeros that fill tiles up included: the offsets, columns and
    /// layout are shared. `None` but for CSR and BCSR. O(values stored), in parallel.
    ///
    /// ```
    /// use girih_formats::{Complex, Csr, FormatSpec, RowLayout, Tiling};
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 1, Complex::new(2.0f64, 3.0))])?;
    /// let blocks = FormatSpec::Bcsr { block_rows: 2, block_cols: 2 };
    /// let tiling = Tiling::from_csr(&a, blocks, RowLayout::natural(2, 2)?)?;
    /// let values = tiling.re().and_then(|re| re.values().cloned());
    /// assert_eq!(values.unwrap()[..], [0.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    #[must_use]
    pub fn re(&self) -> Option<Tiling<T::Part>> {
        self.part(T::re)
    }

    /// The same for the imaginary parts.
    #[must_use]
    pub fn im(&self) -> Option<Tiling<T::Part>> {
        self.part(T::im)
    }

    fn part(&self, part: impl Fn(T) -> T::Part + Sync + Send) -> Option<Tiling<T::Part>> {
        match self {
            Self::Csr(t) => {
                let csr = t.csr().with_each_value(part);
                Some(Tiling::Csr(RowCsr::from_parts(t.layout().clone(), csr)))
            }
            Self::Bcsr(t) => {
                let mut values: Vec<T::Part> = bytemuck::zeroed_vec(t.values().len());
                let from = t.values().par_iter().with_min_len(1 << 14);
                from.map(|value| part(*value)).write_to(&mut values);
                Some(Tiling::Bcsr(Bcsr::from_parts(
                    t.layout().clone(),
                    t.ncols(),
                    t.nnz(),
                    t.block_cols(),
                    t.block_row_ptr().clone(),
                    t.block_col_idx().clone(),
                    values.into(),
                )))
            }
            Self::Wcsr(_)
            | Self::BlockedEll(_)
            | Self::BMat(_)
            | Self::TwoFour(_)
            | Self::Hybrid(_) => None,
        }
    }
}
