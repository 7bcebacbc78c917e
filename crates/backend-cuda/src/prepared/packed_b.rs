//! Products whose B is copied into rows of whole vectors first, where its own rows are none.
//!
//! Kernels read rows of B many times, and in vectors of 16 bytes fastest. A copy is written once, and stays in the
//! second-level cache if it fits.

use girih_backend::{Lowering, ProductShape};
use girih_formats::DType;

use super::launch::{ALIGN, Addresses, DevicePlan, Each, LaunchSequence, Operands};
use super::tensor_map::MapEncoder;
use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::pack_b;
use crate::operand::Place;

/// Of the second-level cache, the part in four that a copy for rows of CSR may take. They read B as it lies about as
/// fast where it does not stay there.
const HELD: u64 = 3;
/// The most bytes of a copy for tiles, which read others many times slower.
const MOST: u64 = 1 << 29;

/// Launches on a B that may be copied before.
#[derive(Debug)]
struct PackedB {
    inner: Box<dyn LaunchSequence>,
    /// The number of the kernel that copies.
    kernel: usize,
    /// Bytes of an element of B.
    size: u64,
    /// Where the copy is, in the workspace, and the most bytes of it.
    offset: u64,
    bytes: u64,
}

impl DevicePlan {
    /// The plan, with memory for a copy of B of `n` columns, if kernels would not read one as it is whose rows lie one
    /// after the other. `is_csr` says that rows of CSR are multiplied, on a device whose
    /// second-level cache has `cache_bytes`.
    pub(crate) fn copying_b(mut self, n: usize, is_csr: bool, cache_bytes: u64) -> Self {
        let ProductShape { k, dtype, .. } = self.shape;
        let size = dtype.size() as u64;
        let most = if is_csr { cache_bytes / 4 * HELD } else { MOST };
        let bytes = pack_b::bytes(k as u64, n as u64, size);
        let Some(bytes) = bytes.filter(|bytes| (1..=most).contains(bytes)) else { return self };
        let row_stride = n as u64;
        let b = Place { address: ALIGN, rows: k, cols: n, row_stride, col_stride: 1, spare: 0 };
        if self.sequence.reads_as_it_is(&b) {
            return self;
        }
        let offset = self.workspace.next_multiple_of(ALIGN);
        self.workspace = offset + bytes;
        let kernel = self.kernels.len();
        self.kernels.push(pack_b::kernel());
        self.sequence = Box::new(PackedB { inner: self.sequence, kernel, size, offset, bytes });
        self
    }
}

impl PackedB {
    /// Whether B is copied.
    fn packs(&self, b: &Place) -> bool {
        let bytes = pack_b::bytes(b.rows as u64, b.cols as u64, self.size);
        !self.inner.reads_as_it_is(b) && bytes.is_some_and(|bytes| bytes <= self.bytes)
    }

    /// The operands that are multiplied, once B is copied.
    fn packed(
        &self,
        at: &Addresses,
        operands: &Operands,
        each: Each<'_>,
    ) -> Result<Operands, CudaError> {
        if !self.packs(&operands.b) {
            return Ok(*operands);
        }
        let to = at.workspace + self.offset;
        let b = pack_b::launch((&operands.b, self.size), to, self.kernel, each)?;
        Ok(Operands { b, ..*operands })
    }
}

impl LaunchSequence for PackedB {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.packs(&operands.b) || self.inner.uses_workspace(operands)
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        self.inner.reads_as_it_is(b)
    }

    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        epilogue: &PlacedEpilogue,
        encoder: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let operands = self.packed(at, operands, each)?;
        self.inner.launches(at, &operands, epilogue, encoder, each)
    }

    fn aggregations(
        &self,
        at: &Addresses,
        operands: &Operands,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let operands = self.packed(at, operands, each)?;
        self.inner.aggregations(at, &operands, each)
    }

    fn rounded(
        &self,
        at: &Addresses,
        operands: &Operands,
        dtype: DType,
        encoder: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let operands = self.packed(at, operands, each)?;
        self.inner.rounded(at, &operands, dtype, encoder, each)
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let lowering = self.inner.explain(operands, lowering);
        let (what, why) = match self.packs(&operands.b) {
            true => ("copied into rows of whole vectors first", "its own rows are none"),
            false => (
                "read as it lies, and copied first where its rows are no whole vectors",
                "kernels read whole vectors fastest, and rows of B many times",
            ),
        };
        lowering.with("B", what, why)
    }
}
