//! C of f16 and bf16, on the device.

use girih_backend::{Activation, DenseScalar, SpmmBackend};
use girih_backend_cuda::{
    CudaBackend, DeviceEpilogue, DeviceMatrix, DeviceMatrixMut, Half, Strides, bits_memory,
    half_memory,
};
use girih_formats::FormatSpec;
use girih_testkit::operands::random;
use half::{bf16, f16};

use super::{common, graph, on_device, plan_of};

/// What a C of f32 has is rounded once, also behind a bias and an activation, in rows that are vectors and others; and C
/// is the next product's B.
#[test]
fn a_rounded_c_has_what_f32_has_and_is_the_next_b() {
    let Some(backend) = common::backend() else { return };
    let formats = backend.capabilities().unwrap().formats;
    for spec in [
        FormatSpec::Csr,
        FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
        FormatSpec::Wcsr { window_rows: 16, pad_cols: 16 },
        FormatSpec::BMat { pattern_only: false },
    ] {
        if formats.contains(&spec.kind()) {
            for n in [6, 104] {
                rounds::<f16>(&backend, spec, n);
                rounds::<bf16>(&backend, spec, n);
            }
        }
    }
}

fn rounds<T: DenseScalar<Acc = f32> + Half>(backend: &CudaBackend, spec: FormatSpec, n: usize) {
    let plan = plan_of(&graph().cast::<T>(), spec);
    let prepared = backend.prepare_device(&plan).unwrap();
    let stream = backend.context().unwrap().new_stream().unwrap();
    let (m, k) = (plan.nrows(), plan.ncols());
    assert_eq!(m, k);
    let all = Strides::row_major(m, n);
    let b = on_device(&stream, &random::<T>(k, n, 1));
    let b = DeviceMatrix::new(&b, all).unwrap();
    let bias = stream.clone_htod(random::<f32>(n, 1, 2).as_slice().unwrap()).unwrap();
    let relu = DeviceEpilogue::new().activation(Activation::Relu);
    let relu = relu.bias_per_column(&bias, Strides::row_major(n, 1)).unwrap();
    for epilogue in [DeviceEpilogue::new(), relu] {
        let mut wide = stream.alloc_zeros::<f32>(m * n).unwrap();
        let mut c = DeviceMatrixMut::new(&mut wide, all).unwrap();
        prepared.execute_device_with(&stream, 0.5, &b, 0.0, &mut c, &epilogue).unwrap();
        let mut narrow = half_memory::<T>(stream.alloc_zeros::<u16>(m * n).unwrap());
        let mut c = DeviceMatrixMut::new(&mut narrow, all).unwrap();
        prepared.execute_device_rounded(&stream, 0.5, &b, 0.0, &mut c, &epilogue).unwrap();
        let mut next = stream.alloc_zeros::<f32>(m * n).unwrap();
        let mut c = DeviceMatrixMut::new(&mut next, all).unwrap();
        let hidden = DeviceMatrix::new(&narrow, all).unwrap();
        prepared.execute_device(&stream, 1.0, &hidden, 0.0, &mut c).unwrap();
        let wide = stream.clone_dtoh(&wide).unwrap();
        let narrow = stream.clone_dtoh(&bits_memory(narrow)).unwrap();
        let next = stream.clone_dtoh(&next).unwrap();
        stream.synchronize().unwrap();
        let nearest = |x: &f32| T::from_f64(f64::from(*x));
        let narrow: &[T] = bytemuck::cast_slice(&narrow);
        let what = format!("{spec}, {}, n = {n}, {epilogue:?}", T::DTYPE);
        assert!(wide.iter().zip(narrow).all(|(wide, narrow)| nearest(wide) == *narrow), "{what}");
        assert!(next.iter().any(|&x| x != 0.0), "{what}");
    }
}
