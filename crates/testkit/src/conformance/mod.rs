//! The suite that every backend must pass.
//!
//! [`run`] puts a backend through one format and value type; [`conformance_tests!`](crate::conformance_tests)
//! stamps a test for each. Every product is compared, element by element, with the rigorous bound of
//! [`mod@girih_backend::verify`]; see the modules for what is covered.

mod aggregations;
mod complex;
mod epilogue;
mod errors;
mod new_values;
mod non_finite;
mod offsets;
mod orders;
mod outputs;
mod problem;
mod repeat;
mod report;
mod rows;
mod sampled;
mod schedules;
mod shapes;
mod subnormal;
mod views;

use girih_backend::{BackendError, DenseScalar, SpmmBackend};
use girih_formats::{Complex, ComplexScalar, DType, FormatKind, FormatSpec, Real};
use half::{bf16, f16};

use crate::matrices::{Case, cases};
use crate::random::hash;
pub use report::{Failure, Report};
pub use sampled::{run_sddmm, run_sddmm_in_turns};

/// How much of a format a backend that takes it must take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every block and window size, schedule and row order: what a general backend promises.
    EverySpec,
    /// Whatever it says it supports, and something at least: for kernels of fixed tile sizes.
    SupportedSpecs,
}

/// How many of a plan's products [`run_in_turns`] computes: one of these.
const TURNS: usize = 3;

/// What one run works on.
struct Suite<'a> {
    backend: &'a dyn SpmmBackend,
    kind: FormatKind,
    cases: Vec<Case>,
    report: Report,
    /// One of this many products of a plan is computed; which ones changes from plan to plan.
    turns: usize,
    /// Plans that took a turn.
    plans: usize,
}

/// Puts a backend through everything, on one format and value type.
///
/// The report has failures if the backend does not claim the two, and holds the first few hundred
/// failures at most. O(seconds).
#[must_use]
pub fn run(backend: &dyn SpmmBackend, kind: FormatKind, dtype: DType) -> Report {
    run_every(1, backend, kind, dtype)
}

/// Puts a backend through every check of [`run`], on every plan, with a third of the products.
///
/// Lists of products are for each plan the same: numbers of columns, scales, operands' layouts, bias and
/// activation. Here each plan takes a third of its list, and another third than the plans before it. So every
/// plan is multiplied, and every kind of product is computed, but not each with each. For slow backends, an
/// emulated device say, whose kernels [`run`] has proven with another value type.
#[must_use]
pub fn run_in_turns(backend: &dyn SpmmBackend, kind: FormatKind, dtype: DType) -> Report {
    run_every(TURNS, backend, kind, dtype)
}

fn run_every(turns: usize, backend: &dyn SpmmBackend, kind: FormatKind, dtype: DType) -> Report {
    let report = Report::default();
    let mut suite = Suite { backend, kind, cases: Vec::new(), report, turns, plans: 0 };
    match cases(kind) {
        Ok(cases) => suite.cases = cases,
        Err(error) => suite.report.fail("building the cases", error),
    }
    match backend.capabilities() {
        Err(error) => suite.report.fail("capabilities", error),
        Ok(can) if !can.formats.contains(&kind) || !can.dtypes.contains(&dtype) => {
            suite.report.fail("capabilities", format!("{kind} {dtype} is not among them"));
        }
        Ok(_) => match dtype {
            DType::F16 => suite.run_real::<f16>(),
            DType::Bf16 => suite.run_real::<bf16>(),
            DType::F32 => suite.run_real::<f32>(),
            DType::F64 => suite.run_real::<f64>(),
            DType::C32 => suite.run_complex::<Complex<f32>>(),
            DType::C64 => suite.run_complex::<Complex<f64>>(),
        },
    }
    suite.report
}

