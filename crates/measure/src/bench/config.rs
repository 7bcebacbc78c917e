//! What a benchmark measures, and how.

use girih::cpu::Isa;
use girih::{CudaOptions, DType, DeviceSpec, Precision};

use super::request::{
    BenchBackend, CaseRequest, FormatRequest, OrderRequest, RooflineEffort, ThreadCount,
};
use super::suite::SuiteReport;
use crate::MeasureError;

/// What a benchmark measures, and how.
#[derive(Clone, Debug)]
pub struct BenchConfig {
    /// Formats; each is run in every order.
    pub formats: Vec<FormatRequest>,
    /// Orders of the rows.
    pub orders: Vec<OrderRequest>,
    /// Columns of B.
    pub widths: Vec<usize>,
    /// What multiplies.
    pub backends: Vec<BenchBackend>,
    /// Numbers of threads.
    pub threads: Vec<ThreadCount>,
    /// Instruction sets of the CPU backend.
    pub isas: Vec<Isa>,
    /// Seconds to spend on each case.
    pub seconds: f64,
    /// How the machine's limits are measured.
    pub roofline: RooflineEffort,
    /// The most bytes that the tiles, B and C of a case may take; `None` for no limit.
    pub memory_limit: Option<u64>,
    /// The seed of B.
    pub seed: u64,
    /// How far products in f32 may round their operands.
    pub precision: Precision,
    /// The device that plans are made for. `None` is this CPU, or the GPU if products run nowhere else.
    pub device: Option<DeviceSpec>,
    /// How the CUDA backend and NVIDIA's libraries are set up.
    pub cuda: CudaOptions,
    /// The suite that the rest is of, for the report.
    pub suite: Option<SuiteReport>,
}

/// CSR and the planner's choice, on one thread and on all of them.
impl Default for BenchConfig {
    fn default() -> Self {
        Self {
            formats: vec![FormatRequest::CSR, FormatRequest::AUTO],
            orders: vec![OrderRequest::NONE],
            // With one column a product is bound by A, with many by B and C.
            widths: vec![1, 8, 32, 128],
            backends: vec![BenchBackend::Cpu],
            threads: vec![ThreadCount::Exactly(1), ThreadCount::All],
            isas: vec![Isa::best()],
            seconds: 0.5,
            roofline: RooflineEffort::Full,
            memory_limit: None,
            seed: 0,
            precision: Precision::default(),
            device: None,
            cuda: CudaOptions::default(),
            suite: None,
        }
    }
}

impl BenchConfig {
    /// Fewer columns and less time, for a first look.
    pub fn quick() -> Self {
        let roofline = RooflineEffort::Quick;
        Self { widths: vec![8, 128], seconds: 0.05, roofline, ..Self::default() }
    }

    /// Checks that the formats have sizes that suit them, in every value type.
    ///
    /// # Errors
    /// If one has not.
    pub fn check(&self, dtypes: &[DType]) -> Result<(), MeasureError> {
        for format in &self.formats {
            for &dtype in dtypes {
                format.choice(dtype)?;
            }
        }
        Ok(())
    }

    pub(super) fn requests(&self) -> Vec<CaseRequest> {
        let in_orders =
            |&format| self.orders.iter().map(move |&order| CaseRequest { format, order });
        self.formats.iter().flat_map(in_orders).collect()
    }
}
