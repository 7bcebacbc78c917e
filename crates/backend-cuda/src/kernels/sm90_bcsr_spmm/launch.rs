//! Plans in BCSR with blocks of 64×64, for `sm90_bcsr_spmm`.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{Bcsr, DType, Scalar};

use super::config::{BLOCK, COLUMNS, Config, ELEMENTS, Load, ROW_BYTES, ROWS, Switch, configs};
use super::groups::Groups;
use super::params::{GROUP_ROWS, Params};
use super::tf32;
use crate::cta_order::{OF_TILES, ORDER};
use crate::epilogue::PlacedEpilogue;
use crate::kernels::shared::{Output, Reading, is_matrix, map_of_c};
use crate::launch::PackedValues;
use crate::launch::tensor_map::{Element, EncodedMap, MapEncoder, Swizzle, TensorMap};
use crate::launch::{
    Addresses, Bytes, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart,
};
use crate::operand::Place;
use crate::{CtaOrder, CudaError};

/// The parts of the device plan.
const GROUPS: usize = 0;
const STEPS: usize = 1;
const WIDE_GROUPS: usize = 2;
const WIDE_STEPS: usize = 3;
const VALUES: usize = 4;
pub(crate) const SLOTS: usize = 5;

/// Blocks of a block row, on average, from which on rows that share columns are taken together.
const LONG: usize = 4;

/// What decides between configurations where all blocks are there: each group has all its rows, and all
/// columns.
pub(crate) fn load_of_full(block_rows: u64, block_cols: u64) -> Load {
    let blocks = block_rows.saturating_mul(block_cols);
    let steps = block_rows.div_ceil(GROUP_ROWS as u64).saturating_mul(block_cols);
    Load { blocks, grouped_steps: (block_cols >= LONG as u64).then_some(steps) }
}

#[derive(Debug)]
struct BcsrLaunches {
    dtype: DType,
    element: Element,
    m: u64,
    k: u64,
    n_groups: u32,
    /// Of several rows each.
    n_wide_groups: u32,
    load: Load,
    is_natural: bool,
    /// In place of what would be chosen, for an ablation.
    ablated: Option<Config>,
    multiprocessors: u32,
}

/// A matrix with its groups; `ablated` runs in place of what would be chosen.
pub(crate) fn device_plan<T: Scalar>(
    a: &Bcsr<T>,
    ablated: Option<Config>,
    multiprocessors: u32,
) -> DevicePlan {
    let element = match T::DTYPE {
        DType::F16 => Element::F16,
        DType::Bf16 => Element::Bf16,
        DType::F32 | DType::F64 | DType::C32 | DType::C64 => Element::F32,
    };
    let (row_ptr, col_idx) = (a.block_row_ptr(), a.block_col_idx());
    let groups = Groups::single(row_ptr, col_idx);
    // Few steps make short work, of which C is most: what B costs hardly counts.
    let has_long_rows = a.nnzb() >= LONG * groups.groups.len();
    let wide = has_long_rows.then(|| Groups::sharing(row_ptr, col_idx));
    let load = Load {
        blocks: a.nnzb() as u64,
        grouped_steps: wide.as_ref().map(|wide| (wide.steps.len() / (1 + GROUP_ROWS)) as u64),
    };
    let wide = wide.unwrap_or_default();
    let shape = ProductShape { m: a.nrows(), k: a.ncols(), dtype: T::DTYPE };
    let slots: Box<dyn Bytes> = match a.layout().slots() {
        Some(slots) => Box::new(slots.clone()),
        None => Box::new(Vec::<u32>::new()),
    };
    let packed = PackedValues::for_tensor_cores(T::DTYPE);
    let values: Box<dyn Bytes> = match packed {
        PackedValues::Tf32 => Box::new(tf32::packed(bytemuck::cast_slice(a.values()))),
        PackedValues::Exact => Box::new(a.values().clone()),
    };
    let (block, size) = (BLOCK as u64, size_of::<T>() as u64);
    // A tensor has no empty dimension; without blocks none is loaded.
    let rows = (a.nnzb().max(1) as u64).saturating_mul(block);
    let sharers = ablated.map_or(1, |config| config.cluster());
    let boxed = [per_row(size), BLOCK as u32 / sharers];
    let map = TensorMap::new(element, 0, &[block, rows], &[block * size], &boxed);
    DevicePlan {
        kernels: match ablated {
            Some(config) => vec![config.kernel(T::DTYPE)],
            None => configs(T::DTYPE).iter().map(|config| config.kernel(T::DTYPE)).collect(),
        },
        sequence: Box::new(BcsrLaunches {
            dtype: T::DTYPE,
            element,
            m: shape.m as u64,
            k: shape.k as u64,
            n_groups: groups.groups.len() as u32,
            n_wide_groups: wide.groups.len() as u32,
            load,
            is_natural: a.layout().is_natural(),
            ablated,
            multiprocessors,
        }),
        values: vec![ValuesPart { part: VALUES, packed }],
        parts: vec![
            Box::new(groups.groups),
            Box::new(groups.steps),
            Box::new(wide.groups),
            Box::new(wide.steps),
            values,
            slots,
        ],
        maps: vec![(VALUES, map.swizzle(Swizzle::Bytes128))],
        workspace: 0,
        shape,
    }
}

