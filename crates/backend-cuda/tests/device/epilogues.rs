//! Bias and activation, from device memory and the host.

use girih_backend::{Activation, BackendError, Epilogue, PreparedSpmm, SpmmBackend};
use girih_backend_cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use girih_backend_cuda::{
    CudaBackend, CudaError, DeviceEpilogue, DeviceMatrix, DeviceMatrixMut, Strides,
};
use girih_formats::FormatSpec;
use girih_planner::Plan;
use girih_testkit::operands::random;
use ndarray::Array2;

use super::strided::placed;
use super::{common, graph, plan_of};

/// A bias in device memory, for rows or columns and with gaps, gives the bits of the plain product put through
/// the epilogue here; so does a bias on the host, and a product from a graph.
#[test]
fn epilogues_have_the_bits_of_plain_products() {
    let Some(backend) = common::backend() else { return };
    let formats = backend.capabilities().unwrap().formats;
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    for spec in [FormatSpec::Csr, bcsr, wcsr, FormatSpec::BMat { pattern_only: false }] {
        if formats.contains(&spec.kind()) {
            let plan = plan_of(&graph(), spec);
            for per_row in [true, false] {
                with_bias(&backend, &plan, per_row);
            }
        }
    }
}

fn with_bias(backend: &CudaBackend, plan: &Plan, per_row: bool) {
    let prepared = backend.prepare_device(plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k, n) = (plan.nrows(), plan.ncols(), 1030);
    let b = stream.clone_htod(random::<f32>(k, n, 1).as_slice().unwrap()).unwrap();
    let b = DeviceMatrix::new(&b, Strides::row_major(k, n)).unwrap();
    let len = if per_row { m } else { n };
    let values = random::<f32>(len, 1, 2);
    let gaps = Strides { offset: 5, row_stride: 3, ..Strides::row_major(len, 1) };
    let bias = stream.clone_htod(&placed(&values, gaps, 5 + 3 * len)).unwrap();
    let epilogue = DeviceEpilogue::new().activation(Activation::Relu);
    let epilogue = match per_row {
        true => epilogue.bias_per_row(&bias, gaps).unwrap(),
        false => epilogue.bias_per_column(&bias, gaps).unwrap(),
    };
    let mut c = stream.alloc_zeros::<f32>(m * n).unwrap();
    let plain = {
        let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
        prepared.execute_device(&stream, 2.0, &b, 0.0, &mut c).unwrap();
        stream.clone_dtoh(c.slice()).unwrap()
    };
    let run = |c: &mut DeviceMatrixMut<'_, f32>| {
        prepared.execute_device_with(&stream, 2.0, &b, 0.0, c, &epilogue).unwrap();
    };
    let (found, graph) = {
        let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
        run(&mut c);
        let found = stream.clone_dtoh(c.slice()).unwrap();
        stream.synchronize().unwrap();
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).unwrap();
        run(&mut c);
        (found, stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap())
    };
    let expected = |i: usize| {
        let biased = plain[i] + values[[if per_row { i / n } else { i % n }, 0]];
        if biased < 0.0 { 0.0 } else { biased }
    };
    assert!((0..m * n).all(|i| found[i] == expected(i)), "{}, per row: {per_row}", plan.spec());

    stream.memset_zeros(&mut c).unwrap();
    graph.launch().unwrap();
    let replayed = stream.clone_dtoh(&c).unwrap();
    stream.synchronize().unwrap();
    assert!(replayed == found, "{}, from a graph", plan.spec());

    let epilogue = Epilogue::from(Activation::Relu);
    let view = values.view();
    let epilogue = match per_row {
        true => epilogue.bias_per_row(view),
        false => epilogue.bias_per_column(view),
    };
    let (b, mut c) = (random::<f32>(k, n, 1), Array2::<f32>::zeros((m, n)));
    let into = c.view_mut().into();
    prepared.execute_with(2.0, b.view().into(), 0.0, into, &epilogue).unwrap();
    assert!(c.as_slice().unwrap() == found, "{}, on the host", plan.spec());

    let short = Strides::row_major(len - 1, 1);
    let short = DeviceEpilogue::new().bias_per_row(&bias, short).unwrap();
    let mut on_device = stream.alloc_zeros::<f32>(m * n).unwrap();
    let mut c = DeviceMatrixMut::new(&mut on_device, Strides::row_major(m, n)).unwrap();
    let b = stream.clone_htod(b.as_slice().unwrap()).unwrap();
    let b = DeviceMatrix::new(&b, Strides::row_major(k, n)).unwrap();
    let refused = prepared.execute_device_with(&stream, 2.0, &b, 0.0, &mut c, &short).unwrap_err();
    assert!(matches!(refused, BackendError::Shape { operand: "bias", .. }), "{refused}");
    let beyond = DeviceEpilogue::new().bias_per_row(&bias, Strides::row_major(9 * len, 1));
    assert!(matches!(beyond.unwrap_err(), CudaError::Operand { operand: "bias", .. }));
}
