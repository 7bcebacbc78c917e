//! Products of complex values, of operands on the device and on the host.

use bytemuck::cast_slice;
use girih_backend::{
    BackendError, ComplexProduct, DenseScalar, PreparedSpmm, SpmmBackend, Unsupported,
    verify_complex,
};
use girih_backend_cuda::{
    CudaBackend, DeviceMatrix, DeviceMatrixMut, Strides, complex_memory, parts_memory,
};
use girih_formats::{Complex, ComplexScalar, FormatSpec};
use girih_testkit::matrices::{typed, where_};
use girih_testkit::operands::random;
use ndarray::Array2;

use super::{common, graph, on_device, plan, plan_of};

const ALPHA: Complex<f64> = Complex::new(0.5, -1.5);
const BETA: Complex<f64> = Complex::new(-0.75, 0.25);

/// Host and device operands have the same bits, which are those of the product.
fn is_right<T: DenseScalar + ComplexScalar<Acc = T>>(backend: &CudaBackend) {
    let a = typed::<T>(&graph().cast::<f64>());
    let plan = plan_of(&a, FormatSpec::Csr);
    let prepared = backend.prepare_device(&plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    for n in [1, 2, 9, 64, 100] {
        let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T>(a.nrows(), n, 2));
        let mut c = before.clone();
        let into = T::erase_acc_mut(c.view_mut());
        prepared.execute_complex(ALPHA, T::erase(b.view()), BETA, into).unwrap();
        let added = Some((BETA, T::erase(before.view())));
        let product = ComplexProduct { alpha: ALPHA, b: T::erase(b.view()), added };
        let rounding = backend.rounding(&plan);
        let verdict = verify_complex(&a, &plan, &product, &T::erase(c.view()), rounding).unwrap();
        assert!(verdict.passed(), "{}, n = {n}: {verdict:?}", T::DTYPE);

        let (b_slice, mut c_slice) = (on_device(&stream, &b), on_device(&stream, &before));
        let b_matrix = DeviceMatrix::new(&b_slice, Strides::row_major(a.ncols(), n)).unwrap();
        let strides = Strides::row_major(a.nrows(), n);
        let mut c_matrix = DeviceMatrixMut::new(&mut c_slice, strides).unwrap();
        prepared.execute_device_complex(&stream, ALPHA, &b_matrix, BETA, &mut c_matrix).unwrap();
        let mut found = vec![0u8; c.len() * size_of::<T>()];
        // SAFETY: the allocation is given up here, and as many bytes are initialized.
        let bytes = unsafe { stream.upgrade_device_ptr::<u8>(c_slice.leak(), found.len()) };
        stream.memcpy_dtoh(&bytes, &mut found).unwrap();
        stream.synchronize().unwrap();
        assert!(found == cast_slice::<T, u8>(c.as_slice().unwrap()), "{}, n = {n}", T::DTYPE);
    }
}

#[test]
fn host_and_device_operands_have_the_same_bits() {
    let Some(backend) = common::backend() else { return };
    is_right::<Complex<f32>>(&backend);
    is_right::<Complex<f64>>(&backend);
}

#[test]
fn new_values_are_multiplied_and_slices_are_made_of_parts() {
    let Some(backend) = common::backend() else { return };
    let a = typed::<Complex<f64>>(&where_(60, 50, |i, j| (i * 7 + j) % 5 == 0).unwrap());
    let plan = plan_of(&a, FormatSpec::Csr);
    let mut prepared = backend.prepare_device(&plan).unwrap();
    let turned: Vec<_> = a.values().iter().map(|value| value * Complex::i()).collect();
    let values = Array2::from_shape_vec((turned.len(), 1), turned.clone()).unwrap();
    prepared.refresh(values.view().into()).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let n = 5;
    let b = random::<Complex<f64>>(a.ncols(), n, 1);
    let parts = stream.clone_htod(cast_slice::<_, f64>(b.as_slice().unwrap())).unwrap();
    let b_slice = complex_memory(parts).unwrap();
    let zeros = stream.alloc_zeros::<f64>(2 * a.nrows() * n).unwrap();
    let mut c_slice = complex_memory(zeros).unwrap();
    let b_matrix = DeviceMatrix::new(&b_slice, Strides::row_major(a.ncols(), n)).unwrap();
    let mut c_matrix =
        DeviceMatrixMut::new(&mut c_slice, Strides::row_major(a.nrows(), n)).unwrap();
    prepared.execute_device(&stream, 1.0, &b_matrix, 0.0, &mut c_matrix).unwrap();
    let found = stream.clone_dtoh(&parts_memory(c_slice)).unwrap();
    stream.synchronize().unwrap();
    let found: Vec<_> = found.chunks(2).map(|z| Complex::new(z[0], z[1])).collect();
    let found = Array2::from_shape_vec((a.nrows(), n), found).unwrap();
    let a = a.with_values(turned).unwrap();
    let product = ComplexProduct { alpha: Complex::ONE, b: b.view().into(), added: None };
    let rounding = backend.rounding(&plan);
    let verdict =
        verify_complex(&a, &plan_of(&a, FormatSpec::Csr), &product, &found.view().into(), rounding);
    assert!(verdict.unwrap().passed());
    assert!(complex_memory(stream.alloc_zeros::<f32>(3).unwrap()).is_err());
}

#[test]
fn real_values_take_no_imaginary_factor() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let prepared = backend.prepare(&plan(&a)).unwrap();
    let (b, mut c) = (random::<f32>(a.ncols(), 3, 1), Array2::<f32>::zeros((a.nrows(), 3)));
    let refused =
        prepared.execute_complex(ALPHA, b.view().into(), Complex::ZERO, c.view_mut().into());
    let Err(BackendError::Unsupported { reason: Unsupported::Scaling { .. }, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert!(c.iter().all(|&x| x == 0.0));
}
