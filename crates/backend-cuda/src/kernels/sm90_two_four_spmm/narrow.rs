//! Plans in 2:4 with values in e4m3: B is quantized first, then multiplied.

use bytemuck::bytes_of;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{E4m3Values, PAD_ROW, Scalar, TwoFour};

use super::config::{BY_COLUMNS, Config, NARROW_DEPTH, ROWS, Work, narrow_configs};
use super::packing::{pack_metadata_8bit, pack_values};
use super::params::Params;
use crate::cta_order::OF_TILES;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::quantize_e4m3::{self, Quantized};
use crate::kernels::shared::{Output, is_matrix, map_of_c};
use crate::launch::Machine;
use crate::launch::tensor_map::{Element, EncodedMap, MapEncoder, Swizzle, TensorMap};
use crate::launch::{Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart};
use crate::operand::Place;
use crate::{CtaOrder, CudaError};

/// The parts of the device plan.
const VALUES: usize = 0;
const METADATA: usize = 1;
const SLOTS: usize = 2;
const SCALES: usize = 3;

/// Columns of B that are quantized at a time are a multiple of this, and so of those of every tile.
const COLUMNS: u64 = 256;
/// The most bytes that a quantized B takes: what it has more goes through them after the first.
const WORKSPACE: u64 = 256 << 20;

#[derive(Debug)]
struct NarrowLaunches {
    m: u64,
    n_slots: u64,
    row_tiles: u32,
    n_steps: u32,
    is_natural: bool,
    size: u64,
    quantized: Quantized,
    machine: Machine,
    /// In place of what would be chosen, for an ablation.
    ablated: Option<Config>,
}

/// A matrix with values in e4m3 as the stages take it, and space for a B of `n` columns: O(slots · k), in parallel.
/// `ablated` runs in place of what would be chosen.
pub(crate) fn device_plan<T: Scalar>(
    a: &TwoFour<T>,
    narrow: &E4m3Values,
    n: usize,
    machine: Machine,
    ablated: Option<Config>,
) -> DevicePlan {
    let shape = ProductShape { m: a.nrows(), k: a.ncols(), dtype: T::DTYPE };
    let n_slots = a.layout().n_slots();
    let tiles = n_slots.div_ceil(ROWS);
    let mut slots = a.layout().slots().map_or_else(Vec::new, |slots| slots.to_vec());
    if !slots.is_empty() {
        // The kernel looks every row of a tile up.
        slots.resize(tiles * ROWS, PAD_ROW);
    }
    // It multiplies by the scale of every slot of a tile.
    let mut scales: Vec<_> = (0..n_slots).map(|slot| narrow.scale(slot)).collect();
    scales.resize(tiles * ROWS, 1.0);
    let quantized = Quantized::new(shape.k as u64, columns_at_once(shape.k as u64, n as u64));
    let mut kernels: Vec<_> = match &ablated {
        Some(config) => vec![config.kernel(T::DTYPE)],
        None => narrow_configs().iter().map(|config| config.kernel(T::DTYPE)).collect(),
    };
    kernels.push(quantize_e4m3::kernel(T::DTYPE));
    DevicePlan {
        kernels,
        sequence: Box::new(NarrowLaunches {
            m: shape.m as u64,
            n_slots: n_slots as u64,
            row_tiles: tiles as u32,
            n_steps: shape.k.div_ceil(NARROW_DEPTH) as u32,
            is_natural: a.layout().is_natural(),
            size: T::DTYPE.size() as u64,
            quantized,
            machine,
            ablated,
        }),
        values: vec![ValuesPart::exact(VALUES)],
        parts: vec![
            Box::new(pack_values(a.layout(), narrow.codes(), a.row_stride(), tiles)),
            Box::new(pack_metadata_8bit(a, tiles)),
            Box::new(slots),
            Box::new(scales),
        ],
        maps: Vec::new(),
        workspace: quantized.bytes(),
        shape,
    }
}

/// Columns of a B with `n` columns of `k` rows that are quantized at a time.
fn columns_at_once(k: u64, n: u64) -> u64 {
    let most = (WORKSPACE / k.max(1) / COLUMNS).max(1) * COLUMNS;
    n.max(1).next_multiple_of(COLUMNS).min(most)
}