/// Checks that a backend refuses, with a reason, every format and value type that it does not claim.
#[must_use]
pub fn run_refusals(backend: &dyn SpmmBackend) -> Report {
    let mut report = Report::default();
    let can = match backend.capabilities() {
        Ok(can) => can,
        Err(error) => {
            report.fail("capabilities", error);
            return report;
        }
    };
    for kind in FormatKind::ALL {
        for dtype in DType::ALL {
            if can.formats.contains(&kind) && can.dtypes.contains(&dtype) {
                continue;
            }
            let spec = specs(kind)[0];
            let plan = match dtype {
                DType::F16 => problem::small_plan::<f16>(spec),
                DType::Bf16 => problem::small_plan::<bf16>(spec),
                DType::F32 => problem::small_plan::<f32>(spec),
                DType::F64 => problem::small_plan::<f64>(spec),
                DType::C32 => problem::small_plan::<Complex<f32>>(spec),
                DType::C64 => problem::small_plan::<Complex<f64>>(spec),
            };
            report.checks += 1;
            let refused = plan.map(|plan| {
                let supports = backend.supports(&plan).map_err(|u| u.to_string());
                (supports, matches!(backend.prepare(&plan), Err(BackendError::Unsupported { .. })))
            });
            match refused {
                Err(error) => report.fail("planning", error),
                Ok((Err(reason), true)) if !reason.is_empty() => {}
                Ok(other) => report.fail(
                    &format!("{spec} {dtype}"),
                    format!("not claimed, but not refused with a reason either: {other:?}"),
                ),
            }
        }
    }
    report
}

/// Runs the suite and panics with a summary if the backend does not pass.
///
/// # Panics
/// If it does not.
pub fn assert_conforms(
    backend: &dyn SpmmBackend,
    kind: FormatKind,
    dtype: DType,
    coverage: Coverage,
) {
    run(backend, kind, dtype).assert(backend.name(), kind, dtype, coverage);
}

/// Runs the suite [in turns](run_in_turns) and panics with a summary if the backend does not pass.
///
/// # Panics
/// If it does not.
pub fn assert_conforms_in_turns(
    backend: &dyn SpmmBackend,
    kind: FormatKind,
    dtype: DType,
    coverage: Coverage,
) {
    run_in_turns(backend, kind, dtype).assert(backend.name(), kind, dtype, coverage);
}

/// The block and window sizes a format is tested with; a size that divides nothing among them.
#[must_use]
pub fn specs(kind: FormatKind) -> Vec<FormatSpec> {
    let bcsr = |(block_rows, block_cols)| FormatSpec::Bcsr { block_rows, block_cols };
    let wcsr = |(window_rows, pad_cols)| FormatSpec::Wcsr { window_rows, pad_cols };
    let hybrid = |(window_rows, pad_cols, tile_entries)| FormatSpec::Hybrid {
        window_rows,
        pad_cols,
        tile_entries,
    };
    match kind {
        FormatKind::Csr => vec![FormatSpec::Csr],
        FormatKind::Bcsr => [(8, 8), (1, 1), (3, 5), (4, 1), (16, 16), (64, 64)].map(bcsr).to_vec(),
        FormatKind::Wcsr => [(16, 8), (8, 8), (64, 16), (5, 3), (1, 1)].map(wcsr).to_vec(),
        FormatKind::BlockedEll => {
            [16, 1, 3, 4, 64].map(|block_size| FormatSpec::BlockedEll { block_size }).to_vec()
        }
        FormatKind::BMat => {
            [false, true].map(|pattern_only| FormatSpec::BMat { pattern_only }).to_vec()
        }
        FormatKind::TwoFour => vec![FormatSpec::TwoFour],
        // Half of the windows of most cases are packed; then all, and none.
        FormatKind::Hybrid => {
            [(16, 8, 16), (8, 8, 12), (64, 16, 40), (5, 3, 4), (16, 8, 1), (8, 8, 1 << 20)]
                .map(hybrid)
                .to_vec()
        }
    }
}

