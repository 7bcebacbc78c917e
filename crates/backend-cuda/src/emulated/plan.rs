//! Products of a plan on the emulated device.

use std::fmt;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use girih_backend::{
    Aggregation, BackendError, Bias, DenseView, DenseViewMut, Epilogue, Lowering, PreparedSpmm,
    real_scaling,
};
use girih_formats::{Complex, Scalar};
use ndarray::ArrayViewMut2;
use ptx_emu::report::Fault;
use ptx_emu::{Buffer, Device, Gpu, LaunchError};

use super::encoder::Encoder;
use super::operands::{Placed, Placing};
use super::{Emulated, Way};
use crate::CudaError;
use crate::epilogue::{PlacedEpilogue, is_per_row};
use crate::kernels::supported::takes_epilogue;
use crate::kernels::{Kernel, put_values};
use crate::launch::{DevicePlan, Launch, Operands};
use crate::operand::Place;
use crate::prepared::lowering::Recorded;
use crate::prepared::value_map::{PartMap, value_map};
use crate::prepared::{Requested, Source, Total};

/// A plan whose products are emulated.
pub(crate) struct EmulatedPlan {
    pub(super) device: Emulated,
    pub(super) device_plan: DevicePlan,
    pub(crate) source: Source,
}

/// Why a product was not computed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A kernel did something wrong.
    #[error("{kernel}: {fault}")]
    Fault { kernel: String, fault: Fault },
    /// A kernel could not be launched.
    #[error("{kernel}: {error}")]
    Launch { kernel: String, error: LaunchError },
    /// The plan takes no new values.
    #[error(transparent)]
    Values(#[from] Box<BackendError>),
    /// The launches could not be made.
    #[error(transparent)]
    Host(#[from] CudaError),
    /// Something was written between C's elements.
    #[error("element {0} of C's memory is not C's, and was written")]
    Stray(usize),
}

impl Failure {
    /// Why an entry point was not executed.
    pub(super) fn of(kernel: String, error: LaunchError) -> Self {
        match error {
            LaunchError::Fault(fault) => Self::Fault { kernel, fault },
            error => Self::Launch { kernel, error },
        }
    }
}

/// The error of the backend that ends a list of launches.
pub(super) fn ended() -> CudaError {
    CudaError::Operand { operand: "a kernel", reason: "was not executed".to_owned() }
}

impl fmt::Debug for EmulatedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatedPlan")
            .field("sequence", &self.device_plan.sequence)
            .finish_non_exhaustive()
    }
}

impl PreparedSpmm for EmulatedPlan {
    fn execute(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        self.execute_with(alpha, b, beta, c, &Epilogue::new())
    }

    fn execute_with(
        &self,
        alpha: f64,
        b: DenseView<'_>,
        beta: f64,
        c: DenseViewMut<'_>,
        epilogue: &Epilogue<'_>,
    ) -> Result<(), BackendError> {
        let n = self.device_plan.shape.check_rounded(&b, &c)?;
        epilogue.check(&self.device_plan.shape, n)?;
        let activation = (!epilogue.is_none()).then_some(epilogue.activation);
        takes_epilogue(self.device_plan.shape.dtype, activation)
            .and_then(|()| self.source.takes_output(c.dtype()))
            .map_err(|unsupported| unsupported.by("emulated"))?;
        if n == 0 || self.device_plan.shape.m == 0 {
            return Ok(());
        }
        self.in_turn((alpha.into(), beta.into()), &b, c, Requested::Sum(epilogue))
    }

    fn execute_complex(
        &self,
        alpha: Complex<f64>,
        b: DenseView<'_>,
        beta: Complex<f64>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let shape = self.device_plan.shape;
        if !shape.dtype.is_complex() {
            real_scaling(alpha, beta).map_err(|unsupported| unsupported.by("emulated"))?;
        }
        if shape.check_operands(&b, &c)? == 0 || shape.m == 0 {
            return Ok(());
        }
        self.in_turn((alpha, beta), &b, c, Requested::Sum(&Epilogue::new()))
    }

    fn aggregate(
        &self,
        aggregation: Aggregation,
        b: DenseView<'_>,
        c: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        let n = self.device_plan.shape.check_operands(&b, &c)?;
        let taken = self.source.takes_aggregation(aggregation);
        taken.map_err(|unsupported| unsupported.by("emulated"))?;
        if n == 0 || self.device_plan.shape.m == 0 {
            return Ok(());
        }
        let scales = (Total::sign(aggregation), Complex::ZERO);
        self.in_turn(scales, &b, c, Requested::Aggregation(aggregation))
    }

