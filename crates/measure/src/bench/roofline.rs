//! What the machine could reach: how it is measured, and how that is reported.

use std::fmt::{self, Display};

use girih::DType;
use girih::cpu::Isa;
use girih::cpu::roofline::{Roofline, RooflineError, RooflineOptions};
use girih::cuda::CudaRoofline;
use serde::Serialize;

use super::options::{RooflineAsked, isa_name};
use crate::error::{Class, CliError};
use crate::machine::Machine;

/// A roofline, the time that measuring it took, and the share of all processors that other programs
/// had meanwhile.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) roofline: Roofline,
    pub(super) seconds: f64,
    pub(super) other_load: Option<f64>,
}

impl Measured {
    pub(super) fn is_of(&self, isa: Isa, threads: usize) -> bool {
        self.roofline.isa() == isa && self.roofline.threads() == threads
    }
}

/// The largest working set that is measured, where the machine does not tell its caches.
const FAR_OUT: u64 = 512 << 20;

pub(super) fn options(
    effort: RooflineAsked,
    machine: &Machine,
    memory_limit: Option<u64>,
) -> Option<RooflineOptions> {
    // Memory shows only well past the last cache.
    let (factor, least, seconds) = match effort {
        RooflineAsked::Off => return None,
        RooflineAsked::Quick => (4, 64 << 20, 0.2),
        RooflineAsked::Full => (8, 128 << 20, 2.0),
    };
    let beyond = machine.last_level().map_or(FAR_OUT, |bytes| bytes.saturating_mul(factor));
    let max_bytes = beyond.max(least).min(memory_limit.unwrap_or(u64::MAX));
    Some(RooflineOptions { max_bytes, seconds })
}

pub(super) fn unmeasured(error: RooflineError) -> CliError {
    let (class, hint) = match error {
        RooflineError::Option { .. } => {
            (Class::Unsupported, "; raise --memory-limit or give --roofline off")
        }
        RooflineError::Memory(_) => (Class::Failed, "; --roofline quick or off needs less"),
        _ => (Class::Failed, ""),
    };
    CliError::new(class, format!("cannot measure the machine{hint}")).because(error)
}

#[derive(Debug, Serialize)]
pub(super) struct RooflineFacts {
    pub(super) isa: &'static str,
    pub(super) threads: usize,
    pub(super) f32_gflops: f64,
    pub(super) f64_gflops: f64,
    pub(super) bandwidths: Vec<BandwidthFacts>,
    /// What measuring it took.
    pub(super) seconds: f64,
    /// The share of all processors that other programs had meanwhile.
    pub(super) other_load: Option<f64>,
}

/// 10⁹ bytes per second over a working set.
#[derive(Debug, Serialize)]
pub(super) struct BandwidthFacts {
    pub(super) bytes: u64,
    pub(super) read: f64,
    pub(super) triad: f64,
    pub(super) streaming_triad: f64,
}

/// What is reported of a roofline.
pub(super) fn facts(Measured { roofline, seconds, other_load }: &Measured) -> RooflineFacts {
    let peak = |roofline: &Roofline, dtype| roofline.peak(dtype) / 1e9;
    RooflineFacts {
        isa: isa_name(roofline.isa()),
        threads: roofline.threads(),
        f32_gflops: peak(roofline, DType::F32),
        f64_gflops: peak(roofline, DType::F64),
        bandwidths: roofline
            .bandwidths()
            .iter()
            .map(|point| BandwidthFacts {
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

impl BandwidthFacts {
    /// The highest of the three.
    pub(super) fn best(&self) -> f64 {
        self.read.max(self.triad).max(self.streaming_triad)
    }
}

impl Display for RooflineFacts {
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

/// What is reported of a device's roofline: 10⁹ bytes and operations per second.
#[derive(Debug, Serialize)]
pub(super) struct DeviceFacts {
    pub(super) memory: f64,
    pub(super) l2: f64,
    pub(super) f32_gflops: f64,
    pub(super) f64_gflops: f64,
    /// `None` without cuBLASLt.
    pub(super) bf16_tensor_gflops: Option<f64>,
    pub(super) tf32_tensor_gflops: Option<f64>,
}

impl DeviceFacts {
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

impl Display for DeviceFacts {
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
            _ => f.write_str("; tensor cores not measured, for want of cuBLASLt"),
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
        assert_eq!(bytes(RooflineAsked::Off, &machine, None), None);
        assert_eq!(bytes(RooflineAsked::Full, &machine, None), Some(FAR_OUT));
        let cache = girih::cpu::Cache { level: 3, bytes: 32 << 20, shared_by: None };
        machine.caches.push(cache);
        assert_eq!(bytes(RooflineAsked::Full, &machine, None), Some(256 << 20));
        assert_eq!(bytes(RooflineAsked::Quick, &machine, None), Some(128 << 20));
        assert_eq!(bytes(RooflineAsked::Quick, &machine, Some(1 << 20)), Some(1 << 20));
    }
}
