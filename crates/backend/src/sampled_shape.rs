//! The size of a sampled product, and what it takes.

use girih_formats::{CsrPattern, DType, FormatKind};
use girih_planner::device::Overlap;
use girih_planner::{DeviceSpec, Precision};

/// The size of a sampled product: X is m×d, Y k×d, and the pattern is m×k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampledShape {
    /// Rows of the pattern and X (m).
    pub nrows: usize,
    /// Columns of the pattern and rows of Y (k).
    pub ncols: usize,
    /// Entries of the pattern.
    pub nnz: usize,
    /// Columns of X and Y.
    pub d: usize,
    /// The value type of X and Y.
    pub dtype: DType,
}

impl SampledShape {
    /// That of X and Y with `d` columns at the entries of a pattern.
    #[must_use]
    pub fn of(pattern: CsrPattern<'_>, d: usize, dtype: DType) -> Self {
        Self { nrows: pattern.nrows(), ncols: pattern.ncols(), nnz: pattern.nnz(), d, dtype }
    }

    /// Bytes of X and Y, and of the pattern's columns and S.
    fn bytes(&self) -> [f64; 2] {
        let (size, acc) = (self.dtype.size() as f64, self.dtype.accumulator().size() as f64);
        let rows = self.nrows as f64 + self.ncols as f64;
        [rows * self.d as f64 * size, self.nnz as f64 * (4.0 + acc)]
    }

    /// Seconds on a device that has the pattern and the operands, entry by entry: an estimate from its
    /// [rates](DeviceSpec), in which a row of Y comes from its last cache for every entry. O(1).
    #[must_use]
    pub fn seconds_on(&self, device: &DeviceSpec) -> f64 {
        let (nnz, products) = (self.nnz as f64, self.nnz as f64 * self.d as f64);
        let [operands, entries] = self.bytes();
        let flops = device.flops_in(FormatKind::Csr, self.dtype, Precision::F32);
        let value = device.value_seconds.get(FormatKind::Csr).unwrap_or(0.0);
        let compute = 2.0 * products / flops + nnz * value;
        let memory = (operands + entries) / device.memory_bandwidth;
        let cache = products * self.dtype.size() as f64 / device.cache_bandwidth;
        let busy = match device.overlap {
            Overlap::Full => memory.max(cache).max(compute),
            Overlap::None => memory + cache + compute,
        };
        busy + device.launch_seconds
    }

    /// Seconds in which the pattern, X and Y get from the host to a device, and S back; none for a CPU.
    #[must_use]
    pub fn transfer_seconds(&self, device: &DeviceSpec) -> f64 {
        match device.host_bandwidth > 0.0 {
            true => self.bytes().iter().sum::<f64>() / device.host_bandwidth,
            false => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: SampledShape =
        SampledShape { nrows: 1000, ncols: 1000, nnz: 1000, d: 64, dtype: DType::F32 };

    #[test]
    fn a_device_pays_for_copies_and_long_products_only() {
        let (cpu, h200) = (DeviceSpec::cpu(), DeviceSpec::builtin("h200").unwrap());
        let (small, large) = (SMALL, SampledShape { nnz: 100_000_000, d: 128, ..SMALL });
        let on = |shape: &SampledShape, device: &DeviceSpec| {
            shape.seconds_on(device) + shape.transfer_seconds(device)
        };
        assert!(on(&small, &cpu) < on(&small, &h200));
        assert!(on(&large, &h200) < on(&large, &cpu));
        assert_eq!(large.transfer_seconds(&cpu), 0.0);
        let bytes = 2000.0 * 128.0 * 4.0 + 8.0 * 1e8;
        assert_eq!(large.transfer_seconds(&h200), bytes / h200.host_bandwidth);
        // Twice the columns take no more than twice the time.
        let twice = SampledShape { d: 256, ..large };
        let ratio = twice.seconds_on(&h200) / large.seconds_on(&h200);
        assert!((1.0..=2.0).contains(&ratio), "{ratio}");
    }
}
