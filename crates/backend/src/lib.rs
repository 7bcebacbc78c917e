//! The [`SpmmBackend`] trait: what multiplies a plan. Run-time selection, verification, and the
//! reference backend that says what is right.
//!
//! A backend prepares a [`Plan`](girih_planner::Plan) once and executes it as often as wanted. Which
//! one is chosen at run time, by a [`Registry`] that gives the reasons for its choice; whether its
//! results are right is what [`mod@verify`] says, against a rigorous error bound.
//!
//! ```
//! use girih_backend::{ReferenceBackend, Registry};
//! use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
//! use girih_planner::Plan;
//! use ndarray::array;
//!
//! // [ 1 0 2 ]
//! // [ 0 3 0 ]
//! let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 2.0, 3.0])?;
//! let spec = FormatSpec::Wcsr { window_rows: 2, pad_cols: 8 };
//! let plan = Plan::from_tiling(Tiling::from_csr(&a, spec, RowLayout::natural(2, 2)?)?);
//!
//! let backends = Registry::new().with(ReferenceBackend);
//! let prepared = backends.best_for(&plan)?.backend.prepare(&plan)?;
//! let b = array![[1.0f32, 0.0], [0.0, 1.0], [1.0, 1.0]];
//! let mut c = array![[f32::NAN, f32::NAN], [f32::NAN, f32::NAN]];
//! prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into())?;
//! assert_eq!(c, array![[3.0, 2.0], [0.0, 3.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod aggregation;
mod b_permutation;
mod backend;
mod dense;
mod epilogue;
mod error;
#[cfg(any(feature = "faer", feature = "nalgebra"))]
#[expect(unsafe_code, reason = "views of other crates' memory")]
mod foreign;
mod lowering;
mod prepare_fn;
pub mod reference;
mod results;
mod sampled_shape;
mod samplers;
mod sddmm;
pub mod select;
mod shape;
mod slice_strides;
pub mod verify;
mod views;

#[cfg(feature = "faer")]
pub use faer;
#[cfg(feature = "nalgebra")]
pub use nalgebra;
/// Its views are the dense operands.
pub use ndarray;

pub use aggregation::Aggregation;
pub use b_permutation::{b_permutation_lowering, with_b_permutation};
pub use backend::{Capabilities, PreparedSpmm, SpmmBackend, real_scaling};
pub use dense::{DenseScalar, DenseView, DenseViewMut};
pub use epilogue::{Activation, Bias, Epilogue};
pub use error::{BackendError, Rejection, Unsupported};
#[cfg(feature = "faer")]
pub use foreign::view_faer;
#[cfg(feature = "nalgebra")]
pub use foreign::view_nalgebra;
pub use lowering::{Decision, Lowering};
pub use prepare_fn::{Operands, prepare_fn};
pub use reference::ReferenceBackend;
pub use results::zeros;
pub use sampled_shape::SampledShape;
pub use samplers::{SampledSelection, Samplers};
pub use sddmm::{SddmmBackend, check_sddmm, no_complex_samples};
pub use select::{Estimate, Registry, Selection};
pub use shape::{ProductShape, put_new_values, put_values_into_plan};
pub use slice_strides::SliceStrides;
pub use verify::{
    ComplexProduct, E4m3Sums, Product, Rounding, SampledProduct, Verification, verify,
    verify_aggregation, verify_complex, verify_sddmm, verify_with,
};
