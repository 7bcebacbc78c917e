//! Value types, as the suite's generic code needs them.

use girih_backend::DenseScalar;
use girih_formats::{AnyTiling, Csr, Tiling};
use girih_planner::{Plan, PlanError, Planner};
use half::{bf16, f16};

/// A value type whose matrices can be planned and whose tilings and dense views can be erased: all
/// four.
pub trait Element: DenseScalar {
    /// The tiling, its value type erased.
    fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling;

    /// A matrix of this type, planned.
    ///
    /// # Errors
    /// What the planner refuses it for.
    fn plan(planner: &Planner, a: &Csr<Self>) -> Result<Plan, PlanError>;
}

macro_rules! element {
    ($($t:ty),*) => {$(
        impl Element for $t {
            fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling {
                tiling.into()
            }

            fn plan(planner: &Planner, a: &Csr<Self>) -> Result<Plan, PlanError> {
                planner.plan(a)
            }
        }
    )*};
}

element!(f16, bf16, f32, f64);
