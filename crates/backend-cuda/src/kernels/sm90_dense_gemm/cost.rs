//! What a product of full blocks takes, by counts: cycles of a multiprocessor, the dense way and block by
//! block.
//!
//! A tile of C takes, for each 64 values along k, as long as its flops or as what it reads from the
//! second-level cache, whichever is longer; flops of rows and columns beyond C count. What every way moves
//! alike, C among it, does not count.

use girih_formats::DType;

use super::config::{DenseConfig, configs};
use crate::kernels::sm90_bcsr_spmm::{self, BLOCK, load_of_full};

/// Flops of f16 and bf16 that the tensor cores of a multiprocessor do in a cycle; TF32 has half.
const FLOPS_PER_CYCLE: u64 = 4096;
/// Bytes that the second-level cache serves a multiprocessor in a cycle: some 9 TB/s to 132 of them at
/// 1.75 GHz, as was read on an H200.
const CACHE_BYTES_PER_CYCLE: u64 = 39;

/// A product whose blocks are all there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    pub(crate) dtype: DType,
    /// Blocks below each other and beside each other.
    pub(crate) block_rows: u64,
    pub(crate) block_cols: u64,
    /// Columns of B and C.
    pub(crate) n: u64,
    pub(crate) multiprocessors: u64,
}

/// A way to cut C into tiles.
struct Tiles {
    rows: u64,
    columns: u64,
    /// CTAs that share what is read of B.
    sharing: u64,
}

impl Full {
    /// Cycles that the busiest multiprocessor takes.
    fn cycles(&self, Tiles { rows, columns, sharing }: Tiles) -> u64 {
        let (block, size) = (BLOCK as u64, self.dtype.size() as u64);
        let rate = if self.dtype == DType::F32 { FLOPS_PER_CYCLE / 2 } else { FLOPS_PER_CYCLE };
        let flops = (2 * rows * columns * block).div_ceil(rate);
        let bytes = block * size * (rows + columns / sharing);
        let step = flops.max(bytes.div_ceil(CACHE_BYTES_PER_CYCLE));
        let down = (self.block_rows * block).div_ceil(rows * sharing);
        let at_once = (self.multiprocessors / sharing).max(1);
        let turns = down.saturating_mul(self.n.div_ceil(columns)).div_ceil(at_once);
        turns.saturating_mul(self.block_cols).saturating_mul(step)
    }

    /// Cycles in a configuration of the dense kernel.
    pub(super) fn dense(&self, config: &DenseConfig) -> u64 {
        let (rows, columns) = (u64::from(config.rows), u64::from(config.columns));
        self.cycles(Tiles { rows, columns, sharing: u64::from(config.cluster) })
    }

    /// Cycles of the kernel for blocks, in the configuration that it takes: a quarter more than is counted. It
    /// begins a block of threads for every tile. On an H100 it took 1.18 to 1.32 times as long as the dense kernel
    /// at 4096³ and 8192³, and over twice as long at 1024³.
    pub(super) fn blocks(&self, entry: &str) -> u64 {
        let load = load_of_full(self.block_rows, self.block_cols);
        let index = sm90_bcsr_spmm::Config::index(self.dtype, self.n, entry, load);
        let config = &sm90_bcsr_spmm::configs(self.dtype)[index];
        let (rows, columns) = (u64::from(config.height()), u64::from(config.tile()));
        self.cycles(Tiles { rows, columns, sharing: 1 }).saturating_mul(5) / 4
    }

    /// The configuration of the dense kernel that takes the fewest cycles, of those that have the entry
    /// point: its index. Of equal ones the first.
    pub(super) fn best(&self, entry: &str) -> Option<usize> {
        let all = configs(self.dtype).iter().enumerate();
        let those = all.filter(|(_, config)| config.entries().contains(&entry));
        those.min_by_key(|(_, config)| self.dense(config)).map(|(index, _)| index)
    }

    /// The configuration of the dense kernel that the product takes; `None` if the kernel for blocks,
    /// which reads B by its own entry point, takes fewer cycles.
    pub(crate) fn choose(&self, entry: &str, of_blocks: &str) -> Option<usize> {
        let best = self.best(entry)?;
        let dense = self.dense(&configs(self.dtype)[best]);
        (dense < self.blocks(of_blocks)).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::sm90_dense_gemm::config::{ELEMENTS, ROWS};

    fn full(m: u64, k: u64, n: u64, dtype: DType) -> Full {
        let (block_rows, block_cols) = (m.div_ceil(64), k.div_ceil(64));
        Full { dtype, block_rows, block_cols, n, multiprocessors: 132 }
    }

    /// The tile and the cluster that a product takes, if it is the dense kernel's.
    fn chosen(of: &Full, entry: &str, of_blocks: &str) -> Option<(u32, u32, u32)> {
        let config = configs(of.dtype)[of.choose(entry, of_blocks)?];
        Some((config.rows, config.columns, config.cluster))
    }

    const BLOCKS: &str = "sm90_bcsr_spmm_rows";
    const BLOCKS_BY_ELEMENTS: &str = "sm90_bcsr_spmm_elements";

    #[test]
    fn cycles_are_counted() {
        // 4096³: 16 × 16 pairs of tiles on 66 pairs of multiprocessors take 4 turns of 64 steps. A step
        // does 128 × 256 × 64 products, 1024 cycles, and reads 128 + 128 rows of 128 bytes, 841 cycles.
        let square = full(4096, 4096, 4096, DType::Bf16);
        let alone = configs(DType::Bf16)[0];
        let pair = DenseConfig { cluster: 2, ..alone };
        assert_eq!(square.dense(&pair), 4 * 64 * 1024);
        // Without sharing, 384 rows of 128 bytes are the longer part.
        assert_eq!(square.dense(&alone), 4 * 64 * (384u64 * 128).div_ceil(39));
        // TF32 has half the rate and twice the bytes.
        assert_eq!(full(4096, 4096, 4096, DType::F32).dense(&pair), 4 * 64 * 2048);
    }

    #[test]
    fn large_products_are_dense_in_large_tiles() {
        for dtype in [DType::F16, DType::Bf16, DType::F32] {
            for size in [2048, 4096, 8192] {
                let large = full(size, size, size, dtype);
                assert_eq!(chosen(&large, ROWS, BLOCKS), Some((128, 256, 1)), "{dtype} {size}");
            }
            let elements = full(4096, 4096, 4096, dtype);
            let found = chosen(&elements, ELEMENTS, BLOCKS_BY_ELEMENTS);
            assert_eq!(found.map(|(_, _, cluster)| cluster), Some(1), "{dtype}");
        }
    }

    #[test]
    fn few_columns_stay_blocks() {
        for dtype in [DType::F16, DType::Bf16, DType::F32] {
            assert_eq!(chosen(&full(4096, 4096, 8, dtype), ROWS, BLOCKS), None, "{dtype}");
            // Block by block, three block rows would share columns on six multiprocessors.
            let small = chosen(&full(512, 4096, 512, dtype), ROWS, BLOCKS);
            assert!(dtype == DType::F32 || small == Some((128, 64, 1)), "{dtype}: {small:?}");
        }
    }

    #[test]
    fn numbers_of_any_size_are_compared() {
        let huge = Full { n: u64::from(u32::MAX), ..full(1 << 32, 1 << 32, 1, DType::F32) };
        let _ = huge.choose(ROWS, BLOCKS);
        let one = Full { multiprocessors: 1, ..full(1, 1, 1, DType::F16) };
        assert_eq!(one.choose(ROWS, BLOCKS), None);
    }
}
