//! Subnormal values: tensor cores align them as the least normal number.

use std::marker::PhantomData;

use girih_backend::DenseScalar;
use girih_formats::{DType, FormatError};
use ndarray::Array2;

use super::problem::{Described, Planned, Run};
use super::rows::RowOrder;
use super::{Suite, specs};
use crate::matrices::{Case, fit, from_fn};
use crate::operands::random;
use crate::random::{hash, one_in, signed};

impl Suite<'_> {
    /// Multiplies subnormal values of A, alone in a row and beside normal ones, with large and small elements of B.
    pub(super) fn subnormal<T: DenseScalar>(&mut self) {
        let least_normal = match T::DTYPE {
            DType::F16 => 2f64.powi(-14),
            _ => f64::from(f32::MIN_POSITIVE),
        };
        let case = small_values(least_normal).and_then(|matrix| {
            let matrix = fit(&matrix, self.kind)?;
            Ok(Case { name: "subnormal values", matrix })
        });
        let case = match case {
            Ok(case) => case,
            Err(error) => return self.report.fail("building the cases", error),
        };
        for spec in specs(self.kind) {
            for rows in [RowOrder::Natural, RowOrder::Shuffled] {
                let planned = Planned { rows, ..Planned::natural(spec) };
                self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                    for n in [16, 33] {
                        // Each row of B has a size of its own, from 2¹² to 2⁻¹³.
                        let mut b: Array2<T> = random(a.ncols(), n, 3);
                        for (j, mut row) in b.rows_mut().into_iter().enumerate() {
                            let scale = 2f64.powi(12 - (j % 26) as i32);
                            row.iter_mut().for_each(|x| *x = T::from_c64(x.to_c64() * scale));
                        }
                        let run = Run::plain(n);
                        let what = Described { case: case.name, planned, run, value: PhantomData };
                        suite.check_product(&what, a, plan, prepared, &b);
                    }
                });
            }
        }
    }
}

/// A matrix of which at least three in four values are below the least normal number. The others are up to eight times
/// as large as it.
fn small_values(least_normal: f64) -> Result<girih_formats::Csr<f64>, FormatError> {
    from_fn(45, 52, |i, j| {
        let is_entry = one_in(6, 23, i, j);
        let scale = match hash(24, i, j) % 4 {
            0 => 8.0,
            1 => 1.0 / 256.0,
            _ => 1.0,
        };
        is_entry.then(|| signed(25, i, j) * scale * least_normal)
    })
}
