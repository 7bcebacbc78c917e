//! New values, from the host and from the device.

use girih_backend::{BackendError, DenseScalar, PreparedSpmm};
use girih_backend_cuda::{CudaBackend, CudaPrepared, DeviceMatrix, Strides};
use girih_formats::{Complex, Csr, FormatSpec, Scalar};
use girih_generate::two_four;
use girih_testkit::matrices::typed;
use girih_testkit::operands::random;
use half::{bf16, f16};
use ndarray::Array2;

use super::{common, graph, on_device, plan_of};

/// The bits of a product of operands on the host.
fn product<T: DenseScalar>(prepared: &CudaPrepared, n: usize) -> Vec<u64> {
    let b = random::<T>(prepared.shape().k, n, 1);
    let mut c = Array2::from_elem((prepared.nrows(), n), T::Acc::ZERO);
    prepared.execute(1.0, T::erase(b.view()), 0.0, T::erase_acc_mut(c.view_mut())).unwrap();
    c.iter().flat_map(|c| [c.to_c64().re.to_bits(), c.to_c64().im.to_bits()]).collect()
}

/// Products with new values have the bits of a plan that is prepared with them.
fn as_prepared_anew<T: DenseScalar>(backend: &CudaBackend, a: &Csr<f64>, spec: FormatSpec) {
    let a = typed::<T>(a);
    let mut prepared = backend.prepare_device(&plan_of(&a, spec)).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    for (turn, apart) in [(1, 1), (2, 3), (3, 1)] {
        let values = random::<T>(a.nnz(), apart, turn);
        let column = values.column(0).to_vec();
        let anew = plan_of(&a.with_values(column.clone()).unwrap(), spec);
        let expected = product::<T>(&backend.prepare_device(&anew).unwrap(), 70);

        let slice = on_device(&stream, &values);
        let strides = Strides { cols: 1, ..Strides::row_major(a.nnz(), apart) };
        let of_device = DeviceMatrix::new(&slice, strides).unwrap();
        prepared.refresh_device(&stream, &of_device).unwrap();
        stream.synchronize().unwrap();
        assert!(product::<T>(&prepared, 70) == expected, "{spec} {}, device", T::DTYPE);

        let others: Vec<T> = column.iter().rev().copied().collect();
        prepared.refresh(others[..].into()).unwrap();
        assert!(product::<T>(&prepared, 70) != expected, "{spec} {}: values stay", T::DTYPE);
        prepared.refresh(T::erase(values.slice(ndarray::s![.., ..1]))).unwrap();
        assert!(product::<T>(&prepared, 70) == expected, "{spec} {}, host", T::DTYPE);
    }
}

#[test]
fn products_are_those_of_a_plan_prepared_with_the_values() {
    let Some(backend) = common::backend() else { return };
    let graph = graph().cast::<f64>();
    as_prepared_anew::<f64>(&backend, &graph, FormatSpec::Csr);
    as_prepared_anew::<Complex<f32>>(&backend, &graph, FormatSpec::Csr);
    as_prepared_anew::<Complex<f64>>(&backend, &graph, FormatSpec::Csr);
    let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    as_prepared_anew::<f32>(&backend, &graph, wcsr);
    as_prepared_anew::<bf16>(&backend, &graph, wcsr);
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    as_prepared_anew::<f32>(&backend, &graph, bcsr);
    as_prepared_anew::<f16>(&backend, &graph, bcsr);
    as_prepared_anew::<f16>(&backend, &graph, FormatSpec::BMat { pattern_only: false });
    let pruned: Csr<f64> = two_four(256, 512, 1).unwrap();
    as_prepared_anew::<bf16>(&backend, &pruned, FormatSpec::TwoFour);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let mut prepared = backend.prepare_device(&plan_of(&a, FormatSpec::Csr)).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let slice = on_device(&stream, &random::<f32>(a.nnz(), 1, 1));
    let short = DeviceMatrix::new(&slice, Strides::row_major(a.nnz() - 1, 1)).unwrap();
    let refused = prepared.refresh_device(&stream, &short);
    assert!(matches!(refused, Err(BackendError::Shape { operand: "values", .. })), "{refused:?}");
    let slice = on_device(&stream, &random::<f64>(a.nnz(), 1, 1));
    let wide = DeviceMatrix::new(&slice, Strides::row_major(a.nnz(), 1)).unwrap();
    let refused = prepared.refresh_device(&stream, &wide);
    assert!(matches!(refused, Err(BackendError::DType { operand: "values", .. })), "{refused:?}");
    let pattern = plan_of(&a, FormatSpec::BMat { pattern_only: true });
    let mut prepared = backend.prepare_device(&pattern).unwrap();
    let refused = prepared.refresh(random::<f32>(a.nnz(), 1, 1).view().into());
    assert!(matches!(refused, Err(BackendError::NewValues { .. })), "{refused:?}");
}
