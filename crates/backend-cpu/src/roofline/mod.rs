//! What this machine could reach at most, measured: the roofline model of Williams, Waterman and
//! Patterson (*Roofline*, CACM 52(4), 2009), with a bandwidth for every size of working set.
//!
//! ```
//! use girih_backend_cpu::Isa;
//! use girih_backend_cpu::roofline::{Roofline, RooflineOptions};
//! use girih_formats::DType;
//!
//! let options = RooflineOptions::default().max_bytes(1 << 20).seconds(0.01);
//! let roofline = Roofline::measure(Isa::best(), &options)?;
//! // 32 MB to be moved and 2 Gflop to be done: no program does both in less time than this.
//! let floor = roofline.floor(DType::F32, 32e6, 2e9);
//! assert!(floor.seconds >= 2e9 / roofline.peak(DType::F32));
//! # Ok::<(), girih_backend_cpu::roofline::RooflineError>(())
//! ```
//!
//! # What is measured
//! On every thread of the rayon pool that [`Roofline::measure`] is called in, all at once:
//! - fused multiply-adds on independent chains in registers, with as many chains as serve best;
//! - reading, a triad `a = b + 3c`, and a triad whose stores bypass the caches, on working sets from
//!   256 KiB up, each thread on its part of them. A triad over `s` bytes counts as `s` bytes moved.
//!
//! The best of several samples counts: other programs can only make a machine look slower.

mod bandwidth;
mod error;
mod measure;
use std::time::Duration;

use girih_formats::DType;

use crate::Isa;
pub use bandwidth::Bandwidth;
pub use error::RooflineError;
use measure::{ThreadArrays, peak};

/// The smallest working set, in bytes.
const MIN_BYTES: u64 = 256 << 10;

/// The most memory that measuring takes, in bytes, however much is allowed.
const MAX_BYTES: u64 = 768 << 20;

/// How much memory and time measuring may take.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RooflineOptions {
    /// The largest working set, in bytes: several times the last-level cache to see memory. At
    /// least 256 KiB; beyond 768 MiB it makes no difference.
    pub max_bytes: u64,
    /// Time to aim at. Large working sets take what three passes over them take.
    pub seconds: f64,
}

impl Default for RooflineOptions {
    /// 512 MiB and two seconds.
    fn default() -> Self {
        Self { max_bytes: 512 << 20, seconds: 2.0 }
    }
}

impl RooflineOptions {
    /// With working sets of at most this many bytes.
    #[must_use]
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// With this many seconds to aim at.
    #[must_use]
    pub fn seconds(self, seconds: f64) -> Self {
        Self { seconds, ..self }
    }
}

/// Which limit a [`Floor`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Moving the bytes takes longer.
    Bandwidth,
    /// Doing the arithmetic takes longer.
    Compute,
}

impl Limit {
    /// `bandwidth` or `compute`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Compute => "compute",
        }
    }
}

/// The least time that something can take.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Floor {
    /// That time, in seconds.
    pub seconds: f64,
    /// What it is spent on.
    pub limit: Limit,
}

/// The limits of a machine with one instruction set and a number of threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    isa: Isa,
    threads: usize,
    /// Flops per second in f32 and in f64.
    peaks: [f64; 2],
    /// By ascending working set; not empty.
    bandwidths: Vec<Bandwidth>,
}

impl Roofline {
    /// Measures the rayon pool that this is called in.
    ///
    /// Nothing else should run meanwhile. Takes `options.max_bytes` of memory, given back at the
    /// end.
    ///
    /// # Errors
    /// If the machine lacks `isa`, an option is out of range, or memory runs out.
    pub fn measure(isa: Isa, options: &RooflineOptions) -> Result<Self, RooflineError> {
        if !isa.is_available() {
            return Err(RooflineError::Unavailable { isa });
        }
        let refused = |option, found: String, expected| {
            Err(RooflineError::Option { option, found, expected })
        };
        if options.max_bytes < MIN_BYTES {
            return refused("max_bytes", options.max_bytes.to_string(), "at least 262144");
        }
        if !(0.0..=3600.0).contains(&options.seconds) {
            return refused("seconds", options.seconds.to_string(), "from 0 to 3600");
        }
        let sizes = sizes(options.max_bytes.min(MAX_BYTES));
        // Each working set for three measurements, each peak for one.
        let budget = Duration::from_secs_f64(options.seconds / (3 * sizes.len() + 2) as f64);
        let (f32_peak, chains) = peak::<f32>(isa, budget);
        let (f64_peak, _) = peak::<f64>(isa, budget);
        let arrays = ThreadArrays::new(isa, chains, sizes.last().copied().unwrap_or(MIN_BYTES))?;
        Ok(Self {
            isa,
            threads: girih_parallel::current_num_threads(),
            peaks: [f32_peak, f64_peak],
            bandwidths: sizes.iter().map(|&bytes| arrays.bandwidth(bytes, 3 * budget)).collect(),
        })
    }

    /// The instruction set that was used.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Flops per second, two for each fused multiply-add, in the type that `dtype` is accumulated
    /// in.
    #[must_use]
    pub fn peak(&self, dtype: DType) -> f64 {
        self.peaks[usize::from(dtype.accumulator() == DType::F64)]
    }

    /// What was measured for each working set, the smallest first.
    #[must_use]
    pub fn bandwidths(&self) -> &[Bandwidth] {
        &self.bandwidths
    }

    /// Bytes per second at which a working set can be gone through: the best of reading and the
    /// triads, interpolated between the sizes that were measured, over the logarithm of the size.
    /// Outside of them, that of the nearest.
    #[must_use]
    pub fn bandwidth(&self, bytes: f64) -> f64 {
        let above = self.bandwidths.partition_point(|point| (point.bytes as f64) < bytes);
        let above = above.min(self.bandwidths.len() - 1);
        let (low, high) = (&self.bandwidths[above.saturating_sub(1)], &self.bandwidths[above]);
        let (from, to) = ((low.bytes as f64).ln(), (high.bytes as f64).ln());
        let share = if to > from { (bytes.ln() - from) / (to - from) } else { 0.0 };
        low.best() + share.clamp(0.0, 1.0) * (high.best() - low.best())
    }

    /// The least time to move `bytes` once, as a working set of that size, and to do `flops` in the
    /// accumulation type of `dtype`: the longer of the two, as both can go on at once.
    #[must_use]
    pub fn floor(&self, dtype: DType, bytes: f64, flops: f64) -> Floor {
        let (moving, computing) = (bytes / self.bandwidth(bytes), flops / self.peak(dtype));
        if computing > moving {
            Floor { seconds: computing, limit: Limit::Compute }
        } else {
            Floor { seconds: moving, limit: Limit::Bandwidth }
        }
    }
}

/// Working sets from the smallest to the last power of two within `max`.
fn sizes(max: u64) -> Vec<u64> {
    std::iter::successors(Some(MIN_BYTES), |bytes| Some(2 * bytes))
        .take_while(|&bytes| bytes <= max)
        .collect()
}

#[cfg(test)]
mod tests;
