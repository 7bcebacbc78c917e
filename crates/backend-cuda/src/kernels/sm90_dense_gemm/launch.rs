//! Plans in BCSR whose blocks are all there, for `sm90_dense_gemm`, beside the kernel for blocks.

use bytemuck::bytes_of;
use girih_backend::Lowering;
use girih_formats::{Bcsr, DType, Scalar};

use super::FullBlocks;
use super::config::{COLUMNS, DenseConfig, ELEMENTS, PATCH, ROWS, configs};
use super::cost::Full;
use super::params::Params;
use crate::CudaError;
use crate::cta_order::ORDER;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::shared::{Elements, Output, Reading, is_matrix};
use crate::kernels::sm90_bcsr_spmm::{self, BLOCK, SLOTS, per_row};
use crate::launch::Machine;
use crate::launch::tensor_map::{Element, EncodedMap, MapEncoder, Swizzle, TensorMap};
use crate::launch::{Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands};
use crate::operand::Place;

/// Rows and columns that tensor copies and counts of tiles reach: they are numbers of 31 bits, of which one
/// is left for what lies beyond a matrix.
const MOST: u64 = 1 << 30;

/// Block rows of the largest cluster's tiles.
const LARGEST: u64 = 4;

/// Whether all blocks are there that a matrix can have, and there is one.
pub(crate) fn is_full(blocks: u64, block_rows: u64, block_cols: u64) -> bool {
    blocks > 0 && Some(blocks) == block_rows.checked_mul(block_cols)
}

#[derive(Debug)]
struct DenseLaunches {
    /// The kernel for blocks.
    blocks: Box<dyn LaunchSequence>,
    which: FullBlocks,
    /// The first of the kernels that are added.
    first_kernel: usize,
    /// The matrix; n is that of a product.
    full: Full,
    element: Element,
    m: u64,
    k: u64,
    is_natural: bool,
}

/// The device plan of the kernel for blocks and, where all blocks are there, the dense kernel beside it.
///
/// Nothing more is uploaded: both kernels read the same blocks.
pub(crate) fn device_plan<T: Scalar>(
    a: &Bcsr<T>,
    machine: Machine,
    which: FullBlocks,
) -> DevicePlan {
    let mut plan = sm90_bcsr_spmm::device_plan(a, None, machine.multiprocessors);
    let block_rows = a.layout().n_windows() as u64;
    let block_cols = (a.ncols() as u64).div_ceil(BLOCK as u64);
    let added: Vec<DenseConfig> = match which {
        FullBlocks::Fastest => configs(T::DTYPE).to_vec(),
        FullBlocks::Blocks => Vec::new(),
        FullBlocks::Dense(config) => vec![config],
    };
    // Rows of blocks, those of the last cluster's tiles beyond A too.
    let walked = block_rows.next_multiple_of(LARGEST).saturating_mul(block_cols);
    let is_reached = walked.saturating_mul(BLOCK as u64) <= MOST;
    if !is_full(a.nnzb() as u64, block_rows, block_cols) || added.is_empty() || !is_reached {
        return plan;
    }
    let first_kernel = plan.kernels.len();
    plan.kernels.extend(added.iter().map(|config| config.kernel(T::DTYPE)));
    let (dtype, multiprocessors) = (T::DTYPE, u64::from(machine.multiprocessors));
    plan.sequence = Box::new(DenseLaunches {
        blocks: plan.sequence,
        which,
        first_kernel,
        full: Full { dtype, block_rows, block_cols, n: 0, multiprocessors },
        element: match T::DTYPE {
            DType::F16 => Element::F16,
            DType::Bf16 => Element::Bf16,
            DType::F32 | DType::F64 | DType::C32 | DType::C64 => Element::F32,
        },
        m: a.nrows() as u64,
        k: a.ncols() as u64,
        is_natural: a.layout().is_natural(),
    });
    plan
}

/// A configuration that was chosen: which of the kernels that are added, and its entry point.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    config: DenseConfig,
    kernel: usize,
    entry: &'static str,
}

/// How a product is cut into tiles, and how many clusters take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    down: u64,
    across: u64,
    clusters: u64,
}

impl Grid {
    /// Clusters take as many tiles each, give or take one: fewer of them than there is space for run
    /// as long, and leave the clock to the others.
    fn new(config: &DenseConfig, rows: u64, n: u64, multiprocessors: u64) -> Self {
        let down = rows.div_ceil(u64::from(config.cluster_rows()));
        let across = n.div_ceil(u64::from(config.columns));
        let tiles = down * across;
        let at_once = (multiprocessors * u64::from(config.ctas) / u64::from(config.cluster)).max(1);
        let turns = if config.persistent { tiles.div_ceil(at_once) } else { 1 };
        Self { down, across, clusters: tiles.div_ceil(turns.max(1)) }
    }

