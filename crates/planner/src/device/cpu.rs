//! A CPU that was looked at.

use super::family::{Nearest, nearest};
use super::{CpuSignature, DeviceSpec, Fit, PerDType, Terms};

/// What can be known of a CPU without running anything, and what was measured if something was.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuFacts {
    /// A name for people.
    pub name: String,
    /// What it says it is, if it does.
    pub signature: Option<CpuSignature>,
    /// Cores that work at once.
    pub cores: u32,
    /// Bits of a SIMD register.
    pub simd_bits: u32,
    /// Bytes of the largest cache, if known.
    pub cache_bytes: Option<u64>,
    /// Bytes of a core's own largest cache, if known.
    pub private_cache_bytes: Option<u64>,
    /// What a roofline of all cores together says, if it was measured.
    pub measured: Option<MeasuredRates>,
}

/// What all cores together reach at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRates {
    /// Bytes per second from main memory.
    pub memory_bandwidth: f64,
    /// Bytes per second from the largest cache.
    pub cache_bandwidth: f64,
    /// Flops per second of fused multiply-adds in f32.
    pub f32_flops: f64,
    /// The same in f64.
    pub f64_flops: f64,
}

impl DeviceSpec {
    /// A CPU of which some things are known: the nearest that was calibrated, scaled. Overheads per core shrink
    /// with more cores, rates grow; flops go with the width of registers. Memory bandwidth is taken to grow with
    /// the cores unless it was measured. The name says whose estimates they are, if they are of another family.
    ///
    /// What was measured goes before what was calibrated elsewhere, which is then left out.
    #[must_use]
    pub fn of_cpu(facts: &CpuFacts) -> Self {
        let Nearest { device, of_another } = nearest(facts.signature.as_ref());
        let generic = Self::builtin(device).unwrap_or_else(Self::cpu);
        let cores = facts.cores.max(1);
        let by_cores = f64::from(cores) / f64::from(generic.workers);
        let by_width = f64::from(facts.simd_bits.max(64)) / f64::from(generic.simd_bits);
        let name: String = facts.name.chars().filter(|c| !c.is_control()).take(30).collect();
        let mut device = Self {
            name: match of_another {
                Some(family) => format!("{name}, {cores} cores, by estimates of {family}"),
                None => format!("{name}, {cores} cores"),
            },
            simd_bits: facts.simd_bits,
            workers: cores,
            memory_bandwidth: generic.memory_bandwidth * by_cores,
            cache_bandwidth: generic.cache_bandwidth * by_cores,
            cache_bytes: facts.cache_bytes.unwrap_or(generic.cache_bytes),
            private_cache_bytes: facts.private_cache_bytes.unwrap_or(generic.private_cache_bytes),
            sparse_flops: generic.sparse_flops.scaled(by_cores * by_width),
            tile_flops: generic.tile_flops.scaled(by_cores * by_width),
            value_seconds: generic.value_seconds.scaled(1.0 / by_cores),
            window_seconds: generic.window_seconds / by_cores,
            bmat_tile_seconds: generic.bmat_tile_seconds / by_cores,
            fits: generic.fits.iter().map(|fit| scaled(fit, by_cores, by_width)).collect(),
            ..generic
        };
        if let Some(measured) = facts.measured {
            let MeasuredRates { memory_bandwidth, cache_bandwidth, f32_flops, f64_flops } =
                measured;
            // Kernels reach the share of the peak that they reach on the generic CPU.
            let at_peak = |rates: &PerDType| PerDType {
                f16: rates.f16 * f32_flops / GENERIC_PEAK,
                bf16: rates.bf16 * f32_flops / GENERIC_PEAK,
                f32: rates.f32 * f32_flops / GENERIC_PEAK,
                f64: rates.f64 * 2.0 * f64_flops / GENERIC_PEAK,
            };
            let generic = Self::cpu();
            device.fits.clear();
            device.sparse_flops = at_peak(&generic.sparse_flops);
            device.tile_flops = at_peak(&generic.tile_flops);
            (device.memory_bandwidth, device.cache_bandwidth) = (memory_bandwidth, cache_bandwidth);
        }
        device
    }
}

/// Scales a fit to another number of cores and another register width.
fn scaled(fit: &Fit, by_cores: f64, by_width: f64) -> Fit {
    let Terms { product, multiply_adds, .. } = fit.seconds;
    let each = fit.seconds.times(Terms::from_array([1.0 / by_cores; Terms::COUNT]));
    let seconds = Terms { product, multiply_adds: multiply_adds / by_cores / by_width, ..each };
    Fit { seconds, ..fit.clone() }
}

/// Flops per second in f32 of the machine whose kernels the generic CPU's rates are of; in f64 half
/// of it.
const GENERIC_PEAK: f64 = 236e9;
