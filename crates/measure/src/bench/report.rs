//! What `girih bench` reports to machines.

use girih::DType;
use girih::cpu::roofline::Limit;
use girih::cuda::CudaRoofline;
use serde::Serialize;

use super::engine::{Engine, Engines};
use super::group::{Case, Group};
use super::options::isa_name;
use super::ratios::{RatioFacts, ratios};
use super::roofline::{self, DeviceFacts, Measured, RooflineFacts};
use super::sampling::Summary;
use crate::machine::Machine;

/// What bytes, flops and percentages are about.
const COUNTED: &str = "bytes: A as CSR with 32-bit indices, B and C once each; flops: 2·nnz·n; \
    gflops and gbytes_per_second: over the median time; roofline: the longer of bytes over the best \
    bandwidth at a working set of that size and flops over the peak of fused multiply-add, as a \
    share of the median time; l2_percent: the least time for reading the rows of B that the tiles name \
    from the device's second-level cache, as a share of the median time; ratios: the median time of the \
    fastest of a peer's ways over that of the case";

/// What `--json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Facts {
    pub(super) version: &'static str,
    pub(super) machine: Machine,
    pub(super) counted: &'static str,
    /// Seconds to spend on each case.
    pub(super) seconds: f64,
    pub(super) seed: u64,
    pub(super) rooflines: Vec<RooflineFacts>,
    /// What the device could do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<DeviceFacts>,
    pub(super) matrices: Vec<MatrixFacts>,
    pub(super) cases: Vec<CaseFacts>,
    pub(super) skipped: Vec<SkippedFacts>,
    /// Of cases on a device, to what they are compared with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) ratios: Vec<RatioFacts>,
}

#[derive(Debug, Serialize)]
pub(super) struct MatrixFacts {
    pub(super) name: String,
    /// `generated`, or the path.
    pub(super) source: String,
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) nnz: usize,
}

/// The problem that a case is of.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Problem {
    pub(super) matrix: String,
    pub(super) dtype: &'static str,
    pub(super) n: usize,
    pub(super) bytes: u64,
    pub(super) flops: u64,
}