    /// Columns that one launch takes at most: all that is counted stays in 31 bits.
    fn max_columns(config: &DenseConfig, rows: u64) -> u64 {
        let down = rows.div_ceil(u64::from(config.cluster_rows())) + u64::from(config.walk);
        let across = MOST / (down * u64::from(config.cluster));
        (across.max(1) * u64::from(config.columns)).min(MOST)
    }
}

impl LaunchSequence for DenseLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.blocks.uses_workspace(operands)
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        self.blocks.reads_as_it_is(b)
    }

    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        epilogue: &PlacedEpilogue,
        encoder: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let Some(Chosen { config, kernel, entry }) = self.choose(&operands.b) else {
            return self.blocks.launches(at, operands, epilogue, encoder, each);
        };
        let (&Operands { b, c, .. }, factors) = (operands, operands.real_factors());
        let (n, size) = (b.cols as u64, self.full.dtype.size() as u64);
        let (alpha, beta) = (factors.0 as f32, factors.1 as f32);
        let rows = self.full.block_rows * BLOCK as u64;
        let row_of_slot = if self.is_natural { 0 } else { at.parts[SLOTS] };
        let mut first = 0;
        while first < n {
            let width = Grid::max_columns(&config, rows).min(n - first);
            let b = b.columns(first, width, size);
            let c = c.columns(first, width, epilogue.size_of_c(4));
            let copies_c = config.async_stores
                // What tensor copies write is as it leaves the sums.
                && beta == 0.0
                && epilogue.is_none()
                && self.is_natural
                && is_matrix(&c, 4)
                && width.is_multiple_of(4);
            let grid = Grid::new(&config, rows, width, self.full.multiprocessors);
            let params = Params {
                a: at.maps[0],
                b: self.map_of_b(&b, entry, &config, encoder)?,
                c: if copies_c { map_of_c(&c, encoder)? } else { EncodedMap::default() },
                b_elements: Elements::of(&b),
                output: Output::new(&c, (row_of_slot, self.m), factors, epilogue.columns(first, 4)),
                block_rows: self.full.block_rows as u32,
                block_cols: if alpha == 0.0 { 0 } else { self.full.block_cols as u32 },
                tiles_down: grid.down as u32,
                tiles_across: grid.across as u32,
                walk: config.walk,
                copies_c: u32::from(copies_c),
                padding: [0; 10],
            };
            each(&Launch {
                kernel,
                entry,
                grid: [grid.clusters as u32 * config.cluster, 1, 1],
                block: config.threads(),
                cluster: config.cluster,
                dynamic_shared: config.shared_bytes(),
                params: bytes_of(&params),
                ..Launch::default()
            })?;
            first += width;
        }
        Ok(())
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let (entry, of_blocks) = self.entries(&operands.b);
        let full = Full { n: operands.b.cols as u64, ..self.full };
        let blocks = full.blocks(of_blocks);
        let counted = |dense: u64| {
            let Full { block_rows, block_cols, .. } = full;
            format!(
                "all {block_rows}×{block_cols} blocks are there, and by their flops and what they read from \
                 the cache a multiprocessor takes {dense} cycles dense, {blocks} block by block"
            )
        };
        let Some(Chosen { config, .. }) = self.choose(&operands.b) else {
            let best =
                full.best(entry).map_or(u64::MAX, |best| full.dense(&configs(full.dtype)[best]));
            let lowering = lowering.with("kernel", "for blocks", counted(best));
            return self.blocks.explain(operands, lowering);
        };
        let rows = full.block_rows * BLOCK as u64;
        let grid = Grid::new(&config, rows, full.n, full.multiprocessors);
        let tile = format!("{} rows × {} columns", config.rows, config.columns);
        let why = match config.cluster {
            1 => "it takes the fewest cycles",
            _ => "it takes the fewest cycles; two CTAs below each other share what they read of B",
        };
        let stages = format!(
            "{} of {} blocks of A and {BLOCK} rows of B",
            config.stages,
            config.rows / BLOCK as u32
        );
        let down = u64::from(config.walk).min(grid.down);
        let tasks = format!("{} × {} tiles", grid.down * u64::from(config.cluster), grid.across);
        let order =
            format!("{} clusters take them, {down} down before the next across", grid.clusters);
        lowering
            .with("kernel", "dense", counted(full.dense(&config)))
            .with("tile", tile, why)
            .with("stages", stages, "")
            .with("tasks", tasks, "")
            .with(ORDER, order, "the second-level cache serves what those at a time read")
            .with("reduction", "none", "one block of threads sums a tile of C, in order")
    }
}

impl DenseLaunches {
    /// The entry point for B, and that of the kernel for blocks.
    fn entries(&self, b: &Place) -> (&'static str, &'static str) {
        entries(b, self.full.dtype.size() as u64)
    }

