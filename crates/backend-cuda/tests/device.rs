//! Products of operands in device memory.

mod common;

use bytemuck::cast_slice;
use cudarc::driver::{CudaSlice, CudaStream};
use girih_backend::{
    Activation, BackendError, DenseScalar, Epilogue, PreparedSpmm, Product, SpmmBackend, verify,
};
use girih_backend_cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use girih_backend_cuda::{
    CudaBackend, CudaError, CudaOptions, DenseConfig, DeviceEpilogue, DeviceMatrix,
    DeviceMatrixMut, FullBlocks, Strides, cudarc,
};
use girih_formats::{AnyTiling, Csr, DType, FormatKind, FormatSpec, RowLayout, Scalar, Tiling};
use girih_generate::{dense_row, rmat, two_four};
use girih_planner::cost::LinearCost;
use girih_planner::{Plan, Schedule};
use girih_testkit::conformance::specs;
use girih_testkit::matrices::{fit, where_};
use girih_testkit::operands::random;
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use std::sync::Arc;

fn plan(a: &Csr<f32>) -> Plan {
    plan_of(a, FormatSpec::Csr)
}

fn plan_of<T: DenseScalar>(a: &Csr<T>, spec: FormatSpec) -> Plan {
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    Plan::from_tiling(Tiling::from_csr(a, spec, layout).unwrap())
}

/// A skewed graph, some of whose rows are split.
fn graph() -> Csr<f32> {
    let a = rmat::<f32>(12, 40, 1).unwrap();
    assert!(
        (0..a.nrows()).any(|i| a.row_range(i).len() > 512),
        "no row is long enough to be split"
    );
    a
}

/// A matrix as elements of a slice, those around it NaN.
fn placed(matrix: &Array2<f32>, strides: Strides, len: usize) -> Vec<f32> {
    let mut elements = vec![f32::NAN; len];
    for ((i, j), &x) in matrix.indexed_iter() {
        elements[strides.offset + i * strides.row_stride + j * strides.col_stride] = x;
    }
    elements
}

fn taken(elements: &[f32], strides: Strides) -> Array2<f32> {
    Array2::from_shape_fn((strides.rows, strides.cols), |(i, j)| {
        elements[strides.offset + i * strides.row_stride + j * strides.col_stride]
    })
}

/// Row-major, with padded rows, off alignment, column-major, every other column.
fn strides(rows: usize, cols: usize) -> Vec<Strides> {
    let padded = cols.next_multiple_of(4) + 4;
    vec![
        Strides::row_major(rows, cols),
        Strides { row_stride: padded, ..Strides::row_major(rows, cols) },
        Strides { offset: 1, row_stride: padded, ..Strides::row_major(rows, cols) },
        Strides::col_major(rows, cols),
        Strides { offset: 3, rows, cols, row_stride: 2 * cols + 1, col_stride: 2 },
    ]
}

fn len(strides: Strides) -> usize {
    strides.offset + strides.rows * strides.row_stride.max(1) + strides.cols * strides.col_stride
}

#[test]
fn bits_do_not_depend_on_strides_or_alignment() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let plan = plan(&a);
    let prepared = backend.prepare_device(&plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    for n in [1, 3, 4, 32, 129, 1024] {
        let (b, before) = (random::<f32>(a.ncols(), n, 1), random::<f32>(a.nrows(), n, 2));
        let mut first: Option<Array2<f32>> = None;
        for b_strides in strides(a.ncols(), n) {
            for c_strides in strides(a.nrows(), n) {
                let on_device = stream.clone_htod(&placed(&b, b_strides, len(b_strides))).unwrap();
                let elements = placed(&before, c_strides, len(c_strides));
                let mut c = stream.clone_htod(&elements).unwrap();
                let b_matrix = DeviceMatrix::new(&on_device, b_strides).unwrap();
                let mut c_matrix = DeviceMatrixMut::new(&mut c, c_strides).unwrap();
                prepared.execute_device(&stream, -2.5, &b_matrix, 0.5, &mut c_matrix).unwrap();
                let after = stream.clone_dtoh(&c).unwrap();
                stream.synchronize().unwrap();
                let untouched = after.iter().zip(&elements).filter(|(_, before)| before.is_nan());
                assert!(untouched.clone().all(|(after, _)| after.is_nan()), "{c_strides:?}");
                let c = taken(&after, c_strides);
                match &first {
                    Some(first) => assert!(*first == c, "n = {n}: {b_strides:?}, {c_strides:?}"),
                    None => {
                        let added = Some((0.5, before.view().into()));
                        let product = Product { alpha: -2.5, b: b.view().into(), added };
                        let rounding = backend.rounding(&plan);
                        let verdict = verify(&a, &plan, &product, &c.view().into(), rounding);
                        assert!(verdict.unwrap().passed(), "n = {n}");
                        first = Some(c);
                    }
                }
            }
        }
    }
}

