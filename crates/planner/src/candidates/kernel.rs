//! Configurations of kernels on a device with shared memory.

use girih_formats::{DType, FormatKind, FormatSpec};
use serde::{Deserialize, Serialize};

use super::shared_memory::{Ring, ring};
use crate::device::{DeviceKind, DeviceSpec};

/// Columns that one `wgmma` computes at most, and what they are a multiple of.
const MAX_INSTRUCTION_COLS: u32 = 256;
const INSTRUCTION_STEP: u32 = 8;

/// Warpgroups that share a tile of A (AsyncSparse §III-C).
const MAX_CONSUMERS: u32 = 2;

/// The deepest ring considered: past it nothing is left to hide.
const MAX_STAGES: u64 = 8;

/// Blocks that a multiprocessor runs at once at most, whatever they need.
const MAX_BLOCKS: u64 = 8;

/// How a product is cut into blocks of threads, and what a block keeps in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelConfig {
    /// Columns of C that a block computes: those of an instruction times the warpgroups.
    pub block_cols: u32,
    /// Columns of C that an instruction computes (`WGMMA_N`).
    pub instruction_cols: u32,
    /// Stages of the ring between loading and multiplying.
    pub stages: u32,
    /// Bytes of shared memory of a block.
    pub shared_bytes: u64,
    /// Blocks that a multiprocessor runs at once.
    pub blocks_per_worker: u32,
}

impl KernelConfig {
    /// The configurations of a format's kernels that fit a device, for `n` columns of C; empty if it
    /// takes no configuration, as on a CPU and for CSR.
    ///
    /// # Errors
    /// If no ring of two stages fits.
    pub(crate) fn all(
        device: &DeviceSpec,
        spec: FormatSpec,
        dtype: DType,
        n: usize,
    ) -> Result<Vec<Self>, String> {
        if device.kind == DeviceKind::Cpu || spec == FormatSpec::Csr {
            return Ok(Vec::new());
        }
        let mut configs: Vec<Self> = Vec::new();
        let consumers = if spec.kind() == FormatKind::BMat { 1 } else { MAX_CONSUMERS };
        for instruction_cols in instruction_widths(n) {
            for consumers in 1..=consumers {
                let block_cols = instruction_cols * consumers;
                // A second warpgroup without columns of its own would only wait.
                if consumers > 1 && n <= instruction_cols as usize {
                    continue;
                }
                let Some(ring) = ring(spec, dtype, u64::from(block_cols)) else { continue };
                configs.extend(Self::rings(device, ring, block_cols, instruction_cols));
            }
        }
        if configs.is_empty() {
            return Err(format!(
                "not even two stages of its smallest tile fit into {} bytes of shared memory",
                device.shared_bytes_per_block
            ));
        }
        Ok(configs)
    }

    fn rings(
        device: &DeviceSpec,
        ring: Ring,
        block_cols: u32,
        instruction_cols: u32,
    ) -> impl Iterator<Item = Self> {
        let most = ring.stages_in(device.shared_bytes_per_block).min(MAX_STAGES);
        let per_worker = device.shared_bytes_per_worker;
        (2..=most).map(move |stages| Self {
            block_cols,
            instruction_cols,
            stages: stages as u32,
            shared_bytes: ring.block_bytes(stages),
            blocks_per_worker: ring.blocks_in(stages, per_worker).clamp(1, MAX_BLOCKS) as u32,
        })
    }

    /// Blocks that `n` columns of C take.
    #[must_use]
    pub fn passes(&self, n: usize) -> u32 {
        u32::try_from(n.div_ceil(self.block_cols as usize).max(1)).unwrap_or(u32::MAX)
    }

    /// Columns computed, those beyond the last included.
    #[must_use]
    pub fn padded(&self, n: usize) -> usize {
        n.next_multiple_of(self.block_cols as usize)
    }

    /// Bytes per second that the cache can be asked for: no more than what is on its way at once, all
    /// stages but the one being multiplied, per latency (Little's law).
    #[must_use]
    pub fn cache_bandwidth(&self, device: &DeviceSpec) -> f64 {
        if device.cache_latency_seconds <= 0.0 {
            return device.cache_bandwidth;
        }
        let stage = self.shared_bytes as f64 / f64::from(self.stages);
        let ahead = f64::from((self.stages - 1) * self.blocks_per_worker);
        let asked = stage * ahead * f64::from(device.workers) / device.cache_latency_seconds;
        asked.min(device.cache_bandwidth)
    }
}

/// Widths of instructions worth trying for `n` columns: the largest that divides n, which AsyncSparse
/// (§IV-C) found best, and those that compute fewest columns beyond the last.
///
/// ```text
/// n = 1024: 256      n = 96: 96      n = 100: 104 (4 columns for nothing)
/// ```
fn instruction_widths(n: usize) -> Vec<u32> {
    let widths = (1..=MAX_INSTRUCTION_COLS / INSTRUCTION_STEP).map(|i| i * INSTRUCTION_STEP).rev();
    let n = n.max(1);
    let mut chosen: Vec<u32> =
        widths.clone().find(|&w| n.is_multiple_of(w as usize)).into_iter().collect();
    let padding = |w: u32| n.next_multiple_of(w as usize) - n;
    // Of equal padding the widest: ties go to the first.
    if let Some(least) = widths.clone().min_by_key(|&w| padding(w)) {
        chosen.push(least);
    }
    // Half of the widest as well: more blocks for few windows.
    chosen.extend([128, 64].into_iter().filter(|&w| n >= w as usize && padding(w) == 0));
    chosen.sort_unstable_by_key(|&w| std::cmp::Reverse(w));
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_instruction_that_divides_n_comes_first() {
        let widest = |n| instruction_widths(n)[0];
        assert_eq!([1024, 512, 256, 128, 96, 64, 8].map(widest), [256, 256, 256, 128, 96, 64, 8]);
        assert_eq!(widest(176 * 3), 176);
        // No multiple of eight divides these: the padding is least.
        assert_eq!([1, 7, 100, 257].map(widest), [8, 8, 104, 88]);
    }

    #[test]
    fn stages_fit_the_device() {
        let h200 = DeviceSpec::builtin("h200").unwrap();
        let spec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
        let all = KernelConfig::all(&h200, spec, DType::Bf16, 1024).unwrap();
        for config in &all {
            assert!(config.shared_bytes <= h200.shared_bytes_per_block, "{config:?}");
            let used = u64::from(config.blocks_per_worker) * (config.shared_bytes + 1024);
            assert!(config.blocks_per_worker == 1 || used <= h200.shared_bytes_per_worker);
        }
        // AsyncSparse's own: 512 columns, of which 64x64 and 64x512 values fit three times.
        let widest = all.iter().filter(|c| c.block_cols == 512).map(|c| c.stages).max();
        assert_eq!(widest, Some(3));
        assert_eq!(all.iter().map(|c| c.padded(1024)).max(), Some(1024));
        let none = DeviceSpec { shared_bytes_per_block: 1 << 10, ..h200 };
        assert!(KernelConfig::all(&none, spec, DType::Bf16, 64).is_err());
        assert!(KernelConfig::all(&DeviceSpec::cpu(), spec, DType::F32, 64).unwrap().is_empty());
    }
}