impl LaunchSequence for NarrowLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        operands.real_factors().0 as f32 != 0.0
    }

    fn reads_as_it_is(&self, _: &Place) -> bool {
        // It is rounded to e4m3 first, however it lies.
        true
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
        let size_of_c = epilogue.size_of_c(4);
        let is_scaling = alpha as f32 == 0.0;
        let n = b.cols as u64;
        let (kernel, config) = self.choose(n);
        let row_of_slot = if self.is_natural { 0 } else { at.parts[SLOTS] };
        let mut first = 0;
        while first < n {
            let width = self.quantized.columns().min(n - first);
            let b = b.columns(first, width, self.size);
            let c = c.columns(first, width, size_of_c);
            if !is_scaling {
                self.quantized.launches(self.quantizes(), &b, at.workspace, each)?;
            }
            let copies_c =
                is_plain && self.is_natural && is_matrix(&c, 4) && width.is_multiple_of(4);
            let params = Params {
                b: self.map_of_codes(at.workspace, width, &config, encoder)?,
                c: if copies_c { map_of_c(&c, encoder)? } else { EncodedMap::default() },
                values: at.parts[VALUES],
                metadata: at.parts[METADATA],
                n_slots: self.n_slots,
                output: Output::new(&c, (row_of_slot, self.m), factors, epilogue.columns(first, 4)),
                n_steps: self.n_steps,
                copies_c: u32::from(copies_c),
                is_scaling: u32::from(is_scaling),
                slot_scales: at.parts[SCALES],
                column_scales: self.quantized.scales_at(at.workspace),
                ..Params::default()
            };
            each(&Launch {
                kernel,
                entry: BY_COLUMNS,
                grid: [self.row_tiles, width.div_ceil(u64::from(config.columns())) as u32, 1],
                block: config.threads(BY_COLUMNS),
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
        let (_, config) = self.choose(operands.b.cols as u64);
        let tile = format!("{ROWS} rows × {} columns", config.columns());
        let lowering = lowering
            .with("values", "e4m3", "B is rounded to it, by a scale for each column")
            .with("tile", tile, config.why());
        CtaOrder::by_tiles(config.columns())
            .explain(operands.b.cols as u64, OF_TILES, lowering)
            .with("stages", config.stages_in_words(), "")
            .with("tasks", self.row_tiles.to_string(), "tiles of rows, whatever the schedule cuts")
            .with("reduction", "none", "one block of threads sums a tile of rows, in order")
    }
}

impl NarrowLaunches {
    /// Which kernel quantizes.
    fn quantizes(&self) -> usize {
        if self.ablated.is_some() { 1 } else { narrow_configs().len() }
    }

    /// The kernel for products with `n` columns, and its configuration.
    fn choose(&self, n: u64) -> (usize, Config) {
        if let Some(config) = self.ablated {
            return (0, config);
        }
        let Machine { multiprocessors, .. } = self.machine;
        let work = Work { row_tiles: u64::from(self.row_tiles), n, multiprocessors };
        let index = Config::index(narrow_configs(), BY_COLUMNS, work);
        (index, narrow_configs()[index])
    }

    /// Boxes of what a CTA copies of a step of B's codes. Where k is 0 there are none.
    fn map_of_codes(
        &self,
        address: u64,
        n: u64,
        config: &Config,
        encoder: &dyn MapEncoder,
    ) -> Result<EncodedMap, CudaError> {
        let pitch = self.quantized.pitch();
        if pitch == 0 {
            return Ok(EncodedMap::default());
        }
        let boxed = [NARROW_DEPTH as u32, config.columns()];
        let map = TensorMap::new(Element::U8, address, &[pitch, n], &[pitch], &boxed);
        encoder.encode(&map.swizzle(Swizzle::Bytes128))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_is_quantized_in_pieces_that_fit() {
        assert_eq!(columns_at_once(64, 1), 256);
        assert_eq!(columns_at_once(8192, 8192), 8192);
        assert_eq!(columns_at_once(1 << 20, 8192), 256);
        assert_eq!(columns_at_once(u64::from(u32::MAX), 100_000), 256);
        assert_eq!(columns_at_once(0, 0), 256);
    }
}