#[test]
fn streams_wait_for_each_other() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let prepared = Arc::new(backend.prepare_device(&plan(&a)).unwrap());
    let context = backend.context().unwrap();
    let n = 64;
    let b = random::<f32>(a.ncols(), n, 1);
    let b_device = Arc::new(context.default_stream().clone_htod(b.as_slice().unwrap()).unwrap());
    let results: Vec<Vec<f32>> = std::thread::scope(|scope| {
        let run = || {
            let stream = context.new_stream().unwrap();
            let mut c = stream.alloc_zeros::<f32>(a.nrows() * n).unwrap();
            for _ in 0..20 {
                let b = DeviceMatrix::new(&*b_device, Strides::row_major(a.ncols(), n)).unwrap();
                let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(a.nrows(), n)).unwrap();
                prepared.execute_device(&stream, 1.0, &b, 0.0, &mut c).unwrap();
            }
            let c = stream.clone_dtoh(&c).unwrap();
            stream.synchronize().unwrap();
            c
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(results.iter().all(|c| *c == results[0]));
}

/// A copy of a matrix on the device. Of f16 and bf16 cudarc makes slices with a feature of its own only.
fn on_device<T: Scalar>(stream: &Arc<CudaStream>, matrix: &Array2<T>) -> CudaSlice<T> {
    let bytes = stream.clone_htod(cast_slice::<T, u8>(matrix.as_slice().unwrap())).unwrap();
    // SAFETY: the allocation is given up here, and holds as many elements, each of them valid.
    unsafe { stream.upgrade_device_ptr(bytes.leak(), matrix.len()) }
}

/// A product of the plan, with 32 columns, and the same from a graph that captured it.
fn captured<T: DenseScalar<Acc = f32>>(backend: &CudaBackend, plan: &Plan) {
    let prepared = backend.prepare_device(plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k, n) = (plan.nrows(), plan.ncols(), 32);
    let b = on_device(&stream, &random::<T>(k, n, 1));
    let mut c: CudaSlice<f32> = stream.alloc_zeros(m * n).unwrap();
    let expected = {
        let b = DeviceMatrix::new(&b, Strides::row_major(k, n)).unwrap();
        let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
        prepared.execute_device(&stream, 2.0, &b, 0.0, &mut c).unwrap();
        stream.clone_dtoh(c.slice()).unwrap()
    };
    let graph = {
        let b = DeviceMatrix::new(&b, Strides::row_major(k, n)).unwrap();
        let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
        stream.synchronize().unwrap();
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).unwrap();
        prepared.execute_device(&stream, 2.0, &b, 0.0, &mut c).unwrap();
        stream.end_capture(CUgraphInstantiate_flags(0)).unwrap().unwrap()
    };
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

/// A bias in device memory, for rows or columns and with gaps, gives the bits of the plain product put through
/// the epilogue here; so does a bias on the host, and a product from a graph.
#[test]
fn epilogues_have_the_bits_of_plain_products() {
    let Some(backend) = common::backend() else { return };
    let formats = backend.capabilities().unwrap().formats;
    let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
    let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    for spec in [FormatSpec::Csr, wcsr, bcsr, FormatSpec::BMat { pattern_only: false }] {
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

/// Rows of many lengths, some empty and some in pieces, times all widths that kernels are made for: small
/// enough to be followed access by access.
#[test]
fn every_kernel_multiplies() {
    let Some(backend) = common::backend() else { return };
    let can = backend.capabilities().unwrap();
    for kind in can.formats {
        for &dtype in &can.dtypes {
            match dtype {
                DType::F16 => every_width::<f16>(&backend, kind),
                DType::Bf16 => every_width::<bf16>(&backend, kind),
                DType::F32 => every_width::<f32>(&backend, kind),
                DType::F64 => every_width::<f64>(&backend, kind),
            }
        }
    }
}

fn every_width<T: DenseScalar>(backend: &CudaBackend, kind: FormatKind) {
    let entry = |i: usize, j: usize| i == 7 || (i % 6 > 1 && (i * 7 + j) % (9 + i) == 3);
    let a = fit(&where_(150, 600, entry).unwrap(), kind).unwrap().cast::<T>();
    for spec in specs(kind) {
        let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
        let tiling = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
        let cost = LinearCost { tile_col: 1.0, window_col: 2.0, fixed: 0.0, tile_again: 0.1 };
        let partitions = Schedule::sm_aligned(&tiling, 100, 7, &cost);
        let plan = Plan::from_tiling(tiling);
        if backend.supports(&plan).is_err() {
            continue;
        }
        let partitioned = plan.clone().with_schedule(&partitions).unwrap();
        let mut plans = vec![plan];
        if kind == FormatKind::BMat {
            plans.push(partitioned);
        } else {
            assert!(backend.supports(&partitioned).is_err(), "{spec} in partitions");
        }
        for plan in &plans {
            let prepared = backend.prepare(plan).unwrap();
            for n in [1, 5, 32, 100, 200, 264] {
                is_right::<T>(backend, &*prepared, plan, &a, n);
            }
        }
    }
}

/// Multiplies with random operands of `n` columns.
fn is_right<T: DenseScalar>(
    backend: &CudaBackend,
    prepared: &dyn PreparedSpmm,
    plan: &Plan,
    a: &Csr<T>,
    n: usize,
) {
    let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(a.nrows(), n, 2));
    let mut c = before.clone();
    let (b_view, c_view) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
    prepared.execute(-2.5, b_view, 0.5, c_view).unwrap();
    let added = Some((0.5, T::erase_acc(before.view())));
    let product = Product { alpha: -2.5, b: T::erase(b.view()), added };
    let rounding = backend.rounding(plan);
    let verdict = verify(a, plan, &product, &T::erase_acc(c.view()), rounding).unwrap();
    assert!(verdict.passed(), "{} {}, n = {n}: {verdict:?}", plan.spec(), T::DTYPE);
}

/// On 132 multiprocessors each size takes another configuration: tiles of rows alone and in clusters, narrow
/// and wide.
#[test]
fn two_four_multiplies_in_every_configuration() {
    let Some(backend) = common::backend() else { return };
    for (m, n) in [(100, 64), (100, 16896), (100, 33792), (2000, 1024), (600, 8192), (1000, 8192)] {
        let a = two_four::<f16>(m, 600, 1).unwrap();
        let plan = plan_of(&a, FormatSpec::TwoFour);
        if backend.supports(&plan).is_ok() {
            let prepared = backend.prepare(&plan).unwrap();
            is_right::<f16>(&backend, &*prepared, &plan, &a, n);
        }
    }
}

/// Blocks that are all there, in every configuration of the dense kernel: small enough to be followed.
#[test]
fn every_kernel_for_full_blocks_multiplies() {
    let Some(backend) = common::backend() else { return };
    if !backend.capabilities().unwrap().formats.contains(&FormatKind::Bcsr) {
        return;
    }
    every_dense_kernel::<f16>(&backend);
    every_dense_kernel::<bf16>(&backend);
    every_dense_kernel::<f32>(&backend);
}

fn every_dense_kernel<T: DenseScalar>(backend: &CudaBackend)
where
    T::Acc: PartialEq,
{
    let a = where_(330, 170, |i, j| (i * 7 + j * 3) % 11 == 0).unwrap().cast::<T>();
    let plan = plan_of(&a, FormatSpec::Bcsr { block_rows: 64, block_cols: 64 });
    let rungs = DenseConfig::ladder(T::DTYPE).into_iter().map(|rung| rung.config);
    let all = DenseConfig::products(T::DTYPE).iter().copied().chain(rungs);
    let all = all.map(FullBlocks::Dense).chain([FullBlocks::Fastest, FullBlocks::Blocks]);
    let prepared: Vec<_> =
        all.map(|full| (full, backend.prepare_device_with(&plan, full).unwrap())).collect();
    // Copied by tensor copies or by elements, C too.
    for (n, beta) in [(304, 0.0), (300, 0.5), (7, 0.0)] {
        let (b, before) = (random::<T>(a.ncols(), n, 1), random::<T::Acc>(a.nrows(), n, 2));
        let mut first = None;
        for (full, prepared) in &prepared {
            let mut c = before.clone();
            let (b_view, c_view) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
            prepared.execute(-2.5, b_view, beta, c_view).unwrap();
            let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
            let product = Product { alpha: -2.5, b: T::erase(b.view()), added };
            let rounding = backend.rounding(&plan);
            let verdict = verify(&a, &plan, &product, &T::erase_acc(c.view()), rounding).unwrap();
            assert!(verdict.passed(), "{full:?} {}, n = {n}: {verdict:?}", T::DTYPE);
            assert!(
                *first.get_or_insert(c.clone()) == c,
                "{full:?} {}, n = {n}: other bits",
                T::DTYPE
            );
        }
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

#[test]
fn operands_that_do_not_fit_are_refused() {
    let Some(backend) = common::backend() else { return };
    let a = graph();
    let prepared = backend.prepare_device(&plan(&a)).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k, n) = (a.nrows(), a.ncols(), 8);
    let b = stream.alloc_zeros::<f32>((k + 1) * n).unwrap();
    let mut c = stream.alloc_zeros::<f32>((m + 1) * n).unwrap();
    for (b_rows, c_rows, c_cols, operand) in
        [(k + 1, m, n, "B"), (k, m + 1, n, "C"), (k, m, n - 1, "C")]
    {
        let b = DeviceMatrix::new(&b, Strides::row_major(b_rows, n)).unwrap();
        let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(c_rows, c_cols)).unwrap();
        let error = prepared.execute_device(&stream, 1.0, &b, 0.0, &mut c).unwrap_err();
        assert!(matches!(error, BackendError::Shape { operand: o, .. } if o == operand), "{error}");
    }
    let wide = stream.alloc_zeros::<f64>(k * n).unwrap();
    let mut c = stream.alloc_zeros::<f64>(m * n).unwrap();
    let b = DeviceMatrix::new(&wide, Strides::row_major(k, n)).unwrap();
    let mut c = DeviceMatrixMut::new(&mut c, Strides::row_major(m, n)).unwrap();
    let error = prepared.execute_device(&stream, 1.0, &b, 0.0, &mut c).unwrap_err();
    assert!(matches!(error, BackendError::DType { operand: "B", .. }), "{error}");
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let options = CudaOptions::default().libraries(common::libraries()).device(1000);
    let backend = CudaBackend::new(options);
    let BackendError::Unavailable { reason, .. } = backend.capabilities().unwrap_err() else {
        panic!("device 1000 exists")
    };
    let error = backend.context().unwrap_err();
    match &*error {
        CudaError::NoDevice { index: 1000, .. } => assert!(reason.contains("1000"), "{reason}"),
        CudaError::LibraryNotFound { tried, .. } => {
            assert!(tried.iter().any(|tried| tried.name.contains("libcuda.so.1")), "{reason}");
        }
        other => panic!("{other}"),
    }
}

/// A matrix in page-locked memory.
fn pinned(backend: &CudaBackend, matrix: &Array2<f32>) -> cudarc::driver::PinnedHostSlice<f32> {
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
