//! Operands on the host.

use girih_backend::{BackendError, PreparedSpmm, SpmmBackend};
use girih_backend_cuda::cudarc::driver::PinnedHostSlice;
use girih_backend_cuda::{CudaBackend, DeviceMatrix, DeviceMatrixMut, Strides};
use girih_generate::{dense_row, rmat};
use girih_testkit::operands::random;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use super::{common, plan};

/// A matrix in page-locked memory.
fn pinned(backend: &CudaBackend, matrix: &Array2<f32>) -> PinnedHostSlice<f32> {
    let context = backend.context().unwrap();
    // SAFETY: all of it is written below.
    let mut memory = unsafe { context.alloc_pinned_with_flags::<f32>(matrix.len(), 0) }.unwrap();
    memory.as_mut_slice().unwrap().copy_from_slice(matrix.as_slice().unwrap());
    memory
}

#[test]
fn host_operands_in_panels_have_the_bits_of_device_operands() {
    let Some(backend) = common::backend() else { return };
    let a = rmat::<f32>(14, 8, 1).unwrap();
    let prepared = backend.prepare_device(&plan(&a)).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k) = (a.nrows(), a.ncols());
    // Of n = 700 both operands are 90 MB, and the last panel is ragged.
    for n in [5, 128, 700] {
        let (b, before) = (random::<f32>(k, n, 1), random::<f32>(m, n, 2));
        let on_device = stream.clone_htod(b.as_slice().unwrap()).unwrap();
        let mut c = stream.clone_htod(before.as_slice().unwrap()).unwrap();
        let matrix = DeviceMatrix::new(&on_device, Strides::row_major(k, n)).unwrap();
        let mut to = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
        prepared.execute_device(&stream, -2.5, &matrix, 0.5, &mut to).unwrap();
        let expected = stream.clone_dtoh(&c).unwrap();
        stream.synchronize().unwrap();
        let expected = Array2::from_shape_vec((m, n), expected).unwrap();

        let mut c = before.clone();
        prepared.execute(-2.5, b.view().into(), 0.5, c.view_mut().into()).unwrap();
        assert!(c == expected, "n = {n}, pageable");

        let (b_pinned, mut c_pinned) = (pinned(&backend, &b), pinned(&backend, &before));
        let b_view = ArrayView2::from_shape((k, n), b_pinned.as_slice().unwrap()).unwrap();
        let mut c = ArrayViewMut2::from_shape((m, n), c_pinned.as_mut_slice().unwrap()).unwrap();
        prepared.execute(-2.5, b_view.into(), 0.5, c.view_mut().into()).unwrap();
        assert!(c == expected, "n = {n}, page-locked");

        let b_columns = b.t().as_standard_layout().reversed_axes().into_owned();
        let mut c = Array2::from_shape_fn((m, 2 * n), |(i, j)| before[(i, j / 2)]);
        let c_view = c.slice_mut(ndarray::s![.., ..;2]);
        prepared.execute(-2.5, b_columns.view().into(), 0.5, c_view.into()).unwrap();
        assert!(c.slice(ndarray::s![.., ..;2]) == expected, "n = {n}, strided");
        assert!(c.slice(ndarray::s![.., 1..;2]) == before, "n = {n}, written beside C");
    }
}

#[test]
fn what_does_not_fit_is_an_error_that_says_how_much_is_needed() {
    let Some(backend) = common::backend() else { return };
    let a = dense_row::<f32>(1, 1 << 20, 0, 0, 1).unwrap();
    let prepared = backend.prepare(&plan(&a)).unwrap();
    let zero = ndarray::arr0(0.0f32);
    let b = zero.broadcast((1 << 20, 1 << 20)).unwrap();
    let mut c = Array2::<f32>::zeros((1, 1 << 20));
    let error = prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap_err();
    let BackendError::Failed { source, .. } = &error else { panic!("{error}") };
    let message = source.to_string();
    assert!(message.contains(&(1u64 << 42).to_string()) && message.contains("free"), "{message}");
    // A smaller product still works.
    let mut c = Array2::<f32>::from_elem((1, 2), f32::NAN);
    let b = zero.broadcast((1 << 20, 2)).unwrap();
    prepared.execute(1.0, b.view().into(), 0.0, c.view_mut().into()).unwrap();
    assert_eq!(c, Array2::<f32>::zeros((1, 2)));
}