impl LaunchSequence for BcsrLaunches {
    fn uses_workspace(&self, _: &Operands) -> bool {
        false
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        entry(b, self.dtype.size() as u64) != ELEMENTS
    }

    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        epilogue: &PlacedEpilogue,
        encoder: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let (&Operands { b, c, .. }, factors) = (operands, operands.real_factors());
        let (alpha, beta) = factors;
        // What tensor copies write is as it leaves the sums.
        let is_plain = beta == 0.0 && epilogue.is_none();
        let n = b.cols as u64;
        let size = self.dtype.size() as u64;
        let (kernel, config, entry) = self.choose(&b);
        let (groups, steps, n_groups) = match config.groups_rows() {
            true => (WIDE_GROUPS, WIDE_STEPS, self.n_wide_groups),
            false => (GROUPS, STEPS, self.n_groups),
        };
        let row_of_slot = if self.is_natural { 0 } else { at.parts[SLOTS] };
        let mut first = 0;
        while first < n {
            let width = config.max_columns().min(n - first);
            let b = b.columns(first, width, size);
            let c = c.columns(first, width, epilogue.size_of_c(4));
            let copies_c =
                is_plain && self.is_natural && is_matrix(&c, 4) && width.is_multiple_of(4);
            let params = Params {
                a: at.maps[0],
                b: self.map_of_b(&b, entry, config.tile(), encoder)?,
                c: if copies_c { map_of_c(&c, encoder)? } else { EncodedMap::default() },
                groups: at.parts[groups],
                steps: at.parts[steps],
                b_elements: b.address,
                b_row_stride: b.row_stride,
                b_col_stride: b.col_stride,
                k: self.k,
                output: Output::new(&c, (row_of_slot, self.m), factors, epilogue.columns(first, 4)),
                copies_c: u32::from(copies_c),
                is_scaling: u32::from(alpha as f32 == 0.0),
                n_groups,
                n_tiles: width.div_ceil(u64::from(config.tile())) as u32,
                padding: [0; 10],
            };
            each(&Launch {
                kernel,
                entry,
                grid: self.grid(&config, n_groups, params.n_tiles),
                block: config.threads(entry),
                cluster: config.cluster(),
                dynamic_shared: config.shared_bytes(),
                params: bytes_of(&params),
                ..Launch::default()
            })?;
            first += width;
        }
        Ok(())
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let b = &operands.b;
        let (_, config, _) = self.choose(b);
        let (rows, why) = match config.groups_rows() {
            true => (GROUP_ROWS * BLOCK, "block rows that share columns read less of B together"),
            false => (BLOCK, "it reads the least of A and B from the cache"),
        };
        let order = CtaOrder::by_tiles(config.tile());
        let lowering =
            lowering.with("tile", format!("{rows} rows × {} columns", config.tile()), why);
        let order = match (config.has(Switch::Persistent), config.cluster()) {
            (true, _) => {
                let strips = "16 rows of blocks down, then the next tile of columns";
                lowering.with(ORDER, strips, "an ablation takes them so")
            }
            (false, 1) => order.explain(b.cols as u64, OF_TILES, lowering),
            _ => {
                let order = CtaOrder { panel_tiles: u32::MAX, ..order };
                order.explain(
                    b.cols as u64,
                    "CTAs beside each other share what they read of A",
                    lowering,
                )
            }
        };
        order
            .with("stages", config.stages_in_words(), "")
            .with(
                "tasks",
                if config.groups_rows() { self.n_wide_groups } else { self.n_groups }.to_string(),
                "block rows, or groups of them, the longest first, whatever the schedule cuts",
            )
            .with("reduction", "none", "one block of threads sums a block row, in order")
    }
}

