//! Sampled products of operands in device memory.

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Rounding, SampledProduct, SddmmBackend,
    verify_sddmm,
};
use girih_backend_cuda::cudarc::driver::DeviceRepr;
use girih_backend_cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use girih_backend_cuda::{Arch, CudaBackend, DeviceMatrix, DeviceMatrixMut, SddmmLayout, Strides};
use girih_formats::{Csr, CsrPattern, DType, Real, RowLayout, Scalar};
use girih_generate::{banded, uniform};
use girih_testkit::conformance::run_sddmm;
use girih_testkit::operands::random;
use half::{bf16, f16};
use ndarray::Array2;

use super::strided::{len, placed, strides};
use super::{common, graph, on_device};

#[test]
fn sampled_products_conform() {
    let Some(backend) = common::backend() else { return };
    for dtype in DType::REAL {
        let report = run_sddmm(&backend, dtype);
        assert!(report.passed(), "{dtype}: {report}");
    }
}

/// The backend with everything sampled by windows.
#[derive(Debug)]
struct ByWindows(CudaBackend);

impl SddmmBackend for ByWindows {
    fn sddmm(
        &self,
        pattern: CsrPattern<'_>,
        alpha: f64,
        x: DenseView<'_>,
        y: DenseView<'_>,
        beta: f64,
        s: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let windows = SddmmLayout::Windows(RowLayout::natural(pattern.nrows(), 16).unwrap());
        let prepared = self.0.prepare_sddmm_in(pattern, x.dtype(), &windows)?;
        prepared.execute(alpha, x, y, beta, s)
    }

    fn sddmm_rounding(&self, dtype: DType) -> Rounding {
        let one = Csr::<f32>::identity(1).unwrap();
        let windows = SddmmLayout::Windows(RowLayout::natural(1, 16).unwrap());
        self.0.prepare_sddmm_in(one.pattern(), dtype, &windows).unwrap().rounding()
    }
}

#[test]
fn sampled_products_by_windows_conform() {
    let Some(backend) = common::backend() else { return };
    if backend.device().unwrap().arch != Arch::SM_90A {
        return;
    }
    for dtype in [DType::F16, DType::Bf16] {
        let report = run_sddmm(&ByWindows(backend.clone()), dtype);
        assert!(report.passed(), "{dtype}: {report}");
    }
}

/// Scattered entries are sampled one by one, and a band by windows; the lowering says so.
#[test]
fn a_layout_is_chosen_and_said() {
    let Some(backend) = common::backend() else { return };
    if backend.device().unwrap().arch != Arch::SM_90A {
        return;
    }
    let band = banded::<f32>(12_000, 12_000, 40, 20, 1).unwrap();
    let sparse = uniform::<f32>(6000, 6000, 4, 1).unwrap();
    for (a, expected) in [(sparse, "entry by entry"), (band, "windows of 16 rows")] {
        let prepared = backend.prepare_sddmm(a.pattern(), DType::F16).unwrap();
        let lowering = prepared.lowering(64);
        assert_eq!(lowering.choice("layout"), Some(expected), "{lowering}");
        assert!(lowering.choice("launch").is_some_and(|launch| launch.contains("vectors")));
    }
}

/// A pattern that is prepared once and sampled with several numbers of columns.
fn again<T: DenseScalar<Acc: DeviceRepr> + Real>() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    again_in::<T>(&backend, &a, &SddmmLayout::Entries);
    if T::DTYPE.size() == 2 && backend.device().unwrap().arch == Arch::SM_90A {
        let slots: Vec<u32> = (0..a.nrows() as u32).rev().collect();
        let reversed = RowLayout::explicit(a.nrows(), 16, slots).unwrap();
        again_in::<T>(&backend, &a, &SddmmLayout::Windows(reversed));
    }
}

fn again_in<T: DenseScalar<Acc: DeviceRepr> + Real>(
    backend: &CudaBackend,
    a: &Csr<f32>,
    layout: &SddmmLayout,
) {
    let prepared = backend.prepare_sddmm_in(a.pattern(), T::DTYPE, layout).unwrap();
    assert!(prepared.device_bytes() >= a.nnz() as u64);
    let stream = backend.context().unwrap().new_stream().unwrap();
    for d in [1, 3, 8, 31, 32, 64, 100, 128, 256, 515, 1100] {
        let (x, y) = (random::<T>(a.nrows(), d, 1), random::<T>(a.ncols(), d, 2));
        let before = random::<T::Acc>(a.nnz(), 1, 3);
        let (on_x, on_y) = (on_device(&stream, &x), on_device(&stream, &y));
        let mut on_s = on_device(&stream, &before);
        let x_matrix = DeviceMatrix::new(&on_x, Strides::row_major(a.nrows(), d)).unwrap();
        let y_matrix = DeviceMatrix::new(&on_y, Strides::row_major(a.ncols(), d)).unwrap();
        let mut s = DeviceMatrixMut::new(&mut on_s, Strides::row_major(a.nnz(), 1)).unwrap();
        prepared.execute_device(&stream, -2.5, &x_matrix, &y_matrix, 0.5, &mut s).unwrap();
        let found = stream.clone_dtoh(&on_s).unwrap();
        stream.synchronize().unwrap();
        let found = Array2::from_shape_vec((a.nnz(), 1), found).unwrap();
        let (x, y) = (T::erase(x.view()), T::erase(y.view()));
        let added = Some((0.5, T::erase_acc(before.view())));
        let product = SampledProduct { alpha: -2.5, x: x.reborrow(), y: y.reborrow(), added };
        let rounding = prepared.rounding();
        let found_view = T::erase_acc(found.view());
        let verdict = verify_sddmm::<T>(a.pattern(), &product, &found_view, rounding).unwrap();
        assert!(verdict.passed(), "{} {layout:?} d = {d}: {verdict:?}", T::DTYPE);
        // Of operands on the host, the same bits: they are sent, and entry by entry the pattern with them.
        let mut s = before.clone();
        let into = T::erase_acc_mut(s.view_mut());
        match layout {
            SddmmLayout::Entries => backend.sddmm(a.pattern(), -2.5, x, y, 0.5, into).unwrap(),
            _ => prepared.execute(-2.5, x, y, 0.5, into).unwrap(),
        }
        let bits =
            |s: &Array2<T::Acc>| s.iter().map(|s| s.to_c64().re.to_bits()).collect::<Vec<_>>();
        assert!(bits(&s) == bits(&found), "{} d = {d}", T::DTYPE);
    }
}

