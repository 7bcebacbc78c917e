//! NVIDIA's libraries on a device: cuSPARSE through the conformance suite, cuBLASLt against the oracle.

mod common;

use std::sync::Arc;

use girih_backend::{ComplexProduct, DenseScalar, Product, SpmmBackend, verify, verify_complex};
use girih_backend_cuda::kernels::{check, disassemble};
use girih_backend_cuda::{Arch, Jit};
use girih_cuda_libraries::{
    CsrAlgorithm, CublasLt, CublasLtOptions, CudaRoofline, CusparseBackend, CusparseOptions,
    DenseYardstick, TimedOperands, TimedProducts, roofline_kernel,
};
use girih_formats::{
    Complex, ComplexScalar, Csr, DType, FormatKind, FormatSpec, RowLayout, Tiling,
};
use girih_generate::rmat;
use girih_planner::{Plan, PlanOptions, Planner};
use girih_testkit::conformance::{named_dtype, run, run_refusals};
use girih_testkit::machine::{self, is_available};
use girih_testkit::matrices::{typed, where_};
use girih_testkit::operands::random;
use ndarray::Array2;

/// The backend with these options; `None`, with a note, where there is no device or no library.
fn cusparse(mut options: CusparseOptions) -> Option<CusparseBackend> {
    common::backend()?;
    options.libraries = common::libraries();
    let backend = CusparseBackend::new(options);
    is_available(&backend.capabilities().map(|_| ())).then_some(backend)
}

/// The conformance suite, but for what the library is known to do: its products of CSR read the first row of B
/// where they pad.
fn conforms(backend: &CusparseBackend, kind: FormatKind, dtype: DType) {
    let mut report = run(backend, kind, dtype);
    let all = report.failures.len();
    report.failures.retain(|failure| !(kind == FormatKind::Csr && failure.reads_first_row));
    let leaked = all - report.failures.len();
    assert!(report.passed(), "cuSPARSE on {kind} {dtype}, {leaked} leaks aside: {report}");
    assert!(kind != FormatKind::Csr || leaked > 0, "row 0 is not read any more: say so");
}

macro_rules! conforms {
    ($format:ident, $($dtype:ident),*) => {
        mod $format {
            use super::*;

            $(#[test]
            fn $dtype() {
                let options = CusparseOptions::default().tf32(true);
                let Some(backend) = cusparse(options) else { return };
                let kind = stringify!($format).replace('_', "-").parse::<FormatKind>().unwrap();
                let dtype = named_dtype(stringify!($dtype));
                conforms(&backend, kind, dtype);
            })*
        }
    };
}

/// Products of complex values by complex factors.
fn complex_products_are_right<T: DenseScalar + ComplexScalar>() {
    let Some(backend) = cusparse(CusparseOptions::default()) else { return };
    let a = typed::<T>(&where_(90, 70, |i, j| (i * 7 + j * 3) % 11 < 2).unwrap());
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap());
    let prepared = backend.prepare(&plan).unwrap();
    let (alpha, beta) = (Complex::new(0.5, -1.5), Complex::new(-0.75, 0.25));
    for n in [1, 8, 33] {
        let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(a.nrows(), n, 2));
        let mut c = before.clone();
        let into = T::erase_acc_mut(c.view_mut());
        prepared.execute_complex(alpha, T::erase(b.view()), beta, into).unwrap();
        let added = Some((beta, T::erase_acc(before.view())));
        let product = ComplexProduct { alpha, b: T::erase(b.view()), added };
        let rounding = backend.rounding(&plan);
        let verdict = verify_complex(&a, &plan, &product, &T::erase_acc(c.view()), rounding);
        assert!(verdict.unwrap().passed(), "{}, n = {n}", T::DTYPE);
    }
}

#[test]
fn complex_products_of_csr_are_right() {
    complex_products_are_right::<Complex<f32>>();
    complex_products_are_right::<Complex<f64>>();
}

conforms!(csr, f16, bf16, f32, f64);
conforms!(bcsr, f16, bf16, f32, f64);
conforms!(blocked_ell, f16, bf16, f32, f64);

