//! Lay a sparse matrix out in the tiling a machine multiplies fastest, plan the work, and multiply:
//! `C = α·A·B + β·C`, A sparse (m×k), B and C dense (k×n, m×n).
//!
//! Plan once, offline if you like; multiply many times, on whatever backend is there.
//!
//! ```text
//! Csr ── Planner ──► Plan ── save / map ──► Plan ── Registry ──► SpmmBackend::prepare
//!                                                                       │
//!                                      verify ◄── C ◄── PreparedSpmm::execute(α, B, β, C)
//! ```
//!
//! # The short way
//!
//! ```
//! use girih::ndarray::array;
//! use girih::prelude::*;
//!
//! // [ 1 0 2 ]
//! // [ 0 3 0 ]
//! let a = Csr::from_triplets(2, 3, [(0, 0, 1.0f32), (0, 2, 2.0), (1, 1, 3.0)])?;
//! let b = array![[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
//! assert_eq!(girih::spmm(&a, &b)?, array![[3.0, 2.0], [0.0, 3.0]]);
//!
//! // For many products: plan for a number of columns, prepare once.
//! let mut prepared = a.plan(2)?.prepare_on(&girih::CpuBackend::new())?;
//! let mut c = prepared.multiply(&b)?;
//! prepared.multiply_into(2.0, &b, -1.0, &mut c)?;
//! assert_eq!(c, array![[3.0, 2.0], [0.0, 3.0]]);
//!
//! // A vector; new values on the same pattern; the transpose.
//! assert_eq!(prepared.multiply(&array![1.0f32, 1.0, 1.0])?, array![3.0, 3.0]);
//! prepared.refresh(&[10.0f32, 20.0, 30.0])?;
//! assert_eq!(&prepared * &array![1.0f32, 1.0, 1.0], array![30.0, 30.0]);
//! let transposed = a.plan(PlanOptions::new(1).op(Op::Transpose))?.prepare()?;
//! assert_eq!(transposed.multiply(&[1.0f32, 1.0][..])?, [1.0, 3.0, 2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Prepared`] multiplies arrays, vectors, slices and [matrices in slices](DenseView::in_slice). `prepare` takes the
//! backend that is estimated fastest here, `prepare_on` one of the caller's.
//!
//! # From a matrix to a verified product
//!
//! The same step by step, with all there is to choose.
//!
//! ```
//! use girih::ndarray::Array2;
//! use girih::prelude::*;
//!
//! // −u″ on 2000 points: 2 on the diagonal, −1 beside it. Triplets come in any order.
//! let m = 2000u32;
//! let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Vec::new());
//! for i in 0..m {
//!     for (j, value) in [(i, 2.0f32), (i.wrapping_sub(1), -1.0), (i + 1, -1.0)] {
//!         if j < m {
//!             rows.push(i);
//!             cols.push(j);
//!             values.push(value);
//!         }
//!     }
//! }
//! let a = Coo::try_new(m as usize, m as usize, rows, cols, values)?.into_csr(Duplicates::Refuse)?;
//!
//! // Offline: choose a format for products with 32 columns, and save the plan.
//! let plan = Planner::new(PlanOptions::new(32)).plan(&a)?;
//! println!("{}", plan.explanation());
//! let dir = tempfile::tempdir()?;
//! let file = dir.path().join("stencil.girih");
//! plan.save(&file)?;
//!
//! // Later, elsewhere: read it, take the best backend of the machine, prepare once.
//! let plan = Plan::read(&file)?;
//! let backends = girih::backends();
//! let chosen = backends.best_for(&plan)?;
//! let prepared = chosen.backend.prepare(&plan)?;
//!
//! // Multiply as often as wanted. With β = 0, what C holds before does not matter.
//! let b = Array2::from_shape_fn((a.ncols(), 32), |(i, j)| ((i * 7 + j * 3) % 11) as f32);
//! let mut c = Array2::<f32>::zeros((a.nrows(), 32));
//! prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into())?;
//!
//! // Every element is within its rounding error bound of the exact product.
//! let product = Product { alpha: 1.0, b: b.view().into(), added: None };
//! let rounding = chosen.backend.rounding(&plan);
//! let verdict = verify(&a, &plan, &product, &c.view().into(), rounding)?;
//! assert!(verdict.passed(), "{verdict:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A format of one's own choice
//!
//! A [`Tiling`] is built without a planner, and with rows in any order:
//!
//! ```
//! use girih::ndarray::{Array2, array};
//! use girih::prelude::*;
//!
//! let a = Csr::try_new(3, 2, vec![0, 1, 2, 4], vec![1, 0, 0, 1], vec![1.0f32, 2.0, 3.0, 4.0])?;
//! // Rows 1 and 2 share a column: put them in one window of two.
//! let rows = RowLayout::explicit(3, 2, vec![1, 2, 0, girih::PAD_ROW])?;
//! let spec = FormatSpec::Wcsr { window_rows: 2, pad_cols: 8 };
//! let plan = Plan::from_tiling(Tiling::from_csr(&a, spec, rows)?);
//! assert_eq!(plan.spec().to_string(), "wcsr 2/8");
//!
//! // C comes out in the matrix's own order of rows.
//! let prepared = girih::backends().get("reference")?.prepare(&plan)?;
//! let b = array![[1.0f32], [10.0]];
//! let mut c = Array2::<f32>::zeros((3, 1));
//! prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into())?;
//! assert_eq!(c, array![[10.0], [2.0], [43.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Rows in a better order
//!
//! Rows that share columns belong into one window. A plan takes an ordering by name, or chooses one by
//! estimate with [`Reorder::Auto`]; B and C stay in the caller's order.
//!
//! ```
//! use girih::ndarray::Array2;
//! use girih::prelude::*;
//! use girih::reorder::Method;
//!
//! // A ring of 300 vertices whose labels were dealt out by strides of 7.
//! let rows: Vec<u32> = (0..600).map(|e| e / 2 * 7 % 300).collect();
//! let cols: Vec<u32> = (0..600).map(|e| (e / 2 + 1 + e % 2 * 298) * 7 % 300).collect();
//! let a = Coo::try_new(300, 300, rows, cols, vec![1.0f32; 600])?.into_csr(Duplicates::Sum)?;
//!
//! let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
//! let options = PlanOptions::default().format(spec);
//! let natural = Planner::new(options.clone()).plan(&a)?;
//! let by_rcm = options.reorder(Method::Rcm);
//! let ordered = Planner::new(by_rcm.clone()).plan(&a)?;
//! let tiles = |plan: &Plan| plan.tiling().tile_ptr(plan.tiling().n_windows());
//! assert!(tiles(&ordered) < tiles(&natural));
//!
//! let multiply = |plan: &Plan, b: &Array2<f32>| -> Result<_, BackendError> {
//!     let mut c = Array2::<f32>::zeros((300, 4));
//!     let prepared = girih::backends().best_for(plan)?.backend.prepare(plan)?;
//!     prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into())?;
//!     Ok(c)
//! };
//! let b = Array2::from_shape_fn((300, 4), |(i, j)| (i + j) as f32);
//! let c = multiply(&natural, &b)?;
//! assert_eq!(multiply(&ordered, &b)?, c);
//!
//! // A solver keeps its vectors in the plan's order and permutes them at its ends only.
//! let plan = Planner::new(by_rcm.space(Space::Permuted)).plan(&a)?;
//! let order = plan.row_permutation();
//! let permuted = multiply(&plan, &order.apply_dense_rows(b.view())?)?;
//! assert_eq!(order.inverse().apply_dense_rows(permuted.view())?, c);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! | module | what lives there |
//! |---|---|
//! | [`formats`] | [`Csr`] and the five tilings, conversions, statistics, files, other crates' types |
//! | [`reorder`] | permutations, reverse Cuthill–McKee, windows of rows that share columns, metrics |
//! | [`planner`] | format choice, schedules, [`Plan`], plan files |
//! | [`backend`] | the [`SpmmBackend`] trait, run-time selection, verification, the reference backend |
//! | [`cpu`] | the CPU backend: rayon tasks and SIMD kernels |
//! | [`cuda`] | the CUDA backend: kernels compiled at run time, operands on the device |
//!
//! A backend of one's own implements [`SpmmBackend`] and joins the [`Registry`]:
//! `girih::backends().prefer(MyBackend)`.
//!
//! # Features
//! - `cpu` (default): the CPU backend. Its parts are features too: `cpu-portable`, `cpu-avx2` and `cpu-avx512` are the
//!   kernels of instruction sets, for f32 and c32; `cpu-f64` adds f64 and c64, `cpu-half` f16 and bf16.
//! - `cuda` (default): the CUDA backend. It builds and links without CUDA, and is unavailable, with the
//!   reason, where there is no driver.
//! - `ndarray`, `petgraph`, `sprs` (default): a [`Csr`] from and to the types of these crates, which
//!   [`formats::interop`] re-exports; `ndarray` also has dense matrices in numpy's `.npy` files.
//! - `nalgebra`, `faer`: matrices and vectors of these crates as [operands](Operand), in place, and products
//!   of their kind.