impl Problem {
    pub(super) fn new(matrix: &MatrixFacts, dtype: DType, n: usize) -> Self {
        let MatrixFacts { m, k, nnz, .. } = *matrix;
        let size = dtype.size() as u64;
        // A fits in memory, and so do B and C of any case that is run; those of others may not.
        let [m, k, nnz, cols] = [m, k, nnz, n].map(|x| x as u64);
        let a = 4 * (m + 1) + nnz * (4 + size);
        let dense = k.saturating_mul(size) + m.saturating_mul(dtype.accumulator().size() as u64);
        Self {
            matrix: matrix.name.clone(),
            dtype: dtype.name(),
            n,
            bytes: a.saturating_add(dense.saturating_mul(cols)),
            flops: (2 * nnz).saturating_mul(cols),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct CaseFacts {
    #[serde(flatten)]
    pub(super) problem: Problem,
    /// As it was asked for.
    pub(super) format: String,
    /// What it came to, with its sizes.
    pub(super) spec: String,
    /// As it was asked for, and what it came to.
    pub(super) reorder: String,
    pub(super) order: String,
    #[serde(flatten)]
    pub(super) engine: EngineFacts,
    pub(super) tile_bytes: u64,
    pub(super) plan_seconds: f64,
    pub(super) prepare_seconds: f64,
    /// The same two in products of the median time.
    pub(super) plan_products: f64,
    pub(super) prepare_products: f64,
    /// At most 1 if every element is right.
    pub(super) max_error_over_bound: f64,
    /// Elements compared, and those of them that overflow on the way and can't be judged.
    pub(super) elements: u64,
    pub(super) unjudged: u64,
    /// Elements that are NaN or infinite, which have no error.
    pub(super) non_finite: u64,
    pub(super) samples: usize,
    /// Products in each sample.
    pub(super) calls_per_sample: u32,
    pub(super) min_seconds: f64,
    pub(super) q1_seconds: f64,
    pub(super) median_seconds: f64,
    pub(super) q3_seconds: f64,
    pub(super) gflops: f64,
    pub(super) gbytes_per_second: f64,
    /// `None` with `--roofline off`.
    #[serde(flatten)]
    pub(super) floor: Option<FloorFacts>,
    /// The share of all processors that other programs had meanwhile.
    pub(super) other_load: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct EngineFacts {
    pub(super) backend: String,
    pub(super) isa: Option<&'static str>,
    /// Which of several ways it multiplied in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) way: Option<&'static str>,
    /// `None` on a device.
    pub(super) threads: Option<usize>,
    /// What it runs on, if that is not this processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<String>,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct FloorFacts {
    pub(super) floor_seconds: f64,
    /// `bandwidth` or `compute`.
    pub(super) limit: &'static str,
    pub(super) roofline_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) l2_percent: Option<f64>,
}

/// What could be reached, here and on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach<'a> {
    pub(super) here: &'a [Measured],
    pub(super) device: Option<&'a CudaRoofline>,
}

#[derive(Debug, Serialize)]
pub(super) struct SkippedFacts {
    pub(super) matrix: String,
    pub(super) dtype: &'static str,
    pub(super) n: usize,
    pub(super) format: String,
    pub(super) reorder: String,
    /// The one that can't, if it is not the format that can't.
    #[serde(flatten)]
    pub(super) engine: Option<EngineFacts>,
    pub(super) reason: String,
}

impl Facts {
    pub(super) fn new(machine: Machine, reach: Reach<'_>, seconds: f64, seed: u64) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            machine,
            counted: COUNTED,
            seconds,
            seed,
            rooflines: reach.here.iter().map(roofline::facts).collect(),
            device: reach.device.map(DeviceFacts::new),
            matrices: Vec::new(),
            cases: Vec::new(),
            skipped: Vec::new(),
            ratios: Vec::new(),
        }
    }

    /// Adds what came of a group.
    pub(super) fn push(
        &mut self,
        matrix: &MatrixFacts,
        (dtype, n): (DType, usize),
        group: &Group<'_>,
        engines: &Engines,
        reach: Reach<'_>,
    ) {
        let problem = Problem::new(matrix, dtype, n);
        let first = self.cases.len();
        for case in &group.cases {
            let floor = floor(&problem, dtype, case, engines, reach);
            self.cases.push(CaseFacts::new(&problem, case, engines, floor, group.other_load));
        }
        let ratios = ratios(&self.cases[first..]);
        self.ratios.extend(ratios);
        self.skipped.extend(group.skipped.iter().map(|skipped| SkippedFacts {
            matrix: problem.matrix.clone(),
            dtype: problem.dtype,
            n,
            format: skipped.asked.format.to_string(),
            reorder: skipped.asked.order.to_string(),
            engine: skipped.engine.map(|at| engine_facts(&engines.engines[at], engines, None)),
            reason: skipped.reason.clone(),
        }));
    }
}

impl CaseFacts {
    fn new(
        problem: &Problem,
        case: &Case<'_>,
        engines: &Engines,
        floor: Option<FloorFacts>,
        other_load: Option<f64>,
    ) -> Self {
        let Summary { samples, min, q1, median, q3 } = case.samples.summary();
        let (planning, preparing) = (case.planning.as_secs_f64(), case.preparing.as_secs_f64());
        Self {
            problem: problem.clone(),
            format: case.asked.format.to_string(),
            spec: case.spec.clone(),
            reorder: case.asked.order.to_string(),
            order: case.order.clone(),
            engine: engine_facts(case.engine, engines, case.way),
            tile_bytes: case.tile_bytes,
            plan_seconds: planning,
            prepare_seconds: preparing,
            plan_products: planning / positive(median),
            prepare_products: preparing / positive(median),
            max_error_over_bound: case.verification.max_error_over_bound,
            elements: case.verification.elements,
            unjudged: case.verification.unjudged,
            non_finite: case.verification.non_finite,
            samples,
            calls_per_sample: case.samples.calls,
            min_seconds: min,
            q1_seconds: q1,
            median_seconds: median,
            q3_seconds: q3,
            gflops: problem.flops as f64 / positive(median) / 1e9,
            gbytes_per_second: problem.bytes as f64 / positive(median) / 1e9,
            floor,
            other_load,
        }
    }
}

/// A time that can be divided by: a clock too coarse for a product must not make it infinitely
/// fast.
fn positive(seconds: f64) -> f64 {
    seconds.max(1e-9)
}

fn engine_facts(engine: &Engine, engines: &Engines, way: Option<&'static str>) -> EngineFacts {
    let device = engine.who.device();
    EngineFacts {
        backend: engine.who.name().to_owned(),
        isa: engine.isa.map(isa_name),
        way,
        threads: device.is_none().then(|| engines.teams[engine.team].threads()),
        device: device.and_then(|device| device.describe().ok()),
    }
}

fn floor(
    problem: &Problem,
    dtype: DType,
    case: &Case<'_>,
    engines: &Engines,
    reach: Reach<'_>,
) -> Option<FloorFacts> {
    let median = positive(case.samples.summary().median);
    let (bytes, flops) = (problem.bytes as f64, problem.flops as f64);
    if case.engine.who.device().is_some() {
        let device = reach.device?;
        let (memory, compute) = (bytes / device.memory, flops / device.peak(dtype, case.tf32));
        let gathered = |rows| rows as f64 * (problem.n * dtype.size()) as f64;
        return Some(FloorFacts {
            floor_seconds: memory.max(compute),
            limit: if memory >= compute { "bandwidth" } else { "compute" },
            roofline_percent: 100.0 * memory.max(compute) / median,
            l2_percent: case.gathered_rows.map(|r| 100.0 * gathered(r) / device.l2 / median),
        });
    }
    let (isa, threads) = (case.engine.floor_isa?, engines.teams[case.engine.team].threads());
    let roofline = &reach.here.iter().find(|m| m.is_of(isa, threads))?.roofline;
    let floor = roofline.floor(dtype, bytes, flops);
    Some(FloorFacts {
        floor_seconds: floor.seconds,
        limit: match floor.limit {
            Limit::Bandwidth => "bandwidth",
            Limit::Compute => "compute",
        },
        roofline_percent: 100.0 * floor.seconds / median,
        l2_percent: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_csr_and_both_operands() {
        let matrix = MatrixFacts {
            name: "a".to_owned(),
            source: "generated".to_owned(),
            m: 10,
            k: 20,
            nnz: 30,
        };
        let f32 = Problem::new(&matrix, DType::F32, 7);
        assert_eq!((f32.bytes, f32.flops), (44 + 30 * 8 + 7 * 4 * (10 + 20), 420));
        // B in two bytes, C in four.
        let bf16 = Problem::new(&matrix, DType::Bf16, 7);
        assert_eq!(bf16.bytes, 44 + 30 * 6 + 7 * (2 * 20 + 4 * 10));
    }
}
