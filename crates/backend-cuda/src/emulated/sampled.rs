//! Sampled products, emulated: the conformance suite, every entry point, and bits that strides don't change.

use std::sync::atomic::Ordering;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, SddmmBackend, check_sddmm,
    no_complex_samples,
};
use girih_formats::{Csr, CsrPattern, DType, RowLayout, Scalar};
use girih_testkit::conformance::run_sddmm_in_turns;
use girih_testkit::matrices;
use girih_testkit::operands::{Layout, Placed as Operand, random};
use half::{bf16, f16};
use ptx_emu::{Buffer, Device, Gpu};

use super::entries::all_executed;
use super::operands::{Placed, Placing};
use super::plan::{ended, place};
use super::{Emulated, Failure, MULTIPROCESSORS, Way};
use crate::kernels::csr_sddmm::{SampledOperands, kernel};
use crate::launch::Launch;
use crate::operand::Place;
use crate::prepared::sddmm_layout::Choice;

impl SddmmBackend for Emulated {
    fn sddmm(
        &self,
        pattern: CsrPattern<'_>,
        alpha: f64,
        x: DenseView<'_>,
        y: DenseView<'_>,
        beta: f64,
        s: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        check_sddmm(pattern, &x, &y, &s)?;
        if x.dtype().is_complex() {
            return Err(no_complex_samples(x.dtype()).by("emulated"));
        }
        if pattern.nnz() == 0 {
            return Ok(());
        }
        let turn = self.0.products.fetch_add(1, Ordering::Relaxed);
        let way = self.0.ways[turn % self.0.ways.len()];
        self.sample(way, pattern, None, (alpha, beta), (&x, &y), s).map_err(|error| {
            BackendError::Failed {
                backend: "emulated".to_owned(),
                operation: format!("sample the product, {way:?}"),
                source: error.into(),
            }
        })
    }
}

impl Emulated {
    /// A sampled product of a pattern with entries, on a device that has nothing else in its memory: entry by entry,
    /// or by windows of rows in an order.
    ///
    /// # Errors
    /// What the kernel does wrong.
    pub(crate) fn sample(
        &self,
        way: Way,
        pattern: CsrPattern<'_>,
        windows: Option<RowLayout>,
        scales: (f64, f64),
        (x, y): (&DenseView<'_>, &DenseView<'_>),
        s: DenseViewMut<'_>,
    ) -> Result<(), Failure> {
        let mut gpu = Gpu::new(Device::h100());
        let (placing, dtype) = (self.0.placing, x.dtype());
        let choice = Choice { windows, why: String::new() };
        let nowhere = Place { address: 0, ..Place::row_major(0, x.dim(), dtype.size()) };
        // With α = 0 neither is even there.
        let [x, y] = match scales.0 == 0.0 {
            true => [nowhere; 2],
            false => [place(&mut gpu, "X", placing, x), place(&mut gpu, "Y", placing, y)],
        };
        let (alpha, beta) = scales;
        let operands = |s| SampledOperands { alpha, x, y, beta, s };
        match s {
            DenseViewMut::F32(s) => {
                let placed = Placed::new(&mut gpu, "S", placing, &s.view(), beta != 0.0);
                self.run_sampling(
                    &mut gpu,
                    way,
                    (pattern, dtype),
                    &choice,
                    &operands(placed.place),
                )?;
                placed.fetch(&gpu, s)
            }
            DenseViewMut::F64(s) => {
                let placed = Placed::new(&mut gpu, "S", placing, &s.view(), beta != 0.0);
                self.run_sampling(
                    &mut gpu,
                    way,
                    (pattern, dtype),
                    &choice,
                    &operands(placed.place),
                )?;
                placed.fetch(&gpu, s)
            }
            _ => unreachable!("samples are of f32 or f64"),
        }
    }