#[test]
fn refuses_the_rest() {
    let Some(backend) = cusparse(CusparseOptions::default()) else { return };
    let report = run_refusals(&backend);
    assert!(report.failures.is_empty(), "{report}");
}

/// Entries of several lengths of row, an empty row among them.
fn matrix(nrows: usize, ncols: usize) -> Csr<f32> {
    let dense = Array2::from_shape_fn((nrows, ncols), |(i, j)| {
        if i % 5 != 2 && (i * 7 + j * 13) % (i % 9 + 2) == 0 {
            (i + j) as f32 / 64.0 - 1.0
        } else {
            0.0
        }
    });
    Csr::from_dense(dense.view()).unwrap()
}

fn plan(a: &Csr<f32>, spec: FormatSpec, n: usize) -> Plan {
    let options = PlanOptions::new(n).format(spec);
    Planner::new(options).plan(a).unwrap()
}

#[test]
fn every_algorithm_multiplies_narrow_and_wide() {
    let a = matrix(300, 200);
    for csr in [CsrAlgorithm::One, CsrAlgorithm::Two, CsrAlgorithm::Three] {
        for preprocess in [false, true] {
            let options = CusparseOptions::default().csr(csr).preprocess(preprocess);
            let Some(backend) = cusparse(options) else { return };
            let plan = plan(&a, FormatSpec::Csr, 64);
            let prepared = backend.prepare(&plan).unwrap();
            // As wide as was expected, narrower, and wider than any buffer was sized for.
            for n in [64, 1, 7, 65, 1200] {
                let (b, before) = (random::<f32>(200, n, 1), random::<f32>(300, n, 2));
                let mut c = before.clone();
                prepared.execute(2.0, b.view().into(), -0.5, c.view_mut().into()).unwrap();
                let added = Some((-0.5, before.view().into()));
                let product = Product { alpha: 2.0, b: b.view().into(), added };
                let rounding = backend.rounding(&plan);
                let verdict = verify(&a, &plan, &product, &c.view().into(), rounding).unwrap();
                assert!(verdict.passed(), "{csr:?}, analysed {preprocess}, n = {n}: {verdict:?}");
            }
        }
    }
}

#[test]
fn timed_products_are_right() {
    let Some(backend) = common::backend() else { return };
    let a = rmat::<f32>(12, 40, 1).unwrap();
    let plan = plan(&a, FormatSpec::Csr, 48);
    let b = random::<f32>(a.ncols(), 48, 1);
    let prepared = backend.prepare_device(&plan).unwrap();
    let operands = Arc::new(TimedOperands::new(&prepared, &b.view()).unwrap());
    assert!(operands.copies() >= 2);
    let mut products = TimedProducts::new(prepared, operands).unwrap();
    products.poison().unwrap();
    assert!(products.time(3).unwrap() > std::time::Duration::ZERO);
    let mut c = Array2::<f32>::zeros((a.nrows(), 48));
    products.last(c.view_mut()).unwrap();
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let verdict = verify(&a, &plan, &product, &c.view().into(), backend.rounding(&plan)).unwrap();
    assert!(verdict.passed(), "{verdict:?}");
}

#[test]
fn timed_products_of_whole_blocks_are_right() {
    let options = CusparseOptions::default().tf32(true);
    let Some(backend) = cusparse(options) else { return };
    // Neither a multiple of the block.
    let a = matrix(300, 201);
    let b = random::<f32>(201, 48, 1);
    let spec = FormatSpec::BlockedEll { block_size: 32 };
    let plan = plan(&a, spec, 48);
    let prepared = backend.prepare_device(&plan).unwrap();
    assert!(prepared.operand_rows().c == 320 && prepared.operand_rows().b >= 224);
    let operands = Arc::new(TimedOperands::new(&prepared, &b.view()).unwrap());
    let mut products = TimedProducts::new(prepared, operands).unwrap();
    products.poison().unwrap();
    products.time(2).unwrap();
    let mut c = Array2::<f32>::zeros((300, 48));
    products.last(c.view_mut()).unwrap();
    let product = Product { alpha: 1.0, b: b.view().into(), added: None };
    let verdict = verify(&a, &plan, &product, &c.view().into(), backend.rounding(&plan)).unwrap();
    assert!(verdict.passed(), "{verdict:?}");
}

