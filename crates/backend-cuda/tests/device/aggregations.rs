//! Maxima, minima and means, from device memory and the host.

use girih_backend::{
    Aggregation, BackendError, DenseScalar, PreparedSpmm, SpmmBackend, Unsupported,
    verify_aggregation,
};
use girih_backend_cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use girih_backend_cuda::cudarc::driver::{CudaSlice, DeviceRepr, ValidAsZeroBits};
use girih_backend_cuda::{CudaBackend, DeviceMatrix, DeviceMatrixMut, Strides};
use girih_formats::{FormatKind, FormatSpec, Real};
use girih_testkit::operands::random;
use half::{bf16, f16};
use ndarray::Array2;

use super::{common, graph, on_device, plan_of};

/// A graph some of whose rows are split, in every value type: right on the device, and with the same bits from a
/// graph of launches and from the host.
#[test]
fn aggregations_are_right_from_everywhere() {
    let Some(backend) = common::backend() else { return };
    from_everywhere::<f16>(&backend);
    from_everywhere::<bf16>(&backend);
    from_everywhere::<f32>(&backend);
    from_everywhere::<f64>(&backend);
}

fn from_everywhere<T: DenseScalar + Real>(backend: &CudaBackend)
where
    T::Acc: PartialEq + DeviceRepr + ValidAsZeroBits,
{
    let a = graph().cast::<T>();
    let plan = plan_of(&a, FormatSpec::Csr);
    let prepared = backend.prepare_device(&plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k) = (a.nrows(), a.ncols());
    for aggregation in Aggregation::ALL {
        for n in [1, 33, 128, 300] {
            let host = random::<T>(k, n, 1);
            let slice = on_device(&stream, &host);
            let b = DeviceMatrix::new(&slice, Strides::row_major(k, n)).unwrap();
            let mut c: CudaSlice<T::Acc> = on_device(&stream, &random::<T::Acc>(m, n, 2));
            // Made before a capture: cudarc orders what uses a slice by events that a capture has no part in.
            let mut to = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
            prepared.aggregate_device(&stream, aggregation, &b, &mut to).unwrap();
            let found = stream.clone_dtoh(&c).unwrap();
            stream.synchronize().unwrap();
            let found = Array2::from_shape_vec((m, n), found).unwrap();
            let (b_view, c_view) = (T::erase(host.view()), T::erase_acc(found.view()));
            let rounding = backend.rounding(&plan);
            let verdict = verify_aggregation(&a, &plan, aggregation, &b_view, &c_view, rounding);
            let verdict = verdict.unwrap();
            assert!(verdict.passed(), "{aggregation:?} {}, n = {n}: {verdict:?}", T::DTYPE);

            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            let mut to = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
            stream.synchronize().unwrap();
            stream.begin_capture(mode).unwrap();
            prepared.aggregate_device(&stream, aggregation, &b, &mut to).unwrap();
            let launches = stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap();
            stream.memset_zeros(&mut c).unwrap();
            launches.launch().unwrap();
            let replayed = stream.clone_dtoh(&c).unwrap();
            stream.synchronize().unwrap();
            assert!(replayed == found.as_slice().unwrap(), "{aggregation:?}, from a graph");

            let mut c = random::<T::Acc>(m, n, 2);
            let into = T::erase_acc_mut(c.view_mut());
            prepared.aggregate(aggregation, T::erase(host.view()), into).unwrap();
            assert!(c == found, "{aggregation:?} {}, n = {n}: on the host", T::DTYPE);
        }
    }
}

#[test]
fn other_formats_refuse() {
    let Some(backend) = common::backend() else { return };
    if !backend.capabilities().unwrap().formats.contains(&FormatKind::BMat) {
        return;
    }
    let plan = plan_of(&graph(), FormatSpec::BMat { pattern_only: false });
    let prepared = backend.prepare_device(&plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k) = (plan.nrows(), plan.ncols());
    let b = stream.alloc_zeros::<f32>(k).unwrap();
    let mut c = stream.alloc_zeros::<f32>(m).unwrap();
    let b = DeviceMatrix::new(&b, Strides::row_major(k, 1)).unwrap();
    let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(m, 1)).unwrap();
    for aggregation in Aggregation::ALL {
        assert!(backend.supports_aggregation(&plan, aggregation).is_err());
        let refused = prepared.aggregate_device(&stream, aggregation, &b, &mut c).unwrap_err();
        let BackendError::Unsupported { reason, .. } = &refused else { panic!("{refused}") };
        assert!(matches!(reason, Unsupported::Aggregation { .. }), "{refused}");
    }
}