impl Suite<'_> {
    /// What real values have besides.
    fn run_real<T: DenseScalar + Real>(&mut self) {
        self.run::<T>();
        self.epilogues::<T>();
        self.outputs::<T>();
        self.aggregations::<T>();
    }

    /// What complex values have besides.
    fn run_complex<T: DenseScalar + ComplexScalar>(&mut self) {
        self.run::<T>();
        self.complex_scaling::<T>();
        self.refuses_what_is_real::<T>();
    }

    fn run<T: DenseScalar>(&mut self) {
        self.shapes::<T>();
        self.scaling::<T>();
        self.views::<T>();
        self.row_orders::<T>();
        self.orderings::<T>();
        self.permuted_b::<T>();
        self.schedules::<T>();
        self.non_finite::<T>();
        self.subnormal::<T>();
        self.repetition::<T>();
        self.threads::<T>();
        self.new_values::<T>();
        self.errors::<T>();
        self.large_offsets::<T>();
    }

    /// The size of the format that is tested where one is enough: the first that is supported.
    fn spec<T: DenseScalar>(&self) -> FormatSpec {
        let all = specs(self.kind);
        let supported = all.iter().find(|&&spec| {
            problem::small_plan::<T>(spec).is_ok_and(|plan| self.backend.supports(&plan).is_ok())
        });
        *supported.unwrap_or(&all[0])
    }

    /// Which products of a plan's list are computed: all, or those whose turn it is.
    fn turn(&mut self, len: usize) -> impl Fn(usize) -> bool + use<> {
        // A hash, since the loops over plans have periods of their own.
        let (turns, first) = (self.turns.clamp(1, len.max(1)), hash(17, self.plans, len) as usize);
        self.plans += 1;
        move |i| (i + first % turns) % turns == 0
    }

    /// The cases of these names; a name that is none of theirs is a failure.
    fn named(&mut self, names: &[&str]) -> Vec<Case> {
        let found: Vec<_> =
            self.cases.iter().filter(|case| names.contains(&case.name)).cloned().collect();
        if found.len() != names.len() {
            self.report.fail("choosing cases", format!("not all of {names:?} exist"));
        }
        found
    }
}

/// Stamps one test per format and value type, and one for what the backend does not claim.
///
/// The first argument is an expression that makes the backend, the second a [`Coverage`]. A list of
/// formats may follow, if the backend does not take all: `formats: [csr, bcsr]`, and a list of value
/// types: `dtypes: [f16, bf16]`.
#[macro_export]
macro_rules! conformance_tests {
    ($backend:expr, $coverage:expr) => {
        $crate::conformance_tests!($backend, $coverage,
            formats: [csr, bcsr, wcsr, blocked_ell, bmat, two_four]);
    };
    ($backend:expr, $coverage:expr, formats: [$($format:ident),*]) => {
        $crate::conformance_tests!($backend, $coverage,
            formats: [$($format),*], dtypes: [f16, bf16, f32, f64]);
    };
    ($backend:expr, $coverage:expr, formats: [$($format:ident),*], dtypes: $dtypes:tt) => {
        $($crate::conformance_tests!(@format $backend, $coverage, $format, $dtypes);)*

        #[test]
        fn refuses_the_rest() {
            let report = $crate::conformance::run_refusals(&$backend);
            assert!(report.failures.is_empty(), "{report}");
        }
    };
    (@format $backend:expr, $coverage:expr, $format:ident, [$($dtype:ident),*]) => {
        mod $format {
            use super::*;

            $(#[test]
            fn $dtype() {
                $crate::conformance::assert_conforms(
                    &$backend,
                    $crate::conformance::named_format(stringify!($format)),
                    $crate::conformance::named_dtype(stringify!($dtype)),
                    $coverage,
                );
            })*
        }
    };
}

/// The format of a test's name.
///
/// # Panics
/// If there is none of that name.
#[must_use]
pub fn named_format(name: &str) -> FormatKind {
    name.replace('_', "-").parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The value type of a test's name.
///
/// # Panics
/// If there is none of that name.
#[must_use]
pub fn named_dtype(name: &str) -> DType {
    name.parse().unwrap_or_else(|error| panic!("{error}"))
}
