//! What a planner knows of the kernels, without a device at hand.

use girih_formats::{DType, FormatKind, FormatSpec};
use girih_planner::device::DeviceKind;
use girih_planner::explanation::ScheduleKind;
use girih_planner::kernels::{Dispatch, KernelCatalog, KernelConfig, KernelWork};
use girih_planner::schedule::{Reduction, Task, Windows};
use girih_planner::{DeviceSpec, Kernels, Precision};

use crate::kernels::sm90_bcsr_spmm::{self, BLOCK, Load};
use crate::kernels::sm90_bmat_spmm::{self, Arithmetic};
use crate::kernels::sm90_dense_gemm::{self, Full};
use crate::kernels::sm90_two_four_spmm::{self, BY_COLUMNS};
use crate::kernels::sm90_wcsr_spmm;
use crate::kernels::supported::{self, has_atomic_mode};
use crate::operand::Place;
use crate::{Arch, NAME};

/// Windows that are considered where the choice of a format is free.
const WINDOW_ROWS: [usize; 4] = [8, 16, 32, 64];

/// Rows of B that stand for any number of them but one.
const SEVERAL: usize = 2;

/// The kernels of the CUDA backend, from the tables that it launches by.
///
/// ```
/// use girih_backend_cuda::CudaKernels;
/// use girih_formats::{DType, FormatSpec};
/// use girih_planner::{DeviceSpec, kernels::KernelCatalog};
///
/// let (h200, a100) = (DeviceSpec::builtin("h200").unwrap(), DeviceSpec::builtin("a100").unwrap());
/// let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
/// assert_eq!(CudaKernels.check(&h200, wcsr, DType::F32), Ok(()));
/// let missing = CudaKernels.check(&a100, wcsr, DType::F32).unwrap_err();
/// assert!(missing.contains("compute capability 9.0"), "{missing}");
/// assert_eq!(CudaKernels.candidates(&a100, DType::F32), [FormatSpec::Csr]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CudaKernels;

impl Arch {
    /// The architecture of a device that is described; `None` for a CPU.
    pub(crate) fn of(device: &DeviceSpec) -> Option<Self> {
        let (major, minor) = (device.compute_capability / 10, device.compute_capability % 10);
        (device.kind == DeviceKind::Cuda).then_some(Self { major, minor })
    }
}

/// The kernels that multiply f32 in a precision.
#[derive(Clone, Copy, Debug)]
struct InPrecision(Precision);

/// Those that may round f32 to TF32, until they are narrowed.
const ALL: InPrecision = InPrecision(Precision::Tf32);

/// Products in f32 may be in TF32, unless the catalog is narrowed by
/// [`in_precision`](KernelCatalog::in_precision).
impl KernelCatalog for CudaKernels {
    fn backend(&self) -> &'static str {
        ALL.backend()
    }

    fn candidates(&self, device: &DeviceSpec, dtype: DType) -> Vec<FormatSpec> {
        ALL.candidates(device, dtype)
    }

    fn check(&self, device: &DeviceSpec, spec: FormatSpec, dtype: DType) -> Result<(), String> {
        ALL.check(device, spec, dtype)
    }

    fn schedules(&self, spec: FormatSpec) -> Vec<ScheduleKind> {
        ALL.schedules(spec)
    }

    fn blocks(
        &self,
        device: &DeviceSpec,
        (spec, dtype): (FormatSpec, DType),
        windows: &dyn Windows,
        tasks: &[Task],
    ) -> u64 {
        ALL.blocks(device, (spec, dtype), windows, tasks)
    }

    fn dispatch(&self, spec: FormatSpec) -> Dispatch {
        ALL.dispatch(spec)
    }

    fn config(&self, device: &DeviceSpec, work: &KernelWork) -> Option<KernelConfig> {
        ALL.config(device, work)
    }

    fn in_precision(&self, precision: Precision) -> Option<Kernels> {
        ALL.in_precision(precision)
    }
}

