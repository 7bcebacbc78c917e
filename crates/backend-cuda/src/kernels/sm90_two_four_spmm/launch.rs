//! Plans in 2:4, for `sm90_two_four_spmm`.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{DType, PAD_ROW, Scalar, TwoFour};

use super::config::{BY_COLUMNS, BY_ELEMENTS, BY_ROWS, Config, DEPTH, ROWS, Work, configs};
use super::packing::{pack_metadata, pack_values};
use super::params::Params;
use crate::cta_order::OF_TILES;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::shared::{Output, Reading, is_matrix, map_of_c};
use crate::launch::Machine;
use crate::launch::tensor_map::{Element, EncodedMap, MapEncoder, Swizzle, TensorMap};
use crate::launch::{Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart};
use crate::operand::Place;
use crate::{CtaOrder, CudaError};

/// The parts of the device plan.
const VALUES: usize = 0;
const METADATA: usize = 1;
const SLOTS: usize = 2;

/// Bytes of a value.
const SIZE: u64 = 2;
/// Values of a swizzled row of B.
const PER_ROW: u32 = 64;

#[derive(Debug)]
struct TwoFourLaunches {
    dtype: DType,
    element: Element,
    m: u64,
    k: u64,
    n_slots: u64,
    row_tiles: u32,
    n_steps: u32,
    is_natural: bool,
    machine: Machine,
    /// In place of what would be chosen, for an ablation.
    ablated: Option<Config>,
}

/// A matrix as the stages take it, of f16 or bf16: O(slots · k), in parallel. `ablated` runs in place of what
/// would be chosen.
pub(crate) fn device_plan<T: Scalar>(
    a: &TwoFour<T>,
    machine: Machine,
    ablated: Option<Config>,
) -> DevicePlan {
    let shape = ProductShape { m: a.nrows(), k: a.ncols(), dtype: T::DTYPE };
    let n_slots = a.layout().n_slots();
    let clusters = ablated.map_or(1, |config| config.cluster() as usize);
    let tiles = n_slots.div_ceil(ROWS).next_multiple_of(clusters);
    let mut slots = a.layout().slots().map_or_else(Vec::new, |slots| slots.to_vec());
    if !slots.is_empty() {
        // The kernel looks every row of a tile up.
        slots.resize(tiles * ROWS, PAD_ROW);
    }
    DevicePlan {
        kernels: match ablated {
            Some(config) => vec![config.kernel(T::DTYPE)],
            None => configs(T::DTYPE).iter().map(|config| config.kernel(T::DTYPE)).collect(),
        },
        sequence: Box::new(TwoFourLaunches {
            dtype: T::DTYPE,
            element: if T::DTYPE == DType::F16 { Element::F16 } else { Element::Bf16 },
            m: shape.m as u64,
            k: shape.k as u64,
            n_slots: n_slots as u64,
            row_tiles: tiles as u32,
            n_steps: shape.k.div_ceil(DEPTH) as u32,
            is_natural: a.layout().is_natural(),
            machine,
            ablated,
        }),
        values: vec![ValuesPart::exact(VALUES)],
        parts: vec![
            Box::new(pack_values(a.layout(), a.values(), a.row_stride(), tiles)),
            Box::new(pack_metadata(a, tiles)),
            Box::new(slots),
        ],
        maps: Vec::new(),
        workspace: 0,
        shape,
    }
}

impl LaunchSequence for TwoFourLaunches {
    fn uses_workspace(&self, _: &Operands) -> bool {
        false
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        entry(b) != BY_ELEMENTS
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
        let entry = entry(&b);
        let (kernel, config) = self.choose(&b);
        let row_of_slot = if self.is_natural { 0 } else { at.parts[SLOTS] };
        let mut first = 0;
        while first < n {
            let width = config.max_columns().min(n - first);
            let b = b.columns(first, width, SIZE);
            let c = c.columns(first, width, epilogue.size_of_c(4));
            let copies_c =
                is_plain && self.is_natural && is_matrix(&c, 4) && width.is_multiple_of(4);
            let params = Params {
                b: self.map_of_b(&b, entry, &config, encoder)?,
                c: if copies_c { map_of_c(&c, encoder)? } else { EncodedMap::default() },
                values: at.parts[VALUES],
                metadata: at.parts[METADATA],
                b_elements: b.address,
                b_row_stride: b.row_stride,
                b_col_stride: b.col_stride,
                k: self.k,
                n_slots: self.n_slots,
                output: Output::new(&c, (row_of_slot, self.m), factors, epilogue.columns(first, 4)),
                n_steps: self.n_steps,
                copies_c: u32::from(copies_c),
                is_scaling: u32::from(alpha as f32 == 0.0),
                ..Params::default()
            };
            each(&Launch {
                kernel,
                entry,
                grid: [self.row_tiles, width.div_ceil(u64::from(config.columns())) as u32, 1],
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
        let (_, config) = self.choose(&operands.b);
        let tile = format!("{ROWS} rows × {} columns", config.columns());
        let lowering = lowering.with("tile", tile, config.why());
        CtaOrder::by_tiles(config.columns())
            .explain(operands.b.cols as u64, OF_TILES, lowering)
            .with("stages", config.stages_in_words(), "")
            .with("tasks", self.row_tiles.to_string(), "tiles of rows, whatever the schedule cuts")
            .with("reduction", "none", "one block of threads sums a tile of rows, in order")
    }
}

impl TwoFourLaunches {
    /// The kernel for products with this B, and its configuration.
    fn choose(&self, b: &Place) -> (usize, Config) {
        if let Some(config) = self.ablated {
            return (0, config);
        }
        let configs = configs(self.dtype);
        let index = Config::index(configs, entry(b), self.work(b.cols as u64));
        (index, configs[index])
    }

    fn work(&self, n: u64) -> Work {
        let Machine { multiprocessors, .. } = self.machine;
        Work { row_tiles: u64::from(self.row_tiles), n, multiprocessors }
    }

    /// Boxes of what a CTA copies of a step of B: all of it, or its part in a cluster.
    fn map_of_b(
        &self,
        b: &Place,
        entry: &str,
        config: &Config,
        encoder: &dyn MapEncoder,
    ) -> Result<EncodedMap, CudaError> {
        let (n, k) = (b.cols as u64, self.k);
        let map = match entry {
            BY_ROWS => {
                let boxed = [PER_ROW, DEPTH as u32 / config.cluster()];
                TensorMap::new(self.element, b.address, &[n, k], &[b.row_stride * SIZE], &boxed)
            }
            BY_COLUMNS => {
                let boxed = [PER_ROW, config.columns() / config.cluster()];
                TensorMap::new(self.element, b.address, &[k, n], &[b.col_stride * SIZE], &boxed)
            }
            _ => return Ok(EncodedMap::default()),
        };
        encoder.encode(&map.swizzle(Swizzle::Bytes128))
    }
}

/// The entry point that reads B as it can be read.
pub(crate) fn entry(b: &Place) -> &'static str {
    match Reading::of(b, SIZE) {
        Reading::Rows => BY_ROWS,
        Reading::Columns => BY_COLUMNS,
        Reading::Elements => BY_ELEMENTS,
    }
}
