//! What the machine could reach: how that is measured and reported.

use std::fmt::{self, Display};

use girih::DType;
use girih::cpu::Isa;
use girih::cpu::roofline::{Roofline, RooflineOptions};
use girih_cuda_libraries::CudaRoofline;
use serde::Serialize;

use super::request::{RooflineEffort, isa_name};
use crate::machine::Machine;

/// A roofline, the time that measuring it took, and the share of all processors that other programs
/// had meanwhile.
#[derive(Debug)]
pub(super) struct MeasuredRoofline {
    pub roofline: Roofline,
    pub seconds: f64,
    pub other_load: Option<f64>,
}

impl MeasuredRoofline {
    pub(super) fn is_for(&self, isa: Isa, threads: usize) -> bool {
        self.roofline.isa() == isa && self.roofline.threads() == threads
    }
}

/// The largest working set that is measured, where the machine does not tell its caches.
const FAR_OUT: u64 = 512 << 20;

pub(super) fn options(
    effort: RooflineEffort,
    machine: &Machine,
    memory_limit: Option<u64>,
) -> Option<RooflineOptions> {
    // Memory shows only well past the last cache.
    let (factor, least, seconds) = match effort {
        RooflineEffort::Off => return None,
        RooflineEffort::Quick => (4, 64 << 20, 0.2),
        RooflineEffort::Full => (8, 128 << 20, 2.0),
    };
    let beyond = machine.last_level().map_or(FAR_OUT, |bytes| bytes.saturating_mul(factor));
    let max_bytes = beyond.max(least).min(memory_limit.unwrap_or(u64::MAX));
    Some(RooflineOptions::default().max_bytes(max_bytes).seconds(seconds))
}

/// What one instruction set could reach on a number of threads.
#[derive(Debug, Serialize)]
pub struct RooflineReport {
    /// The instruction set.
    pub isa: &'static str,
    /// The number of threads.
    pub threads: usize,
    /// The peak of fused multiply-add, in 10⁹ flops per second.
    pub f32_gflops: f64,
    /// The same in f64.
    pub f64_gflops: f64,
    /// Bandwidths by working set, the smallest first.
    pub bandwidths: Vec<BandwidthReport>,
    /// The time that measuring took.
    pub seconds: f64,
    /// The share of all processors that other programs had meanwhile.
    pub other_load: Option<f64>,
}

/// 10⁹ bytes per second over a working set.
#[derive(Debug, Serialize)]
pub struct BandwidthReport {
    /// The size of the working set.
    pub bytes: u64,
    /// Reading.
    pub read: f64,
    /// `a[i] = b[i] + s * c[i]`.
    pub triad: f64,
    /// The same, with stores that bypass the caches.
    pub streaming_triad: f64,
}

/// The report of a roofline.
pub(super) fn report(measured: &MeasuredRoofline) -> RooflineReport {
    let MeasuredRoofline { roofline, seconds, other_load } = measured;
    let peak = |roofline: &Roofline, dtype| roofline.peak(dtype) / 1e9;
    RooflineReport {
        isa: isa_name(roofline.isa()),
        threads: roofline.threads(),
        f32_gflops: peak(roofline, DType::F32),
        f64_gflops: peak(roofline, DType::F64),
        bandwidths: roofline
            .bandwidths()
            .iter()
            .map(|point| BandwidthReport {
                bytes: point.bytes,
                read: point.read / 1e9,
                triad: point.triad / 1e9,
                streaming_triad: point.streaming_triad / 1e9,
            })
            .collect(),
        seconds: *seconds,
        other_load: *other_load,
    }
}

impl BandwidthReport {
    /// The highest of the three.
    fn best(&self) -> f64 {
        self.read.max(self.triad).max(self.streaming_triad)
    }
}

impl Display for RooflineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { isa, threads, f32_gflops, f64_gflops, .. } = self;
        let s = if *threads == 1 { "" } else { "s" };
        write!(
            f,
            "{isa}, {threads} thread{s}: {f32_gflops:.0} GFLOP/s in f32, {f64_gflops:.0} in f64"
        )?;
        write!(f, "; GB/s by working set:")?;
        for (i, point) in self.bandwidths.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            // To the nearest power of two: whole lines on every thread come to a little less.
            let mib = point.bytes as f64 / f64::from(1 << 20);
            let size = if mib < 0.75 {
                format!("{:.0} KiB", 2f64.powf((1024.0 * mib).log2().round()))
            } else {
                format!("{:.0} MiB", 2f64.powf(mib.log2().round()))
            };
            write!(f, "{comma} {size} {:.0}", point.best())?;
        }
        Ok(())
    }
}

/// What a device could reach, in 10⁹ bytes and operations per second.
#[derive(Debug, Serialize)]
pub struct DeviceReport {
    /// From memory.
    pub memory: f64,
    /// From the second-level cache.
    pub l2: f64,
    /// The peak of fused multiply-add, in 10⁹ flops per second.
    pub f32_gflops: f64,
    /// The same in f64.
    pub f64_gflops: f64,
    /// Tensor cores in bf16; `None` without cuBLASLt.
    pub bf16_tensor_gflops: Option<f64>,
    /// Tensor cores in TF32.
    pub tf32_tensor_gflops: Option<f64>,
}

impl DeviceReport {
    pub(super) fn new(roofline: &CudaRoofline) -> Self {
        let giga = |per_second: f64| per_second / 1e9;
        Self {
            memory: giga(roofline.memory),
            l2: giga(roofline.l2),
            f32_gflops: giga(roofline.f32_flops),
            f64_gflops: giga(roofline.f64_flops),
            bf16_tensor_gflops: roofline.bf16_tensor_flops.map(giga),
            tf32_tensor_gflops: roofline.tf32_tensor_flops.map(giga),
        }
    }
}

impl Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { memory, l2, f32_gflops, f64_gflops, .. } = self;
        write!(
            f,
            "device: {memory:.0} GB/s from memory, {l2:.0} from its L2; multiply-adds {f32_gflops:.0} \
             GFLOP/s in f32, {f64_gflops:.0} in f64"
        )?;
        match (self.bf16_tensor_gflops, self.tf32_tensor_gflops) {
            (Some(bf16), Some(tf32)) => {
                write!(f, "; cuBLASLt {bf16:.0} in bf16, {tf32:.0} in tf32")
            }
            _ => f.write_str("; tensor cores not measured: cuBLASLt is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_roofline_reaches_past_the_caches_and_not_past_the_limit() {
        let mut machine = Machine { caches: Vec::new(), ..Machine::this() };
        let bytes = |effort, machine: &Machine, limit| {
            options(effort, machine, limit).map(|options| options.max_bytes)
        };
        assert_eq!(bytes(RooflineEffort::Off, &machine, None), None);
        assert_eq!(bytes(RooflineEffort::Full, &machine, None), Some(FAR_OUT));
        let cache = girih::cpu::Cache { level: 3, bytes: 32 << 20, shared_by: None };
        machine.caches.push(cache);
        assert_eq!(bytes(RooflineEffort::Full, &machine, None), Some(256 << 20));
        assert_eq!(bytes(RooflineEffort::Quick, &machine, None), Some(128 << 20));
        assert_eq!(bytes(RooflineEffort::Quick, &machine, Some(1 << 20)), Some(1 << 20));
    }
}
