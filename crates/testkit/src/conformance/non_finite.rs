//! NaN and Inf: they go where a stored entry takes them, and padding takes them nowhere.

use std::marker::PhantomData;

use girih_formats::{Complex, FormatError, FormatKind};
use ndarray::Array2;

use super::problem::{Described, Planned, Run};
use super::rows::RowOrder;
use super::{Suite, specs};
use crate::matrices::{Case, fit, from_fn, where_};
use crate::operands::{Layout, random};
use crate::random::{hash, one_in, signed};
use girih_backend::DenseScalar;

/// What stands in some rows of B.
const POISONS: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

impl Suite<'_> {
    pub(super) fn non_finite<T: DenseScalar>(&mut self) {
        let poisoned = match poisoned_cases() {
            Ok(cases) => cases,
            Err(error) => return self.report.fail("building the cases", error),
        };
        for (name, matrix, is_poisoned) in poisoned {
            let case = match fit(&matrix, self.kind) {
                Ok(matrix) => Case { name, matrix },
                Err(error) => return self.report.fail("building the cases", error),
            };
            for spec in specs(self.kind) {
                for rows in [RowOrder::Natural, RowOrder::Shuffled] {
                    for tiles_per_task in [None, Some(1)] {
                        let planned = Planned { rows, tiles_per_task, ..Planned::natural(spec) };
                        self.check_poisoned::<T>(&case, planned, is_poisoned);
                    }
                }
                // Two of four columns may not be two of four of others.
                if self.kind != FormatKind::TwoFour {
                    let rows = RowOrder::Shuffled;
                    let planned = Planned { rows, permutes_b: true, ..Planned::natural(spec) };
                    self.check_poisoned::<T>(&case, planned, is_poisoned);
                }
            }
        }
        self.alpha_zero::<T>();
    }

    /// Multiplies with B's rows poisoned where `is_poisoned` says so.
    fn check_poisoned<T: DenseScalar>(
        &mut self,
        case: &Case,
        planned: Planned,
        is_poisoned: fn(usize) -> bool,
    ) {
        self.with_plan::<T>(case, planned, |suite, a, plan, prepared| {
            for (i, poison) in POISONS.into_iter().enumerate() {
                let beta = if i == 1 { 0.5 } else { 0.0 };
                let c = if i == 2 { Layout::ColMajor } else { Layout::RowMajor };
                let run = Run { beta, c, ..Run::plain([7, 33, 17][i]) };
                let mut b: Array2<T> = random(a.ncols(), run.n, 1);
                for (j, mut row) in b.rows_mut().into_iter().enumerate() {
                    if is_poisoned(j) {
                        // Not every column, so that a kernel which tests whole rows is found out.
                        row.iter_mut()
                            .step_by(2)
                            .for_each(|x| *x = T::from_c64(Complex::new(poison, 0.5)));
                    }
                }
                let what = Described { case: case.name, planned, run, value: PhantomData };
                suite.check_product(&what, a, plan, prepared, &b);
            }
        });
    }

    /// With α = 0, B is not read.
    fn alpha_zero<T: DenseScalar>(&mut self) {
        for case in self.named(&["sparse"]) {
            for spec in specs(self.kind) {
                let planned = Planned::natural(spec);
                self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                    for beta in [0.0, 1.0, 0.5] {
                        let run = Run { alpha: 0.0, beta, ..Run::plain(7) };
                        let b = Array2::from_elem(
                            (a.ncols(), 7),
                            T::from_c64(Complex::new(f64::NAN, f64::NAN)),
                        );
                        let what = Described { case: case.name, planned, run, value: PhantomData };
                        suite.check_product(&what, a, plan, prepared, &b);
                    }
                });
            }
        }
    }
}

type Poisoned = (&'static str, girih_formats::Csr<f64>, fn(usize) -> bool);

/// Matrices, and the rows of B that are poisoned with them.
fn poisoned_cases() -> Result<Vec<Poisoned>, FormatError> {
    let absent = |j: usize| one_in(3, 21, j, 0);
    let in_values = from_fn(21, 19, |i, j| match hash(17, i, j) % 40 {
        0 => Some(f64::NAN),
        1 => Some(f64::INFINITY),
        2 => Some(f64::NEG_INFINITY),
        3..10 => Some(signed(18, i, j)),
        _ => None,
    })?;
    let zeros = from_fn(23, 21, |i, j| match hash(19, i, j) % 8 {
        0 => Some(0.0),
        1 => Some(signed(18, i, j)),
        _ => None,
    })?;
    Ok(vec![
        // Column 0 is what careless padding points at.
        (
            "NaN under padding: column 0 absent",
            where_(37, 43, |i, j| j > 0 && one_in(12, 7, i, j))?,
            |j| j == 0,
        ),
        (
            "NaN under padding: first columns absent, few entries",
            where_(90, 70, |i, j| j > 20 && one_in(200, 7, i, j))?,
            |j| j <= 20,
        ),
        (
            "NaN in every absent column",
            where_(37, 61, |i, j| !absent(j) && one_in(9, 7, i, j))?,
            |j| one_in(3, 21, j, 0),
        ),
        // The last group, block or tile is ragged: what lies past k must not wrap around.
        ("NaN in a ragged last column", where_(35, 33, |i, j| one_in(6, 9, i, j))?, |j| j == 32),
        ("NaN in a used column", where_(37, 29, |i, j| one_in(6, 7, i, j))?, |j| j == 13),
        ("NaN and Inf in A", in_values, |_| false),
        ("explicit zeros multiply NaN", zeros, |j| j % 5 == 0),
        ("NaN above a matrix without entries", where_(20, 9, |_, _| false)?, |_| true),
    ])
}
