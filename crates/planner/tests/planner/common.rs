//! Kernels of a GPU that exists in tests alone: what a backend would register.

use girih_formats::{DType, FormatSpec};
use girih_planner::device::DeviceKind;
use girih_planner::explanation::ScheduleKind;
use girih_planner::kernels::{KernelCatalog, KernelConfig, KernelWork};
use girih_planner::schedule::Reduction;
use girih_planner::{DeviceSpec, Kernels, PlanOptions};

/// Options for a built-in device, with [`TestKernels`] where it is a GPU.
pub(crate) fn options(device: &str, n: usize) -> PlanOptions {
    let target = DeviceSpec::builtin(device).unwrap();
    let kernels = match target.kind {
        DeviceKind::Cpu => Kernels::default(),
        DeviceKind::Cuda => Kernels::new(TestKernels),
    };
    PlanOptions::new(n).target(target).kernels(kernels)
}

/// CSR anywhere; BCSR of 64×64 and WCSR of up to 64 rows on Hopper, not for f64; BMat in partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TestKernels;

impl KernelCatalog for TestKernels {
    fn backend(&self) -> &'static str {
        "test"
    }

    fn candidates(&self, _: &DeviceSpec, dtype: DType) -> Vec<FormatSpec> {
        let pad_cols = 32 / dtype.size();
        vec![
            FormatSpec::Csr,
            FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
            FormatSpec::Wcsr { window_rows: 16, pad_cols },
            FormatSpec::Wcsr { window_rows: 64, pad_cols },
        ]
    }

    fn check(&self, device: &DeviceSpec, spec: FormatSpec, dtype: DType) -> Result<(), String> {
        match spec {
            FormatSpec::Csr => Ok(()),
            _ if device.compute_capability < 90 => Err("its kernels need wgmma".to_owned()),
            _ if dtype == DType::F64 => Err("tensor cores take no f64".to_owned()),
            FormatSpec::Bcsr { block_rows: 64, block_cols: 64 } => Ok(()),
            FormatSpec::Wcsr { window_rows: ..=64, .. } | FormatSpec::BMat { .. } => Ok(()),
            _ => Err("there is no such kernel".to_owned()),
        }
    }

    fn schedules(&self, spec: FormatSpec) -> Vec<ScheduleKind> {
        match spec {
            FormatSpec::Csr => vec![ScheduleKind::Tasks],
            FormatSpec::Wcsr { .. } => vec![
                ScheduleKind::Windows,
                ScheduleKind::Split(Reduction::TwoPass),
                ScheduleKind::Split(Reduction::Atomic),
            ],
            FormatSpec::BMat { .. } => vec![ScheduleKind::Partitions, ScheduleKind::Windows],
            _ => vec![ScheduleKind::Windows],
        }
    }

    fn config(&self, _: &DeviceSpec, work: &KernelWork) -> Option<KernelConfig> {
        // Narrow blocks where there are few tasks.
        let (entry, block_cols) = match work {
            KernelWork { spec: FormatSpec::Csr, .. } => return None,
            KernelWork { tasks: 256.., n: 129.., .. } => ("wide", 256),
            _ => ("narrow", 128),
        };
        Some(
            KernelConfig::new(entry)
                .block_cols(block_cols)
                .threads(256)
                .stages(3)
                .stage_tiles(4)
                .shared_bytes(96 << 10)
                .blocks_per_worker(2),
        )
    }
}