#[test]
fn a_pattern_is_sampled_again_in_f16() {
    again::<f16>();
}

#[test]
fn a_pattern_is_sampled_again_in_bf16() {
    again::<bf16>();
}

#[test]
fn a_pattern_is_sampled_again_in_f32() {
    again::<f32>();
}

#[test]
fn a_pattern_is_sampled_again_in_f64() {
    again::<f64>();
}

#[test]
fn strides_and_alignment_change_no_bits_of_s() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let prepared = backend.prepare_sddmm(a.pattern(), DType::F32).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    for d in [1, 7, 32, 130, 300] {
        let (x, y) = (random::<f32>(a.nrows(), d, 1), random::<f32>(a.ncols(), d, 2));
        let mut first: Option<Vec<u32>> = None;
        for x_strides in strides(a.nrows(), d) {
            for y_strides in strides(a.ncols(), d) {
                let on_x = stream.clone_htod(&placed(&x, x_strides, len(x_strides))).unwrap();
                let on_y = stream.clone_htod(&placed(&y, y_strides, len(y_strides))).unwrap();
                let mut on_s = stream.clone_htod(&vec![f32::NAN; 3 * a.nnz() + 1]).unwrap();
                let x = DeviceMatrix::new(&on_x, x_strides).unwrap();
                let y = DeviceMatrix::new(&on_y, y_strides).unwrap();
                let of_s =
                    Strides { offset: 1, rows: a.nnz(), cols: 1, row_stride: 3, col_stride: 1 };
                let mut s = DeviceMatrixMut::new(&mut on_s, of_s).unwrap();
                prepared.execute_device(&stream, 1.0, &x, &y, 0.0, &mut s).unwrap();
                let all = stream.clone_dtoh(&on_s).unwrap();
                stream.synchronize().unwrap();
                assert!(all.iter().enumerate().all(|(i, s)| i % 3 == 1 || s.is_nan()));
                let bits: Vec<_> = all.iter().skip(1).step_by(3).map(|s| s.to_bits()).collect();
                let first = first.get_or_insert_with(|| bits.clone());
                assert!(*first == bits, "d = {d}: {x_strides:?}, {y_strides:?}");
            }
        }
    }
}

#[test]
fn a_captured_product_samples_what_is_there_when_it_is_launched() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let prepared = backend.prepare_sddmm(a.pattern(), DType::F32).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let d = 32;
    let ones = vec![1.0f32; a.nrows().max(a.ncols()) * d];
    let mut on_x = stream.alloc_zeros::<f32>(a.nrows() * d).unwrap();
    let on_y = stream.clone_htod(&ones[..a.ncols() * d]).unwrap();
    let mut on_s = stream.alloc_zeros::<f32>(a.nnz()).unwrap();
    let graph = {
        let x = DeviceMatrix::new(&on_x, Strides::row_major(a.nrows(), d)).unwrap();
        let y = DeviceMatrix::new(&on_y, Strides::row_major(a.ncols(), d)).unwrap();
        let mut s = DeviceMatrixMut::new(&mut on_s, Strides::row_major(a.nnz(), 1)).unwrap();
        stream.synchronize().unwrap();
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
        prepared.execute_device(&stream, 1.0, &x, &y, 0.0, &mut s).unwrap();
        stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap()
    };
    stream.memcpy_htod(&ones[..a.nrows() * d], &mut on_x).unwrap();
    graph.launch().unwrap();
    let s = stream.clone_dtoh(&on_s).unwrap();
    stream.synchronize().unwrap();
    assert!(s.iter().all(|&s| s == d as f32));
}

#[test]
fn operands_that_do_not_fit_are_named() {
    let Some(backend) = common::backend() else { return };
    let a: Csr<f32> = graph();
    let prepared = backend.prepare_sddmm(a.pattern(), DType::F32).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k, d) = (a.nrows(), a.ncols(), 4);
    let memory = stream.alloc_zeros::<f32>((m + 1).max(k + 1) * (d + 1)).unwrap();
    let mut on_s = stream.alloc_zeros::<f32>(a.nnz() + 1).unwrap();
    for (x, y, nnz, operand) in [
        ((m + 1, d), (k, d), a.nnz(), "X"),
        ((m, d), (k + 1, d), a.nnz(), "Y"),
        ((m, d), (k, d + 1), a.nnz(), "Y"),
        ((m, d), (k, d), a.nnz() + 1, "S"),
    ] {
        let of = |(rows, cols)| DeviceMatrix::new(&memory, Strides::row_major(rows, cols)).unwrap();
        let mut s = DeviceMatrixMut::new(&mut on_s, Strides::row_major(nnz, 1)).unwrap();
        let error = prepared.execute_device(&stream, 1.0, &of(x), &of(y), 0.0, &mut s).unwrap_err();
        assert!(matches!(error, BackendError::Shape { operand: o, .. } if o == operand), "{error}");
    }
}
