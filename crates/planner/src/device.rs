//! The machine an estimate is for, as plain data.

use girih_formats::{DType, FormatKind};
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

/// One number per format.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is named for its format")]
pub struct PerFormat {
    pub csr: f64,
    pub bcsr: f64,
    pub wcsr: f64,
    pub blocked_ell: f64,
    pub bmat: f64,
    pub two_four: f64,
}

impl PerFormat {
    /// The number for `kind`.
    #[must_use]
    pub const fn get(&self, kind: FormatKind) -> f64 {
        match kind {
            FormatKind::Csr => self.csr,
            FormatKind::Bcsr => self.bcsr,
            FormatKind::Wcsr => self.wcsr,
            FormatKind::BlockedEll => self.blocked_ell,
            FormatKind::BMat => self.bmat,
            FormatKind::TwoFour => self.two_four,
        }
    }
}

/// What the cost model knows of a machine. Nothing here is probed: a plan made anywhere for a
/// given `DeviceSpec` is the same plan.
///
/// Rates and times are those of all cores together, and of kernels, not of data sheets. Only their
/// ratios decide a choice.
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
    /// Flops per second of kernels that work entry by entry: CSR, BMat and 2:4.
    pub sparse_flops: PerDType,
    /// Flops per second of kernels that work on dense tiles: BCSR, WCSR, Blocked-ELL. Fill-in
    /// counts as work.
    pub tile_flops: PerDType,
    /// Seconds that a multiplied value takes however narrow B is. Kernels that work entry by entry
    /// pay them besides the flops, for finding the entry; in a dense tile they are the least that
    /// the flops take, since lanes beyond n idle.
    pub value_seconds: PerFormat,
    /// Seconds that a row of C, and a window of several, takes besides the tiles.
    pub window_seconds: f64,
    /// Seconds that a BMat tile takes besides its entries.
    pub bmat_tile_seconds: f64,
}

impl DeviceSpec {
    /// A generic CPU: two cores of a server with 512-bit vectors and their share of its memory.
    ///
    /// Bandwidths are measured by streaming on two cores of a Zen 5. So are the times of WCSR, BMat,
    /// 2:4 and narrow values, by this project's kernels on one core over twelve matrices of different
    /// structure, n from 1 to 128, doubled. Those of CSR and BCSR in f32 are from a Zen 4, 64×64
    /// blocks, n from 1 to 512; f64 is taken as half as fast.
    #[must_use]
    pub fn cpu() -> Self {
        Self {
            name: "generic CPU".to_owned(),
            memory_bandwidth: 49e9,
            cache_bandwidth: 216e9,
            cache_bytes: 16 << 20,
            sparse_flops: PerDType { f16: 90e9, bf16: 90e9, f32: 200e9, f64: 100e9 },
            tile_flops: PerDType { f16: 190e9, bf16: 190e9, f32: 200e9, f64: 100e9 },
            value_seconds: PerFormat {
                csr: 0.06e-9,
                bcsr: 0.26e-9,
                wcsr: 0.26e-9,
                blocked_ell: 0.26e-9,
                bmat: 0.88e-9,
                two_four: 0.75e-9,
            },
            window_seconds: 1e-9,
            bmat_tile_seconds: 11e-9,
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
        let overheads = FormatKind::ALL
            .map(|kind| self.value_seconds.get(kind))
            .into_iter()
            .chain([self.window_seconds, self.bmat_tile_seconds]);
        if !overheads.into_iter().all(|x| x.is_finite() && x >= 0.0) {
            return Err("overheads must be finite and not negative");
        }
        if self.name.len() > 128 || self.name.chars().any(char::is_control) {
            return Err("the name must have at most 128 bytes and no control characters");
        }
        Ok(())
    }
}