    fn run_sampling(
        &self,
        gpu: &mut Gpu,
        way: Way,
        (pattern, dtype): (CsrPattern<'_>, DType),
        choice: &Choice,
        operands: &SampledOperands,
    ) -> Result<(), Failure> {
        let (method, addresses) = choice.parts(pattern, dtype, MULTIPROCESSORS, |parts| {
            let placed = parts.iter().enumerate().map(|(i, part)| {
                let buffer: Buffer<u8> = gpu.alloc_named(format!("part {i}"), part.len());
                gpu.write(buffer, part);
                buffer.address()
            });
            placed.collect::<Vec<u64>>()
        });
        let (kernel, mut failure) = (choice.kernel(dtype), None);
        let done = method.launch(&addresses, operands, &mut |launch: &Launch<'_>| {
            let launched = self.launch(gpu, way, &kernel, launch);
            launched.map_err(|error| {
                failure = Some(Failure::of(format!("{kernel} {}", launch.entry), error));
                ended()
            })
        });
        failure.map_or(done.map_err(Failure::from), Err)
    }
}

fn conforms(dtype: DType, placing: Placing) {
    let Some(device) = Emulated::new(placing) else { return };
    let report = run_sddmm_in_turns(&device, dtype);
    assert!(report.passed(), "{dtype}: {report}");
}

#[test]
fn f16_conforms() {
    conforms(DType::F16, Placing::AsSent);
}

#[test]
fn bf16_conforms() {
    conforms(DType::Bf16, Placing::AsGiven);
}

#[test]
fn f32_conforms() {
    conforms(DType::F32, Placing::AsGiven);
}

#[test]
fn f64_conforms() {
    conforms(DType::F64, Placing::AsSent);
}

/// Rows of 0 to 30 entries, one of them long, more than one run to a team's row and more than one row to its run.
fn pattern() -> Csr<f64> {
    matrices::where_(23, 90, |i, j| i == 4 || (i * 3 + j) % (7 * (i % 5) + 3) == 1 && i % 6 != 2)
        .unwrap()
}

/// The bits of a sampled product whose operands are laid out so.
pub(super) fn sampled<T: DenseScalar>(
    device: &impl SddmmBackend,
    pattern: &Csr<f64>,
    d: usize,
    layouts: [Layout; 2],
) -> Vec<u64> {
    let x = Operand::new(&random::<T>(pattern.nrows(), d, 1), layouts[0]);
    let y = Operand::new(&random::<T>(pattern.ncols(), d, 2), layouts[1]);
    let mut s = random::<T::Acc>(pattern.nnz(), 1, 3);
    let (x, y) = (T::erase(x.view()), T::erase(y.view()));
    let into = T::erase_acc_mut(s.view_mut());
    let done = device.sddmm(pattern.pattern(), -2.5, x, y, 0.5, into);
    done.unwrap_or_else(|error| panic!("d = {d}: {error:?}"));
    s.iter().map(|s| s.to_c64().re.to_bits()).collect()
}

/// Every entry point, as wide as its lanes, and bits that are the same read in vectors and element by element.
fn entries<T: DenseScalar>() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let (pattern, per_vector) = (pattern(), 16 / size_of::<T>());
    for vectors in [1, 2, 4, 8, 16, 32, 64, 65] {
        for d in [vectors * per_vector, vectors * per_vector - 1] {
            let by_rows = sampled::<T>(&device, &pattern, d, [Layout::RowMajor; 2]);
            let by_columns = [Layout::ColMajor, Layout::RowMajor];
            assert!(by_rows == sampled::<T>(&device, &pattern, d, by_columns), "d = {d}");
        }
    }
    let mut s = random::<T::Acc>(pattern.nnz(), 1, 3);
    let none = random::<T>(23, 4, 1);
    let y = random::<T>(90, 4, 1);
    let (x, y) = (T::erase(none.view()), T::erase(y.view()));
    device.sddmm(pattern.pattern(), 0.0, x, y, 0.5, T::erase_acc_mut(s.view_mut())).unwrap();
    all_executed(&device.executed(), &kernel(T::DTYPE));
}

#[test]
fn every_entry_samples_f16() {
    entries::<f16>();
}

#[test]
fn every_entry_samples_bf16() {
    entries::<bf16>();
}

#[test]
fn every_entry_samples_f32() {
    entries::<f32>();
}

#[test]
fn every_entry_samples_f64() {
    entries::<f64>();
}