#[test]
fn f32_in_blocked_ell_is_multiplied_where_tf32_is_allowed() {
    let Some(backend) = cusparse(CusparseOptions::default()) else { return };
    let spec = FormatSpec::BlockedEll { block_size: 16 };
    let reason = backend.supports(&plan(&matrix(64, 64), spec, 8)).unwrap_err().to_string();
    assert!(reason.contains("TF32"), "{reason}");
}

#[test]
fn the_dense_yardstick_is_right() {
    if common::backend().is_none() {
        return;
    }
    let a = matrix(300, 200);
    let b = random::<f32>(200, 64, 1);
    for tf32 in [false, true] {
        let libraries = common::libraries();
        let yardstick = DenseYardstick::new(
            CublasLtOptions::default().libraries(libraries).device(0).tf32(tf32),
        );
        if !is_available(&yardstick.describe().map(|_| ())) {
            return;
        }
        let plan = plan(&a, FormatSpec::Csr, 64);
        let prepared = yardstick.prepare_device(&plan).unwrap();
        let operands = Arc::new(TimedOperands::new(&prepared, &b.view()).unwrap());
        let mut products = TimedProducts::new(prepared, operands).unwrap();
        products.poison().unwrap();
        products.time(1).unwrap();
        let mut c = Array2::<f32>::zeros((300, 64));
        products.last(c.view_mut()).unwrap();
        let product = Product { alpha: 1.0, b: b.view().into(), added: None };
        let rounding = yardstick.rounding(plan.dtype());
        let verdict = verify(&a, &plan, &product, &c.view().into(), rounding).unwrap();
        assert!(verdict.passed(), "tf32 {tf32}: {verdict:?}");
    }
}

#[test]
fn a_device_reaches_what_such_devices_reach() {
    let Some(backend) = common::backend() else { return };
    let dense = CublasLt::load(&common::libraries()).ok().map(Arc::new);
    let roofline = CudaRoofline::measure(&backend, dense.as_ref()).unwrap();
    // Far below any device that there is, and the caches above the memory.
    assert!(roofline.memory > 1e10 && roofline.l2 > roofline.memory, "{roofline:?}");
    assert!(roofline.f32_flops > 1e11 && roofline.f64_flops > 1e9, "{roofline:?}");
    assert!(roofline.bf16_tensor_flops.is_none_or(|flops| flops > roofline.f32_flops));
    assert_eq!(roofline.bf16_tensor_flops.is_some(), dense.is_some());
}

#[test]
fn a_library_that_is_nowhere_is_named_with_every_place() {
    let backend = CusparseBackend::new(CusparseOptions::default());
    if let Err(error) = backend.library() {
        let message = error.to_string();
        assert!(message.contains("cuSPARSE") && message.contains("libcusparse.so.12"), "{message}");
    }
    let layout = RowLayout::natural(64, 1).unwrap();
    let plan =
        Plan::from_tiling(Tiling::from_csr(&matrix(64, 64), FormatSpec::Csr, layout).unwrap());
    // What a backend supports is known without it.
    assert!(backend.supports(&plan).is_ok());
}

#[test]
fn the_kernel_that_measures_keeps_its_promises() {
    let jit = Jit::new(common::libraries(), None, None);
    if let Err(error) = jit.nvrtc() {
        return machine::note(error);
    }
    let kernel = roofline_kernel();
    let binary = jit.compile(&kernel, Arch::SM_90A, false).unwrap();
    let sass = machine::nvdisasm().map(|program| disassemble(&program, &binary).unwrap());
    assert_eq!(check(&kernel, &binary, sass.as_deref()), Vec::<String>::new());
    // A folder of sources has the headers, and no source of another crate's.
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/../backend-cuda/src/kernels");
    let replaced = Jit::new(common::libraries(), None, Some(kernels.into()));
    assert_eq!(replaced.compile(&kernel, Arch::SM_90A, false).unwrap().cubin, binary.cubin);
}
