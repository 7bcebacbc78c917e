//! Products captured into a graph.

use girih_backend::{DenseScalar, SpmmBackend};
use girih_backend_cuda::cudarc::driver::CudaSlice;
use girih_backend_cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use girih_backend_cuda::{CudaBackend, DeviceMatrix, DeviceMatrixMut, Strides};
use girih_formats::{FormatKind, FormatSpec};
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, PlanOptions, Planner, Schedule};
use girih_testkit::operands::random;
use half::bf16;

use super::{common, graph, on_device, plan, plan_of};

/// Columns of products.
const N: usize = 32;

/// A product of the plan, and the same from a graph that captured it. Rows of B lie one after the other, then columns, so
/// that B is copied while the product begins.
fn captured<T: DenseScalar<Acc = f32>>(backend: &CudaBackend, plan: &Plan) {
    let k = plan.ncols();
    for of_b in [Strides::row_major(k, N), Strides::col_major(k, N)] {
        captured_of::<T>(backend, plan, of_b, false);
    }
}

/// The same of one B. What a graph captures was multiplied before, unless that `comes_first`.
fn captured_of<T: DenseScalar<Acc = f32>>(
    backend: &CudaBackend,
    plan: &Plan,
    of_b: Strides,
    comes_first: bool,
) {
    let prepared = backend.prepare_device(plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let m = plan.nrows();
    let b = on_device(&stream, &random::<T>(plan.ncols(), N, 1));
    let mut c: CudaSlice<f32> = stream.alloc_zeros(m * N).unwrap();
    let multiply = |c: &mut CudaSlice<f32>, captures: bool| {
        let b = DeviceMatrix::new(&b, of_b).unwrap();
        let mut c = DeviceMatrixMut::new(c, Strides::row_major(m, N)).unwrap();
        stream.synchronize().unwrap();
        if captures {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            stream.begin_capture(mode).unwrap();
        }
        prepared.execute_device(&stream, 2.0, &b, 0.0, &mut c).unwrap();
        captures.then(|| stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap())
    };
    if !comes_first {
        multiply(&mut c, false);
    }
    let graph = multiply(&mut c, true).unwrap();
    multiply(&mut c, false);
    let expected = stream.clone_dtoh(&c).unwrap();
    stream.synchronize().unwrap();
    assert!(expected.iter().any(|&x| x != 0.0));
    for _ in 0..3 {
        stream.memset_zeros(&mut c).unwrap();
        graph.launch().unwrap();
        let replayed = stream.clone_dtoh(&c).unwrap();
        stream.synchronize().unwrap();
        assert!(replayed == expected, "{}", plan.spec());
    }
}

#[test]
fn the_first_product_is_captured_if_it_is_as_planned() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let plan = Planner::new(PlanOptions::new(N).format(FormatSpec::Csr)).plan(&a).unwrap();
    captured_of::<f32>(&backend, &plan, Strides::row_major(a.ncols(), N), true);
}

#[test]
fn products_are_captured_into_a_graph() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    captured::<f32>(&backend, &plan(&a));
    let formats = backend.capabilities().unwrap().formats;
    if formats.contains(&FormatKind::Bcsr) {
        let spec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
        captured::<bf16>(&backend, &plan_of(&a.cast::<bf16>(), spec));
    }
    if formats.contains(&FormatKind::Wcsr) {
        let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
        captured::<f32>(&backend, &plan_of(&a, spec));
    }
    if formats.contains(&FormatKind::BMat) {
        let plan = plan_of(&a, FormatSpec::BMat { pattern_only: false });
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        let partitions = Schedule::sm_aligned(plan.tiling(), 64, 132, &cost);
        captured::<f32>(&backend, &plan.with_schedule(&partitions).unwrap());
    }
}