#![forbid(unsafe_code)]

mod short;

pub use girih_backend as backend;
#[cfg(feature = "cpu-portable")]
pub use girih_backend_cpu as cpu;
#[cfg(feature = "cuda")]
pub use girih_backend_cuda as cuda;
pub use girih_formats as formats;
pub use girih_planner as planner;
pub use girih_reorder as reorder;

#[cfg(feature = "faer")]
pub use girih_backend::faer;
#[cfg(feature = "nalgebra")]
pub use girih_backend::nalgebra;
pub use girih_backend::ndarray;
pub use girih_backend::{
    Activation, Aggregation, BackendError, Bias, Capabilities, ComplexProduct, DenseScalar,
    DenseView, DenseViewMut, Epilogue, Estimate, Lowering, PreparedSpmm, Product, ProductShape,
    ReferenceBackend, Registry, Rejection, Rounding, SampledSelection, SampledShape, Samplers,
    SddmmBackend, Selection, SpmmBackend, Unsupported, Verification, verify, verify_complex,
    verify_with,
};
#[cfg(feature = "cpu-portable")]
pub use girih_backend_cpu::CpuBackend;
#[cfg(feature = "cuda")]
pub use girih_backend_cuda::{CudaBackend, CudaKernels, CudaOptions};
pub use girih_formats::{
    AnyTiling, Buffer, Complex, Coo, Csr, DType, Duplicates, FormatError, FormatKind, FormatSpec,
    Narrowing, PAD_COL, PAD_ROW, Real, RowLayout, Scalar, Tiling, bf16, f16, for_any_tiling,
};
pub use girih_planner::file::{LoadOptions, PlanFileError};
pub use girih_planner::schedule::Reduction;
pub use girih_planner::{
    DeviceSpec, FormatChoice, Kernels, Op, Plan, PlanError, PlanOptions, Planner, Precision,
    Reorder, Schedule, Space,
};
pub use girih_reorder::{Permutation, ReorderError};
pub use short::{
    Operand, PlanMatrix, PlanPair, PreparePlan, Prepared, PreparedMany, PreparedPair, SpmmError,
    sddmm, sddmm_into, spmm,
};