    /// As on a device, where the parts must come to what packing the new values makes of them.
    fn refresh(&mut self, values: DenseView<'_>) -> Result<(), BackendError> {
        let mut renewed = self.source.renewed("emulated", values.reborrow())?;
        let turn = self.device.0.products.fetch_add(1, Ordering::Relaxed);
        let way = self.device.0.ways[turn % self.device.0.ways.len()];
        let put = self.put_values(way, &values).map_err(|error| BackendError::Failed {
            backend: "emulated".to_owned(),
            operation: format!("put values, {way:?}"),
            source: error.into(),
        })?;
        for (part, bytes) in put {
            let (new, old) = (&mut renewed.parts[part], &mut self.device_plan.parts[part]);
            assert!(new.bytes() == bytes, "part {part} is not what packing makes of the values");
            std::mem::swap(new, old);
        }
        Ok(())
    }

    fn lowering(&self, n: usize) -> Lowering {
        self.device_plan.describe(Lowering::new("emulated", "ptx-emu", n))
    }
}

/// An operand that is read, in memory of its own.
pub(super) fn place(gpu: &mut Gpu, name: &str, placing: Placing, view: &DenseView<'_>) -> Place {
    match view {
        DenseView::F16(view) => Placed::new(gpu, name, placing, view, true).place,
        DenseView::Bf16(view) => Placed::new(gpu, name, placing, view, true).place,
        DenseView::F32(view) => Placed::new(gpu, name, placing, view, true).place,
        DenseView::F64(view) => Placed::new(gpu, name, placing, view, true).place,
        DenseView::C32(view) => Placed::new(gpu, name, placing, view, true).place,
        DenseView::C64(view) => Placed::new(gpu, name, placing, view, true).place,
    }
}

impl EmulatedPlan {
    /// The parts of values that new ones come to, on a device that has nothing else in its memory.
    ///
    /// # Errors
    /// What the kernel does wrong.
    pub(crate) fn put_values(
        &self,
        way: Way,
        values: &DenseView<'_>,
    ) -> Result<Vec<(usize, Vec<u8>)>, Failure> {
        let mut gpu = Gpu::new(Device::h100());
        let values = place(&mut gpu, "values", self.device.0.placing, values);
        let map = value_map(&self.source, "emulated").map_err(Box::new)?;
        let (kernel, mut put) = (put_values::kernel(), Vec::new());
        for PartMap { part, entries, packed } in map {
            let size = self.source.dtype().size();
            let to: Buffer<u8> = gpu.alloc_named(format!("part {part}"), entries.len() * size);
            // What is not written is not zero by chance.
            gpu.write(to, &vec![0xa5; entries.len() * size]);
            let from: Buffer<u32> = gpu.alloc_named("the map", entries.len());
            gpu.write(from, &entries);
            let (to_address, from, count) = (to.address(), from.address(), entries.len() as u64);
            let target = put_values::Target { to: to_address, from, count, size, packed };
            let mut failure = None;
            let done = target.launch(&values, &mut |launch| {
                let launched = self.device.launch(&mut gpu, way, &kernel, launch);
                launched.map_err(|error| {
                    failure = Some(Failure::of(format!("{kernel} {}", launch.entry), error));
                    ended()
                })
            });
            failure.map_or(done.map_err(Failure::from), Err)?;
            put.push((part, gpu.read(to)));
        }
        Ok(put)
    }

    /// What is requested, in the way whose turn it is.
    fn in_turn(
        &self,
        scales: (Complex<f64>, Complex<f64>),
        b: &DenseView<'_>,
        c: DenseViewMut<'_>,
        requested: Requested<'_, '_>,
    ) -> Result<(), BackendError> {
        let turn = self.device.0.products.fetch_add(1, Ordering::Relaxed);
        let way = self.device.0.ways[turn % self.device.0.ways.len()];
        self.multiply(way, scales, b, c, requested).map_err(|error| BackendError::Failed {
            backend: "emulated".to_owned(),
            operation: format!("multiply, {way:?}"),
            source: error.into(),
        })
    }

