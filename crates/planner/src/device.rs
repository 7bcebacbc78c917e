//! The machine an estimate is for, as plain data.

use girih_formats::DType;
use serde::{Deserialize, Serialize};

/// One number per value type.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is named for its value type")]
pub struct PerDType {
    pub f16: f64,
    pub bf16: f64,
    pub f32: f64,
    pub f64: f64,
}

impl PerDType {
    /// The number for `dtype`.
    #[must_use]
    pub const fn get(&self, dtype: DType) -> f64 {
        match dtype {
            DType::F16 => self.f16,
            DType::Bf16 => self.bf16,
            DType::F32 => self.f32,
            DType::F64 => self.f64,
        }
    }
}

/// What the cost model knows of a machine. Nothing here is probed: a plan made anywhere for a
/// given `DeviceSpec` is the same plan.
///
/// The rates are what kernels reach, not what a data sheet promises, because only their ratios
/// decide a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceSpec {
    /// A name for people, at most 128 bytes and without control characters.
    pub name: String,
    /// Bytes per second from main memory.
    pub memory_bandwidth: f64,
    /// Bytes per second from the last cache that all of the machine's cores fill.
    pub cache_bandwidth: f64,
    /// Bytes that cache holds.
    pub cache_bytes: u64,
    /// Flops per second of kernels that work nonzero by nonzero: CSR, BMat on a CPU, 2:4.
    pub sparse_flops: PerDType,
    /// Flops per second of kernels that work on dense tiles: BCSR, WCSR, Blocked-ELL. Fill-in
    /// counts as work.
    pub tile_flops: PerDType,
    /// Seconds spent on a window (a row of CSR) besides its tiles, all cores together.
    pub window_seconds: f64,
    /// Seconds spent on a tile besides its arithmetic, all cores together. A nonzero of CSR or a
    /// group of 2:4 is not charged: its cost is in `sparse_flops`.
    pub tile_seconds: f64,
}

impl DeviceSpec {
    /// A generic CPU: two cores' worth of a server with 512-bit vectors.
    ///
    /// The bandwidths are measured on such a machine. The flop rates are what register-blocked
    /// kernels reach on it: a quarter of the FMA peak where every nonzero fetches its own row of B,
    /// 0.7 of it where a dense tile keeps both operands in registers. More cores scale all of them
    /// alike, which leaves a choice as it is.
    #[must_use]
    pub fn cpu() -> Self {
        let f32_peak = 560e9;
        let rates = |share: f64| PerDType {
            f16: share * f32_peak,
            bf16: share * f32_peak,
            f32: share * f32_peak,
            f64: share * f32_peak / 2.0,
        };
        Self {
            name: "generic CPU".to_owned(),
            memory_bandwidth: 49e9,
            cache_bandwidth: 216e9,
            cache_bytes: 16 << 20,
            sparse_flops: rates(0.25),
            tile_flops: rates(0.7),
            window_seconds: 2e-9,
            tile_seconds: 2e-9,
        }
    }

    /// Whether every number can be computed with, and the name can be shown and stored.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let rates = [&self.sparse_flops, &self.tile_flops];
        let positive = rates
            .iter()
            .flat_map(|r| DType::ALL.map(|d| r.get(d)))
            .chain([self.memory_bandwidth, self.cache_bandwidth])
            .all(|x| x.is_finite() && x > 0.0);
        if !positive {
            return Err("bandwidths and flop rates must be positive and finite");
        }
        if ![self.window_seconds, self.tile_seconds].iter().all(|x| x.is_finite() && *x >= 0.0) {
            return Err("overheads must be finite and not negative");
        }
        if self.name.len() > 128 || self.name.chars().any(char::is_control) {
            return Err("the name must have at most 128 bytes and no control characters");
        }
        Ok(())
    }
}