impl BcsrLaunches {
    /// The kernel for products with this B, its configuration and its entry point.
    fn choose(&self, b: &Place) -> (usize, Config, &'static str) {
        let entry = entry(b, self.dtype.size() as u64);
        match self.ablated {
            Some(config) if config.has(Switch::Elements) => (0, config, ELEMENTS),
            Some(config) => (0, config, entry),
            None => {
                let index = Config::index(self.dtype, b.cols as u64, entry, self.load);
                (index, configs(self.dtype)[index], entry)
            }
        }
    }

    /// A CTA for each group and tile of columns; in whole clusters, or as many as there is space for.
    fn grid(&self, config: &Config, n_groups: u32, n_tiles: u32) -> [u32; 3] {
        if config.has(Switch::Persistent) {
            let at_once = self.multiprocessors.max(1) * config.ctas();
            return [n_groups.saturating_mul(n_tiles).min(at_once), 1, 1];
        }
        match config.cluster() {
            1 => [n_groups, n_tiles, 1],
            sharers => [n_tiles.next_multiple_of(sharers), n_groups, 1],
        }
    }

    fn map_of_b(
        &self,
        b: &Place,
        entry: &str,
        tile: u32,
        encoder: &dyn MapEncoder,
    ) -> Result<EncodedMap, CudaError> {
        let (n, k, size) = (b.cols as u64, self.k, self.dtype.size() as u64);
        let (element, per_row) = (self.element, per_row(size));
        let map = match entry {
            ROWS => {
                let strides = [b.row_stride * size];
                TensorMap::new(element, b.address, &[n, k], &strides, &[per_row; 2])
            }
            COLUMNS => {
                let strides = [b.col_stride * size];
                TensorMap::new(element, b.address, &[k, n], &strides, &[per_row, tile])
            }
            _ => return Ok(EncodedMap::default()),
        };
        encoder.encode(&map.swizzle(Swizzle::Bytes128))
    }
}

/// Values of `size` bytes in a swizzled row of shared memory.
pub(crate) fn per_row(size: u64) -> u32 {
    ROW_BYTES / size as u32
}

/// The entry point that reads B as it can be read.
pub(crate) fn entry(b: &Place, size: u64) -> &'static str {
    match Reading::of(b, size) {
        Reading::Rows => ROWS,
        Reading::Columns => COLUMNS,
        Reading::Elements => ELEMENTS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_full_rows_are_counted_without_looking_at_them() {
        for (rows, cols) in [(1, 1), (1, 9), (2, 4), (3, 4), (7, 5), (65, 6), (200, 4)] {
            let row_ptr: Vec<u64> = (0..=rows).map(|row| row * cols).collect();
            let col_idx: Vec<u32> = (0..rows * cols).map(|block| (block % cols) as u32).collect();
            let groups = Groups::sharing(&row_ptr, &col_idx);
            let steps = (groups.steps.len() / (1 + GROUP_ROWS)) as u64;
            let found = load_of_full(rows, cols);
            assert_eq!(found.blocks, rows * cols);
            assert_eq!(found.grouped_steps, (cols >= 4).then_some(steps), "{rows}×{cols}");
        }
    }
}