/// What a program that plans and multiplies needs by name: `use girih::prelude::*`.
pub mod prelude {
    pub use crate::{
        Activation, Aggregation, BackendError, Complex, Coo, Csr, DType, Duplicates, Epilogue,
        FormatChoice, FormatKind, FormatSpec, LoadOptions, Op, Permutation, Plan, PlanMatrix,
        PlanOptions, Planner, PreparePlan, Prepared, PreparedSpmm, Product, Registry, Reorder,
        RowLayout, Scalar, Space, SpmmBackend, Tiling, verify,
    };
}

/// The backends this build has, fastest first: the CUDA backend (with feature `cuda`) on device 0, the
/// CPU backend (with feature `cpu`), and last the reference backend, which runs everything, slowly.
///
/// The CUDA backend finds libraries where the system's loader does and compiles its kernels in every
/// process; [`backends_with`] says otherwise.
///
/// ```
/// # #[cfg(all(feature = "cpu-portable", feature = "cuda"))]
/// assert!(girih::backends().iter().map(|b| b.name()).eq(["cuda", "cpu", "reference"]));
/// for report in girih::backends().report() {
///     match report.capabilities {
///         Ok(can) => println!("{}: {} formats on {}", report.backend, can.formats.len(), can.device),
///         Err(error) => println!("{error}"),
///     }
/// }
/// ```
#[must_use]
pub fn backends() -> Registry {
    #[cfg(feature = "cuda")]
    return backends_with(CudaOptions::default());
    #[cfg(not(feature = "cuda"))]
    host_backends()
}

/// The same [`backends`], with the CUDA backend set up as `cuda` says: its device, the folder it keeps
/// compiled kernels in, where it looks for libraries.
#[cfg(feature = "cuda")]
#[must_use]
pub fn backends_with(cuda: CudaOptions) -> Registry {
    host_backends().prefer(CudaBackend::new(cuda))
}

/// The same backends as samplers, in the same order: what [`sddmm`] chooses among.
///
/// ```
/// # #[cfg(all(feature = "cpu-portable", feature = "cuda"))]
/// assert!(girih::samplers().iter().map(|(name, _)| name).eq(["cuda", "cpu", "reference"]));
/// ```
#[must_use]
pub fn samplers() -> Samplers {
    #[cfg(feature = "cuda")]
    return host_samplers().prefer("cuda", CudaBackend::new(CudaOptions::default()));
    #[cfg(not(feature = "cuda"))]
    host_samplers()
}

/// The kernels that this build's backends have for a device, for [`PlanOptions::kernels`]: the CUDA
/// backend's for a GPU (with feature `cuda`), every format for a CPU.
///
/// ```
/// # #[cfg(feature = "cuda")] {
/// use girih::prelude::*;
/// use girih::DeviceSpec;
///
/// let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32, 2.0, 3.0])?;
/// let target = DeviceSpec::builtin("h200").unwrap();
/// let kernels = girih::kernels_for(&target);
/// let plan = Planner::new(PlanOptions::default().target(target).kernels(kernels)).plan(&a)?;
/// assert_eq!(plan.options().target.name, "NVIDIA H200");
/// # }
/// # Ok::<(), girih::PlanError>(())
/// ```
#[must_use]
pub fn kernels_for(device: &DeviceSpec) -> Kernels {
    match device.kind {
        #[cfg(feature = "cuda")]
        girih_planner::device::DeviceKind::Cuda => Kernels::new(CudaKernels),
        _ => Kernels::default(),
    }
}

/// The backends that need nothing but the processor.
fn host_backends() -> Registry {
    let registry = Registry::new();
    #[cfg(feature = "cpu-portable")]
    let registry = registry.with(CpuBackend::new());
    registry.with(ReferenceBackend)
}

/// The samplers that need nothing but the processor.
fn host_samplers() -> Samplers {
    let samplers = Samplers::new();
    #[cfg(feature = "cpu-portable")]
    let samplers = samplers.with("cpu", CpuBackend::new());
    samplers.with("reference", ReferenceBackend)
}

/// The README's examples, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