    /// What a product with this B runs; `None` if it is the kernel for blocks.
    fn choose(&self, b: &Place) -> Option<Chosen> {
        let (entry, of_blocks) = self.entries(b);
        let full = Full { n: b.cols as u64, ..self.full };
        match self.which {
            FullBlocks::Blocks => None,
            FullBlocks::Fastest => {
                let index = full.choose(entry, of_blocks)?;
                let config = configs(full.dtype)[index];
                Some(Chosen { config, kernel: self.first_kernel + index, entry })
            }
            FullBlocks::Dense(config) => {
                let chosen = Chosen { config, kernel: self.first_kernel, entry };
                config.entries().contains(&entry).then_some(chosen)
            }
        }
    }

    fn map_of_b(
        &self,
        b: &Place,
        entry: &str,
        config: &DenseConfig,
        encoder: &dyn MapEncoder,
    ) -> Result<EncodedMap, CudaError> {
        let (n, size) = (b.cols as u64, self.full.dtype.size() as u64);
        let per_row = per_row(size);
        let map = match entry {
            ROWS => {
                let strides = [b.row_stride * size];
                TensorMap::new(self.element, b.address, &[n, self.k], &strides, &[per_row; 2])
            }
            COLUMNS => {
                let (strides, share) = ([b.col_stride * size], config.columns / config.cluster);
                TensorMap::new(self.element, b.address, &[self.k, n], &strides, &[per_row, share])
            }
            _ => return Ok(EncodedMap::default()),
        };
        encoder.encode(&map.swizzle(Swizzle::Bytes128))
    }
}

/// How B is read: the entry points of the dense kernel and of that for blocks.
pub(crate) fn entries(b: &Place, size: u64) -> (&'static str, &'static str) {
    let entry = match Reading::of(b, size) {
        Reading::Rows => ROWS,
        Reading::Columns => COLUMNS,
        Reading::Elements => ELEMENTS,
    };
    (entry, sm90_bcsr_spmm::entry(b, size))
}

/// Boxes as large as a warp's patch, swizzled.
fn map_of_c(c: &Place, encoder: &dyn MapEncoder) -> Result<EncodedMap, CudaError> {
    let (dims, strides) = ([c.cols as u64, c.rows as u64], [c.row_stride * 4]);
    let map = TensorMap::new(Element::F32, c.address, &dims, &strides, &[PATCH[1], PATCH[0]]);
    encoder.encode(&map.swizzle(Swizzle::Bytes128))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_is_every_block() {
        assert!(is_full(6, 2, 3));
        assert!(!is_full(5, 2, 3));
        assert!(!is_full(0, 0, 3), "there is nothing to multiply");
        assert!(!is_full(0, u64::MAX, u64::MAX));
    }

    #[test]
    fn clusters_share_the_tiles_evenly() {
        let config = DenseConfig { cluster: 2, ..configs(DType::Bf16)[0] };
        let grid = |m, n| Grid::new(&config, m, n, 132);
        // 256 tiles of clusters: 4 turns of 64, where 66 clusters would fit.
        assert_eq!(grid(4096, 4096), Grid { down: 16, across: 16, clusters: 64 });
        assert_eq!(grid(8192, 8192), Grid { down: 32, across: 32, clusters: 64 });
        assert_eq!(grid(64, 1), Grid { down: 1, across: 1, clusters: 1 });
        let each = DenseConfig { persistent: false, ..config };
        assert_eq!(Grid::new(&each, 4096, 4096, 132).clusters, 256);
        // A device with less than a cluster has one.
        assert_eq!(Grid::new(&config, 4096, 4096, 1).clusters, 1);
    }

    #[test]
    fn no_cluster_has_more_rows_than_are_reached() {
        let rungs = DenseConfig::ladder(DType::F32).into_iter().map(|rung| rung.config);
        for config in rungs.chain(configs(DType::Bf16).iter().copied()) {
            assert!(u64::from(config.cluster_rows()) <= LARGEST * BLOCK as u64, "{config:?}");
        }
    }

    #[test]
    fn one_launch_counts_in_31_bits() {
        for dtype in [DType::Bf16, DType::F32] {
            for config in configs(dtype) {
                for rows in [64, 4096, 1 << 30, 1 << 36] {
                    let columns = Grid::max_columns(config, rows);
                    let grid = Grid::new(config, rows, columns, 132);
                    let walked = (grid.down + u64::from(config.walk)) * grid.across;
                    assert!(columns >= u64::from(config.columns) && columns < 1 << 31);
                    assert!(walked * u64::from(config.cluster) < 1 << 31, "{config:?} {rows}");
                    assert!(columns.is_multiple_of(u64::from(config.columns)));
                }
            }
        }
    }
}
