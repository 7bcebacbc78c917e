//! Products of operands in device memory.

mod aggregations;
mod captured;
#[path = "../common/mod.rs"]
mod common;
mod complex;
mod epilogues;
mod host;
mod kernels;
mod new_values;
mod rounded;
mod sampled;
mod strided;

use bytemuck::cast_slice;
use girih_backend::{BackendError, DenseScalar, SpmmBackend};
use girih_backend_cuda::cudarc::driver::{CudaSlice, CudaStream};
use girih_backend_cuda::{CudaBackend, CudaError, CudaOptions};
use girih_formats::{Csr, FormatSpec, RowLayout, Scalar, Tiling};
use girih_generate::rmat;
use girih_planner::Plan;
use ndarray::Array2;
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

/// A copy of a matrix on the device. Of f16 and bf16 cudarc makes slices with a feature of its own only.
fn on_device<T: Scalar>(stream: &Arc<CudaStream>, matrix: &Array2<T>) -> CudaSlice<T> {
    let bytes = stream.clone_htod(cast_slice::<T, u8>(matrix.as_slice().unwrap())).unwrap();
    // SAFETY: the allocation is given up here, and holds as many elements, each of them valid.
    unsafe { stream.upgrade_device_ptr(bytes.leak(), matrix.len()) }
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
