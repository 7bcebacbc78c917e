//! Operands of any strides, on any stream, or of a shape that does not fit.

use girih_backend::{BackendError, Product, SpmmBackend, verify};
use girih_backend_cuda::{DeviceMatrix, DeviceMatrixMut, Strides};
use girih_testkit::operands::random;
use ndarray::Array2;
use std::sync::Arc;

use super::{common, graph, plan};

/// A matrix as elements of a slice, those around it NaN.
pub(super) fn placed(matrix: &Array2<f32>, strides: Strides, len: usize) -> Vec<f32> {
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
pub(super) fn strides(rows: usize, cols: usize) -> Vec<Strides> {
    let padded = cols.next_multiple_of(4) + 4;
    vec![
        Strides::row_major(rows, cols),
        Strides { row_stride: padded, ..Strides::row_major(rows, cols) },
        Strides { offset: 1, row_stride: padded, ..Strides::row_major(rows, cols) },
        Strides::col_major(rows, cols),
        Strides { offset: 3, rows, cols, row_stride: 2 * cols + 1, col_stride: 2 },
    ]
}

pub(super) fn len(strides: Strides) -> usize {
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
