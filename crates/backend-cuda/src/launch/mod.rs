//! What a product does, as data: a list of launches, which a driver enqueues and an emulator executes.

mod machine;
mod packed_values;
pub(crate) mod panel;
pub(crate) mod tensor_map;

use std::fmt::Debug;

use bytemuck::Pod;
use girih_backend::{Lowering, ProductShape};
use girih_formats::{Buffer, Complex};

use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::kernel::Kernel;
use crate::operand::Place;

pub(crate) use machine::Machine;
pub(crate) use packed_values::PackedValues;
use tensor_map::{EncodedMap, MapEncoder, TensorMap};

/// One kernel, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch<'a> {
    /// Which of the device plan's [kernels](DevicePlan::kernels).
    pub(crate) kernel: usize,
    /// Which of its entry points.
    pub(crate) entry: &'a str,
    /// Blocks in x, y and z.
    pub(crate) grid: [u32; 3],
    /// Threads of a block.
    pub(crate) block: u32,
    /// Blocks of a cluster, neighbours in x; 1 where there are no clusters.
    pub(crate) cluster: u32,
    /// Bytes of shared memory besides those known when compiled; at most what the kernel's
    /// [`Budget`](crate::kernels::Budget) says.
    pub(crate) dynamic_shared: u32,
    /// Whether it may begin before the launch before it has ended: it waits itself for what that writes.
    pub(crate) overlaps: bool,
    /// The one parameter, a structure that holds all others.
    pub(crate) params: &'a [u8],
}

impl Default for Launch<'_> {
    fn default() -> Self {
        Self {
            kernel: 0,
            entry: "",
            grid: [1; 3],
            block: 1,
            cluster: 1,
            dynamic_shared: 0,
            overlaps: false,
            params: &[],
        }
    }
}

/// Takes launches, in the order in which they run.
pub(crate) type Each<'a> = &'a mut dyn FnMut(&Launch<'_>) -> Result<(), CudaError>;

/// The operands of `C = α·A·B + β·C` but A: scalars, and where B and C are in device memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operands {
    /// α; its imaginary part is 0 where values are real.
    pub alpha: Complex<f64>,
    /// β, too; where it is 0, C is not read.
    pub beta: Complex<f64>,
    /// B.
    pub b: Place,
    /// C.
    pub c: Place,
}

impl Operands {
    /// α and β of a product of real values.
    #[must_use]
    pub fn real_factors(&self) -> (f64, f64) {
        (self.alpha.re, self.beta.re)
    }
}

/// Where a device plan has been put.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlacedParts {
    pub(crate) parts: Vec<u64>,
    pub(crate) maps: Vec<EncodedMap>,
    pub(crate) workspace: u64,
}

impl PlacedParts {
    /// All of it.
    pub(crate) fn addresses(&self) -> Addresses<'_> {
        Addresses { parts: &self.parts, maps: &self.maps, workspace: self.workspace }
    }
}

/// Where a device plan, or one of several that it consists of, has been put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses<'a> {
    /// Of its parts, each a multiple of [`ALIGN`].
    pub(crate) parts: &'a [u64],
    /// Its tensor maps, of parts that have addresses now.
    pub(crate) maps: &'a [EncodedMap],
    /// Of its workspace, a multiple of [`ALIGN`]; 0 where it needs none.
    pub(crate) workspace: u64,
}

/// Parts of an allocation begin at multiples of this.
pub(crate) const ALIGN: u64 = 256;

/// The launches of a product, from its operands: pure, and without allocating.
pub(crate) trait LaunchSequence: Debug + Send + Sync {
    /// Whether a product writes to the workspace, so that two may not run at once.
    fn uses_workspace(&self, operands: &Operands) -> bool;

    /// Whether kernels read such a B about as fast as one whose rows are whole vectors.
    fn reads_as_it_is(&self, b: &Place) -> bool;

    /// Hands each launch of a product to `each`. The operands fit the plan, and neither m nor n is 0. If there
    /// is an epilogue, it is one that [is supported](crate::kernels::supported::takes_epilogue), and the
    /// launches are of the plan's kernels [with one](Kernel::with_epilogue). If C is rounded, the plan
    /// [takes](crate::kernels::supported::takes_output) such a C, and they are of its kernels
    /// [for it](Kernel::with_output).
    ///
    /// # Errors
    /// Those of `each` and of `encoder`.
    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        epilogue: &PlacedEpilogue,
        encoder: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError>;

    /// Hands each launch of an aggregation to `each`. The operands fit the plan, and neither m nor n is 0; α is 1, or
    /// −1 for the least products, and β is zero. The plan [takes](crate::kernels::supported::takes_aggregation) the
    /// aggregation, and the launches are of its kernels [for it](Kernel::with_aggregation).
    ///
    /// # Errors
    /// Those of `each`.
    fn aggregations(&self, _: &Addresses, _: &Operands, _: Each<'_>) -> Result<(), CudaError> {
        unreachable!("only plans that take aggregations compute them")
    }

    /// Adds what decides the launches of such a product to a lowering: tiles, stages, parts and how
    /// they are added up. α is not zero.
    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering;
}

/// Memory that is to be uploaded.
pub(crate) trait Bytes: Send + Sync {
    fn bytes(&self) -> &[u8];
}

impl<T: Pod + Send + Sync> Bytes for Buffer<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl<T: Pod + Send + Sync> Bytes for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// A part of A's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValuesPart {
    /// Which part.
    pub(crate) part: usize,
    /// What was done to values that are packed in it.
    pub(crate) packed: PackedValues,
}

impl ValuesPart {
    /// Values as they are.
    pub(crate) fn exact(part: usize) -> Self {
        Self { part, packed: PackedValues::Exact }
    }
}

/// A plan as a device needs it.
pub(crate) struct DevicePlan {
    pub(crate) shape: ProductShape,
    /// The kernels that products may run, whatever their operands.
    pub(crate) kernels: Vec<Kernel>,
    /// What is uploaded.
    pub(crate) parts: Vec<Box<dyn Bytes>>,
    /// The parts that hold A's values, and nothing else. The others follow from its pattern.
    pub(crate) values: Vec<ValuesPart>,
    /// Tensor maps of parts: which one, and the map, its address counted from the part's begin.
    pub(crate) maps: Vec<(usize, TensorMap)>,
    /// Bytes of memory that products write and read again.
    pub(crate) workspace: u64,
    pub(crate) sequence: Box<dyn LaunchSequence>,
}

impl DevicePlan {
    /// What launches need to know of where the device plan is.
    pub(crate) fn placed(
        &self,
        parts: Vec<u64>,
        workspace: u64,
        encoder: &dyn MapEncoder,
    ) -> Result<PlacedParts, CudaError> {
        let maps = self.maps.iter().map(|(part, map)| {
            encoder.encode(&TensorMap { address: map.address + parts[*part], ..*map })
        });
        Ok(PlacedParts { maps: maps.collect::<Result<_, _>>()?, parts, workspace })
    }
}