    /// The product or aggregation, on a device that has nothing else in its memory.
    ///
    /// # Errors
    /// What a kernel does wrong.
    pub(crate) fn multiply(
        &self,
        way: Way,
        (alpha, beta): (Complex<f64>, Complex<f64>),
        b: &DenseView<'_>,
        c: DenseViewMut<'_>,
        requested: Requested<'_, '_>,
    ) -> Result<(), Failure> {
        let mut gpu = Gpu::new(Device::h100());
        let placing = self.device.0.placing;
        let mut place = |name, view: &DenseView<'_>| place(&mut gpu, name, placing, view);
        let b = place("B", b);
        let total = match requested {
            Requested::Aggregation(aggregation) => Total::Aggregation(aggregation),
            Requested::Sum(epilogue) => {
                let bias = match &epilogue.bias {
                    None => None,
                    Some(Bias::PerRow(values) | Bias::PerColumn(values)) => {
                        Some(place("the bias", values))
                    }
                };
                let bias = bias.as_ref().map(|place| (place, is_per_row(epilogue)));
                Total::Sum(PlacedEpilogue::new(bias, epilogue.activation).rounded_to(c.dtype()))
            }
        };
        let factors = (alpha, beta);
        match c {
            DenseViewMut::F16(c) => self.run_into(&mut gpu, way, factors, b, c, &total),
            DenseViewMut::Bf16(c) => self.run_into(&mut gpu, way, factors, b, c, &total),
            DenseViewMut::F32(c) => self.run_into(&mut gpu, way, factors, b, c, &total),
            DenseViewMut::F64(c) => self.run_into(&mut gpu, way, factors, b, c, &total),
            DenseViewMut::C32(c) => self.run_into(&mut gpu, way, factors, b, c, &total),
            DenseViewMut::C64(c) => self.run_into(&mut gpu, way, factors, b, c, &total),
        }
    }

    /// Places C, executes the launches, and reads C back.
    fn run_into<A: Scalar>(
        &self,
        gpu: &mut Gpu,
        way: Way,
        (alpha, beta): (Complex<f64>, Complex<f64>),
        b: Place,
        c: ArrayViewMut2<'_, A>,
        total: &Total,
    ) -> Result<(), Failure> {
        // With β = 0, C is not even initialized.
        let read = !beta.is_zero();
        let placed = Placed::new(gpu, "C", self.device.0.placing, &c.view(), read);
        let operands = Operands { alpha, beta, b, c: placed.place };
        self.run(gpu, way, &operands, total)?;
        placed.fetch(gpu, c)
    }

    /// Uploads the device plan and executes its launches.
    fn run(
        &self,
        gpu: &mut Gpu,
        way: Way,
        operands: &Operands,
        total: &Total,
    ) -> Result<(), Failure> {
        let parts = self.device_plan.parts.iter().enumerate().map(|(i, part)| {
            let part = part.bytes();
            let buffer: Buffer<u8> = gpu.alloc_named(format!("part {i} of A"), part.len());
            gpu.write(buffer, part);
            buffer.address()
        });
        let parts = parts.collect();
        let workspace = match self.device_plan.workspace {
            0 => 0,
            bytes => gpu.alloc_named::<u8>("the workspace", bytes as usize).address(),
        };
        let at = self.device_plan.placed(parts, workspace, &Encoder)?;
        let mut recorded = Vec::new();
        let outline = self.device_plan.outline();
        let plain = &self.device_plan.kernels;
        let kernels: Vec<Kernel> = match total.later() {
            None => plain.clone(),
            Some(later) => plain.iter().map(|kernel| later.kernel(kernel)).collect(),
        };
        let mut failure = None;
        let launches = &mut |launch: &Launch<'_>| {
            recorded.push(Recorded::of(launch, outline.kernels()));
            let kernel = &kernels[launch.kernel];
            let Err(error) = self.device.launch(gpu, way, kernel, launch) else { return Ok(()) };
            let kernel = format!("{kernel} {}", launch.entry);
            failure = Some(Failure::of(kernel, error));
            Err(ended())
        };
        let sequence = &*self.device_plan.sequence;
        let done = total.launches(sequence, &at.addresses(), operands, &Encoder, launches);
        *self.device.0.launches.lock().unwrap_or_else(PoisonError::into_inner) = recorded;
        failure.map_or(done.map_err(Failure::from), Err)
    }
}