impl KernelCatalog for InPrecision {
    fn backend(&self) -> &'static str {
        NAME
    }

    fn in_precision(&self, precision: Precision) -> Option<Kernels> {
        Some(Kernels::new(Self(precision)))
    }

    /// CSR, BCSR with blocks of 64×64, WCSR with windows of 8 to 64 rows whose columns are padded to what one
    /// instruction multiplies, 32 bytes of values, and 2:4: what the device has kernels for. None for a CPU.
    ///
    /// BMat and hybrids are left to callers who name them. On an H200, BMat was slower than the best of the others for
    /// each of 15 real matrices at n of 8, 128 and 1024. Hybrids were not faster for any of nine in three orders.
    /// Where f32 must not be rounded to TF32, CSR is left: on an H100, BMat's kernels without that rounding were slower
    /// for each of 11 matrices at n from 8 to 1024.
    fn candidates(&self, device: &DeviceSpec, dtype: DType) -> Vec<FormatSpec> {
        let bcsr = FormatSpec::Bcsr { block_rows: BLOCK, block_cols: BLOCK };
        let pad_cols = sm90_wcsr_spmm::step(dtype);
        let wcsr = WINDOW_ROWS.map(|window_rows| FormatSpec::Wcsr { window_rows, pad_cols });
        let all = [FormatSpec::Csr, bcsr].into_iter().chain(wcsr);
        let all = all.chain([FormatSpec::TwoFour]);
        all.filter(|&spec| self.check(device, spec, dtype).is_ok()).collect()
    }

    fn check(&self, device: &DeviceSpec, spec: FormatSpec, dtype: DType) -> Result<(), String> {
        let Some(arch) = Arch::of(device) else {
            return Err(format!("CUDA kernels do not run on a CPU such as {}", device.name));
        };
        supported::check(spec, dtype, self.0, Some(arch))
    }

    /// CSR: balanced tasks, whose cuts it keeps but for short parts. WCSR: a window each, or windows
    /// that are split, added up in order or atomically. BMat: partitions for persistent workers, a window each,
    /// or windows that are split and added up in order. Hybrid: a window each, or packed windows that are split and
    /// added up in order. All others: a window each; BCSR and 2:4 sum every
    /// row in one block of threads, however a schedule cuts its window.
    fn schedules(&self, spec: FormatSpec) -> Vec<ScheduleKind> {
        match spec.kind() {
            FormatKind::Csr => vec![ScheduleKind::Tasks],
            FormatKind::Wcsr => {
                let mut kinds =
                    vec![ScheduleKind::Windows, ScheduleKind::Split(Reduction::TwoPass)];
                if has_atomic_mode(spec.kind()) {
                    kinds.push(ScheduleKind::Split(Reduction::Atomic));
                }
                kinds
            }
            FormatKind::Hybrid => {
                vec![ScheduleKind::Windows, ScheduleKind::Split(Reduction::TwoPass)]
            }
            FormatKind::BMat => vec![
                ScheduleKind::Partitions,
                ScheduleKind::Windows,
                ScheduleKind::Split(Reduction::TwoPass),
            ],
            _ => vec![ScheduleKind::Windows],
        }
    }

    /// For WCSR: small windows share a block. For 2:4: tiles of rows.
    fn blocks(
        &self,
        device: &DeviceSpec,
        (spec, dtype): (FormatSpec, DType),
        windows: &dyn Windows,
        tasks: &[Task],
    ) -> u64 {
        match spec {
            FormatSpec::Wcsr { window_rows, pad_cols } => {
                let step = sm90_wcsr_spmm::step(dtype);
                let at_once = sm90_wcsr_spmm::at_once((dtype, window_rows), device.workers);
                sm90_wcsr_spmm::blocks(windows, tasks, (window_rows, pad_cols), (step, at_once))
            }
            FormatSpec::Bcsr { .. } => windows.n_windows() as u64,
            FormatSpec::TwoFour | FormatSpec::TwoFourE4m3 { .. } => {
                let n_slots = windows.n_windows() * spec.window_rows();
                n_slots.div_ceil(sm90_two_four_spmm::ROWS) as u64
            }
            _ => tasks.len() as u64,
        }
    }

    /// Rows of CSR go to warps and teams of lanes one by one, the longest first, whatever their task.
    fn dispatch(&self, spec: FormatSpec) -> Dispatch {
        match spec {
            FormatSpec::Csr => Dispatch::Windows,
            _ => Dispatch::Tasks,
        }
    }

    /// What is launched for row-major operands whose rows begin on 16 bytes, or are shorter than that.
    ///
    /// `None` for CSR, whose kernel keeps next to nothing in shared memory, and where there is no kernel.
    /// For BCSR whose blocks are all there it is the dense kernel, if that takes fewer cycles. Otherwise it is
    /// the configuration that takes block rows one by one: that three at a time read less follows from the
    /// pattern, which is not known here unless all blocks are there.
    fn config(&self, device: &DeviceSpec, work: &KernelWork) -> Option<KernelConfig> {
        let &KernelWork { spec, dtype, n, tasks, tiles, ncols } = work;
        self.check(device, spec, dtype).ok()?;
        // Rows of B begin on 16 bytes unless they are shorter.
        let b = Place::row_major(0, (SEVERAL, n.max(1)), dtype.size());
        let n = b.cols as u64;
        match spec {
            // Of a hybrid, what its packed windows run in.
            FormatSpec::Wcsr { window_rows, .. } | FormatSpec::Hybrid { window_rows, .. } => {
                let of = (dtype, window_rows);
                let in_rows = b.reads_in_vectors(16 / dtype.size() as u64);
                let config = sm90_wcsr_spmm::choose(of, (tasks, n), in_rows, device.workers);
                Some(config.described(dtype, window_rows))
            }
            FormatSpec::BMat { pattern_only } => {
                let in_rows = b.reads_in_vectors(16 / dtype.size() as u64);
                let arithmetic = Arithmetic::of(dtype, self.0);
                let config = sm90_bmat_spmm::choose(arithmetic, n, in_rows);
                Some(config.described(arithmetic, pattern_only))
            }
            FormatSpec::Bcsr { .. } => {
                // Block rows are tasks, however they are cut.
                let (block_rows, block_cols) = (tasks, ncols.div_ceil(BLOCK) as u64);
                let is_full = sm90_dense_gemm::is_full(tiles, block_rows, block_cols);
                let multiprocessors = u64::from(device.workers);
                let full = Full { dtype, block_rows, block_cols, n, multiprocessors };
                let (dense, entry) = sm90_dense_gemm::entries(&b, dtype.size() as u64);
                if is_full && let Some(index) = full.choose(dense, entry) {
                    return Some(sm90_dense_gemm::configs(dtype)[index].described(dense));
                }
                let load = match is_full {
                    true => sm90_bcsr_spmm::load_of_full(block_rows, block_cols),
                    false => Load { blocks: tiles, grouped_steps: None },
                };
                let index = sm90_bcsr_spmm::Config::index(dtype, n, entry, load);
                Some(sm90_bcsr_spmm::configs(dtype).get(index)?.described(entry))
            }
            FormatSpec::TwoFour => {
                let entry = sm90_two_four_spmm::entry(&b);
                let multiprocessors = device.workers;
                let work = sm90_two_four_spmm::Work { row_tiles: tasks, n, multiprocessors };
                let configs = sm90_two_four_spmm::configs(dtype);
                let index = sm90_two_four_spmm::Config::index(configs, entry, work);
                Some(configs.get(index)?.described(entry))
            }
            FormatSpec::TwoFourE4m3 { .. } => {
                let multiprocessors = device.workers;
                let work = sm90_two_four_spmm::Work { row_tiles: tasks, n, multiprocessors };
                let configs = sm90_two_four_spmm::narrow_configs();
                let index = sm90_two_four_spmm::Config::index(configs, BY_COLUMNS, work);
                Some(configs.get(index)?.described(BY_COLUMNS))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str) -> DeviceSpec {
        DeviceSpec::builtin(name).unwrap()
    }

    #[test]
    fn candidates_are_what_a_device_has_kernels_for() {
        let names = |device: &DeviceSpec, dtype| {
            let all = CudaKernels.candidates(device, dtype);
            all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        let h200 = device("h200");
        let expected = "csr, bcsr 64x64, wcsr 8/8, wcsr 16/8, wcsr 32/8, wcsr 64/8";
        assert_eq!(names(&h200, DType::F32), expected);
        assert_eq!(names(&h200, DType::Bf16), expected.replace("/8", "/16") + ", two-four");
        assert_eq!(names(&h200, DType::F64), "csr");
        assert_eq!(names(&device("a100"), DType::F16), "csr");
        for dtype in crate::kernels::COMPLEX {
            assert_eq!([&h200, &device("a100")].map(|gpu| names(gpu, dtype)), ["csr", "csr"]);
        }
        assert_eq!(names(&DeviceSpec::cpu(), DType::F32), "");
    }

    #[test]
    fn a_precision_leaves_what_honours_it() {
        let h200 = device("h200");
        let (wcsr, bmat) = (
            FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
            FormatSpec::BMat { pattern_only: false },
        );
        for precision in [Precision::ThreeTf32, Precision::F32] {
            let kernels = Kernels::new(CudaKernels).in_precision(precision);
            for gpu in [&h200, &device("a100")] {
                assert_eq!(kernels.candidates(gpu, DType::F32), [FormatSpec::Csr]);
            }
            assert_eq!(kernels.check(&h200, bmat, DType::F32), Ok(()));
            let reason = kernels.check(&h200, wcsr, DType::F32).unwrap_err();
            assert!(reason.contains("TF32") && reason.contains(precision.name()), "{reason}");
            // Nothing is rounded in other types.
            for dtype in [DType::F16, DType::Bf16, DType::F64] {
                let all = CudaKernels.candidates(&h200, dtype);
                assert_eq!(kernels.candidates(&h200, dtype), all, "{dtype}");
            }
            // And back again.
            let all = kernels.in_precision(Precision::Tf32);
            let expected = CudaKernels.candidates(&h200, DType::F32);
            assert_eq!(all.candidates(&h200, DType::F32), expected);
        }
        let threads = |precision| {
            let (dtype, n, tasks) = (DType::F32, 32, 5000);
            let work = KernelWork { spec: bmat, dtype, n, tasks, tiles: 5000, ncols: 9999 };
            let kernels = Kernels::new(CudaKernels).in_precision(precision);
            kernels.config(&h200, &work).unwrap().threads
        };
        // Warps that share rows of a window, or one of tensor cores, and those that bring what they multiply.
        assert_eq!(threads(Precision::F32), 6 * 32);
        assert_eq!([Precision::Tf32, Precision::ThreeTf32].map(threads), [2 * 32; 2]);
    }

    #[test]
    fn a_cpu_and_a_later_device_are_refused_with_a_reason() {
        let reason = CudaKernels.check(&DeviceSpec::cpu(), FormatSpec::Csr, DType::F32);
        assert!(reason.unwrap_err().contains("CPU"));
        let b200 = device("h200").with(|device| device.compute_capability = 100);
        let wcsr = FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 };
        let reason = CudaKernels.check(&b200, wcsr, DType::F32).unwrap_err();
        assert!(reason.contains("9.0") && reason.contains("10.0"), "{reason}");
        let work =
            KernelWork { spec: wcsr, dtype: DType::F32, n: 8, tasks: 9, tiles: 9, ncols: 99 };
        assert_eq!(CudaKernels.config(&b200, &work), None);
    }

    #[test]
    fn only_wcsr_splits_windows_and_adds_atomically() {
        let kinds = |spec| CudaKernels.schedules(spec);
        let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
        let split = |reduction| ScheduleKind::Split(reduction);
        let expected = [ScheduleKind::Windows, split(Reduction::TwoPass), split(Reduction::Atomic)];
        assert_eq!(kinds(wcsr), expected);
        assert_eq!(kinds(FormatSpec::Csr), [ScheduleKind::Tasks]);
        let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
        assert_eq!(kinds(bcsr), [ScheduleKind::Windows]);
        let hybrid = FormatSpec::Hybrid { window_rows: 16, pad_cols: 8, tile_entries: 10 };
        assert_eq!(kinds(hybrid), expected[..2]);
        let bmat = kinds(FormatSpec::BMat { pattern_only: false });
        let expected = [ScheduleKind::Partitions, ScheduleKind::Windows, split(Reduction::TwoPass)];
        assert_eq!(bmat, expected);
    }

    #[test]
    fn configurations_are_those_of_the_tables() {
        let h200 = device("h200");
        let config = |spec, dtype, n, tasks| {
            let work = KernelWork { spec, dtype, n, tasks, tiles: 5000, ncols: 9999 };
            CudaKernels.config(&h200, &work)
        };
        let bcsr = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
        let found = config(bcsr, DType::Bf16, 128, 100).unwrap();
        let described =
            (found.entry.as_str(), found.block_cols, found.stages, found.blocks_per_worker);
        assert_eq!(described, ("sm90_bcsr_spmm_rows", 128, 3, 3));
        // All 8 × 64 blocks of 512 × 4096, and all but one.
        let square = |tiles| {
            let work =
                KernelWork { spec: bcsr, dtype: DType::Bf16, n: 512, tasks: 8, tiles, ncols: 4096 };
            CudaKernels.config(&h200, &work).unwrap()
        };
        let (full, sparse) = (square(512), square(511));
        let described = (full.entry.as_str(), full.block_cols, full.stages, full.threads);
        assert_eq!(described, ("sm90_dense_gemm_rows", 64, 3, 384));
        assert!(full.shared_bytes <= h200.shared_bytes_per_block);
        assert_eq!(sparse.entry, "sm90_bcsr_spmm_rows");
        let wcsr = FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 };
        let wide = config(wcsr, DType::F32, 1024, 5000).unwrap();
        assert_eq!(
            (wide.entry.as_str(), wide.block_cols, wide.threads),
            ("wcsr_spmm_wide", 512, 384)
        );
        assert_eq!(config(wcsr, DType::F32, 1024, 10).unwrap().entry, "wcsr_spmm_narrow");
        assert!(wide.shared_bytes <= h200.shared_bytes_per_block);
        assert_eq!(config(FormatSpec::Csr, DType::F32, 64, 10), None);
        assert_eq!(config(wcsr, DType::F64, 64, 10), None);
    }
}
