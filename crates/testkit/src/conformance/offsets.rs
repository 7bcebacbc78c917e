//! Elements farther than 2³² apart: offsets must not be computed in 32 bits.

use bytemuck::cast_slice_mut;
use girih_backend::{DenseScalar, Product};
use girih_formats::{Complex, Scalar};
use memmap2::{MmapMut, MmapOptions};
use ndarray::{ArrayViewMut2, ShapeBuilder};

use super::Suite;
use super::problem::{Planned, before};
use crate::matrices::{Case, fit, where_};
use crate::operands::random;

/// Rows and columns of A: row 32 of an operand begins past 2³².
const SIZE: usize = 33;
/// Elements from one row of an operand to the next.
const STRIDE: usize = (1 << 27) + 1;

impl Suite<'_> {
    /// B, then C, in address space that is reserved but for the touched pages never backed by memory.
    pub(super) fn large_offsets<T: DenseScalar>(&mut self) {
        let matrix = where_(SIZE, SIZE, |i, j| i == j || (i + 2 * j) % 7 == 0);
        let case = match matrix.and_then(|matrix| fit(&matrix, self.kind)) {
            Ok(matrix) => Case { name: "elements far apart", matrix },
            Err(error) => return self.report.fail("building the cases", error),
        };
        let planned = Planned::natural(self.spec::<T>());
        self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
            for columns_apart in [false, true] {
                let n = if columns_apart { SIZE } else { 3 };
                for far_c in [false, true] {
                    let (mut b, mut c) = (random::<T>(SIZE, n, 1), before::<T>(SIZE, n, 0.0));
                    let expected_b = b.clone();
                    let mut space = match if far_c { reserve::<T::Acc>() } else { reserve::<T>() } {
                        Ok(space) => space,
                        Err(error) => {
                            return suite.report.skipped.push(format!("far elements: {error}"));
                        }
                    };
                    suite.report.checks += 1;
                    let executed = if far_c {
                        let mut far = far_view::<T::Acc>(&mut space, n, columns_apart);
                        far.fill(T::Acc::from_c64(Complex::new(f64::NAN, f64::NAN)));
                        let view = T::erase_acc_mut(far.view_mut());
                        let done = prepared.execute(1.0, T::erase(b.view()), 0.0, view);
                        c.assign(&far);
                        done
                    } else {
                        let mut far = far_view::<T>(&mut space, n, columns_apart);
                        far.assign(&b);
                        b.fill(T::ZERO);
                        let view = T::erase_acc_mut(c.view_mut());
                        prepared.execute(1.0, T::erase(far.view()), 0.0, view)
                    };
                    let product =
                        Product { alpha: 1.0, b: T::erase(expected_b.view()), added: None };
                    let rounding = suite.backend.rounding(plan);
                    let verdict = executed.and_then(|()| {
                        let found = T::erase_acc(c.view());
                        girih_backend::verify(a, plan, &product, &found, rounding)
                    });
                    if !matches!(&verdict, Ok(verdict) if verdict.passed()) {
                        let far = if far_c { "C" } else { "B" };
                        let what = format!("{} {}, {far} over 2³² elements", suite.kind, T::DTYPE);
                        suite.report.fail(&what, format!("{verdict:?}"));
                    }
                }
            }
        });
    }
}

/// Address space for the operand's elements, zeros without memory until they are touched.
fn reserve<E: Scalar>() -> std::io::Result<MmapMut> {
    let elements = (SIZE - 1) * STRIDE + SIZE;
    MmapOptions::new().len(elements * size_of::<E>()).no_reserve_swap().map_anon()
}

/// The space as 33×n with rows far apart, or n columns far apart.
fn far_view<E: Scalar>(space: &mut MmapMut, n: usize, columns_apart: bool) -> ArrayViewMut2<'_, E> {
    let strides = if columns_apart { (1, STRIDE) } else { (STRIDE, 1) };
    let elements = cast_slice_mut::<u8, E>(space);
    match ArrayViewMut2::from_shape((SIZE, n).strides(strides), elements) {
        Ok(view) => view,
        Err(error) => unreachable!("33 rows or columns fit the reserved space: {error}"),
    }
}
