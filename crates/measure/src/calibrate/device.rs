//! This CPU, described by measuring it.

use girih::DType;
use girih::cpu::Isa;
use girih::cpu::roofline::{Bandwidth, Roofline, RooflineOptions};
use girih::planner::DeviceSpec;
use girih::planner::device::{CpuFacts, MeasuredRates};

use crate::MeasureError;
use crate::machine::Machine;

/// Describes this CPU with bandwidths and peaks that are measured in about a second.
///
/// # Errors
/// If there is not enough memory to measure with.
pub fn measured_cpu() -> Result<DeviceSpec, MeasureError> {
    let last_level = Machine::this().last_level().unwrap_or(64 << 20);
    // A working set shows the bandwidth of memory only if it is much larger than the last cache.
    let options =
        RooflineOptions::default().max_bytes((last_level * 4).max(128 << 20)).seconds(1.0);
    let roofline = Roofline::measure(Isa::best(), &options).map_err(MeasureError::MeasuredCpu)?;
    let from_memory = roofline.bandwidths().last().map_or(0.0, Bandwidth::best);
    let measured = Some(MeasuredRates {
        memory_bandwidth: from_memory,
        // A working set of half the last cache is surely in it.
        cache_bandwidth: roofline.bandwidth(last_level as f64 / 2.0),
        f32_flops: roofline.peak(DType::F32),
        f64_flops: roofline.peak(DType::F64),
    });
    Ok(DeviceSpec::of_cpu(&CpuFacts { measured, ..CpuFacts::here() }))
}
