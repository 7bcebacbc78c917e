//! Products whose B is copied into rows of whole vectors first, where its own rows are none.
//!
//! Kernels read rows of B many times, and in vectors of 16 bytes fastest. A copy is written once, and stays in the
//! second-level cache if it fits.

use girih_backend::{Lowering, ProductShape};
use girih_formats::Complex;

use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::pack_b;
use crate::launch::tensor_map::MapEncoder;
use crate::launch::{ALIGN, Addresses, DevicePlan, Each, Launch, LaunchSequence, Operands};
use crate::operand::Place;

/// Of the second-level cache, the part in four that a copy for rows of CSR may take: they read B as it lies about as fast
/// where it does not stay there. And one of a B whose rows would be whole vectors, were it row-major.
const HELD: u64 = 3;
/// The most bytes of another copy for tiles, which read others many times slower.
const MOST: u64 = 1 << 29;

/// Launches on a B that may be copied before.
#[derive(Debug)]
struct PackedB {
    inner: Box<dyn LaunchSequence>,
    /// The number of the kernel that copies.
    kernel: usize,
    /// Whether the kernels that multiply wait for the copy themselves, so that they may begin meanwhile.
    overlaps: bool,
    /// Bytes of an element of B.
    size: u64,
    /// Where the copy is, in the workspace, and the most bytes of it.
    offset: u64,
    bytes: u64,
}

impl DevicePlan {
    /// The plan, with memory for a copy of B of `n` columns, if kernels would not read one as it is whose rows or whose
    /// columns lie one after the other. `is_csr` says that rows of CSR are multiplied, on a device whose
    /// second-level cache has `cache_bytes`.
    pub(crate) fn copying_b(mut self, n: usize, is_csr: bool, cache_bytes: u64) -> Self {
        let ProductShape { k, dtype, .. } = self.shape;
        let size = dtype.size() as u64;
        let copies = |row_stride, col_stride| {
            let b = Place { address: ALIGN, rows: k, cols: n, row_stride, col_stride, spare: 0 };
            !self.sequence.reads_as_it_is(&b)
        };
        let copies_rows = copies(n as u64, 1);
        if !copies_rows && !copies(1, k as u64) {
            return self;
        }
        let most = if copies_rows && !is_csr { MOST } else { cache_bytes / 4 * HELD };
        let bytes = pack_b::bytes(k as u64, n as u64, size);
        let Some(bytes) = bytes.filter(|bytes| (1..=most).contains(bytes)) else { return self };
        let offset = self.workspace.next_multiple_of(ALIGN);
        self.workspace = offset + bytes;
        let kernel = self.kernels.len();
        self.kernels.push(pack_b::kernel());
        self.sequence = Box::new(PackedB {
            inner: self.sequence,
            kernel,
            overlaps: is_csr,
            size,
            offset,
            bytes,
        });
        self
    }
}

impl PackedB {
    /// Whether B is copied. A product with α = 0 does not read it.
    fn packs(&self, &Operands { alpha, ref b, .. }: &Operands) -> bool {
        let bytes = pack_b::bytes(b.rows as u64, b.cols as u64, self.size);
        alpha != Complex::from(0.0)
            && !self.inner.reads_as_it_is(b)
            && bytes.is_some_and(|bytes| bytes <= self.bytes)
    }

    /// Hands the launch to `each` that copies B, if B is copied, and then those that `multiply` gives for the operands as
    /// they are now.
    fn after_copy(
        &self,
        at: &Addresses,
        operands: &Operands,
        each: Each<'_>,
        multiply: impl FnOnce(&Operands, Each<'_>) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        if !self.packs(operands) {
            return multiply(operands, each);
        }
        let to = at.workspace + self.offset;
        let b = pack_b::launch((&operands.b, self.size), to, self.kernel, each)?;
        // Of several launches, the next ones need what the first computes.
        let mut overlaps = self.overlaps;
        multiply(&Operands { b, ..*operands }, &mut |launch| {
            each(&Launch { overlaps: std::mem::take(&mut overlaps), ..*launch })
        })
    }
}

impl LaunchSequence for PackedB {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.packs(operands) || self.inner.uses_workspace(operands)
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
        self.after_copy(at, operands, each, |operands, each| {
            self.inner.launches(at, operands, epilogue, encoder, each)
        })
    }

    fn aggregations(
        &self,
        at: &Addresses,
        operands: &Operands,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        self.after_copy(at, operands, each, |operands, each| {
            self.inner.aggregations(at, operands, each)
        })
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let lowering = self.inner.explain(operands, lowering);
        let first = if self.overlaps { "while the product begins" } else { "first" };
        let (what, why) = match self.packs(operands) {
            true => (format!("copied into rows of whole vectors {first}"), "its own rows are none"),
            false => (
                format!("read as it lies, and copied {first} where that saves time"),
                "kernels read whole vectors fastest, and rows of B many times",
            ),
        };
        lowering.with("B", what, why)
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
    use girih_planner::Plan;
    use half::f16;

    use super::*;
    use crate::kernels::sm90_dense_gemm::FullBlocks;
    use crate::launch::PlacedParts;
    use crate::launch::tensor_map::{EncodedMap, TensorMap};
    use crate::prepared::{Machine, device_plan};

    struct Unencoded;

    impl MapEncoder for Unencoded {
        fn encode(&self, _: &TensorMap) -> Result<EncodedMap, CudaError> {
            Ok(EncodedMap::default())
        }
    }

    /// A plan with memory for a copy of `n` columns, if one is needed.
    fn plan(n: usize) -> DevicePlan {
        let a: Csr<f16> = girih_generate::uniform::<f32>(60, 50, 8, 1).unwrap().cast();
        let rows = RowLayout::natural(60, 1).unwrap();
        let plan = Plan::from_tiling(Tiling::from_csr(&a, FormatSpec::Csr, rows).unwrap());
        let machine = Machine {
            multiprocessors: 1,
            cache_bytes: 1 << 20,
            memory_bandwidth: 28,
            cache_bandwidth: 68,
            csr_layout: None,
            cta_order: None,
            copies_b: false,
        };
        device_plan(&plan, machine, FullBlocks::Fastest.into()).copying_b(n, true, 1 << 20)
    }

    /// What a product with α and such a B launches, and whether it uses the workspace.
    fn launched(plan: &DevicePlan, alpha: f64, strides: (usize, u64, u64)) -> (Vec<String>, bool) {
        let (cols, row_stride, col_stride) = strides;
        let b = Place { address: ALIGN, rows: 50, cols, row_stride, col_stride, spare: 0 };
        let c = Place::row_major(ALIGN, (60, cols), 4);
        let operands = Operands { alpha: alpha.into(), beta: 0.0.into(), b, c };
        let at = PlacedParts { parts: vec![ALIGN; 10], workspace: ALIGN, ..Default::default() };
        let mut entries = Vec::new();
        let mut each = |launch: &Launch<'_>| {
            // What multiplies begins while B is copied, and waits itself.
            assert_eq!(launch.overlaps, entries.len() == 1, "{launch:?}");
            assert!(plan.kernels[launch.kernel].budget.entries.contains(&launch.entry));
            entries.push(launch.entry.to_owned());
            Ok(())
        };
        let none = PlacedEpilogue::default();
        let sequence = &*plan.sequence;
        sequence.launches(&at.addresses(), &operands, &none, &Unencoded, &mut each).unwrap();
        (entries, sequence.uses_workspace(&operands))
    }

    #[test]
    fn b_is_copied_if_its_rows_are_no_vectors_and_there_is_memory() {
        let with = plan(70);
        assert_eq!(with.workspace, 50 * 72 * 2);
        let copied = |n, row_stride, col_stride| {
            let (entries, uses) = launched(&with, 1.5, (n, row_stride, col_stride));
            assert_eq!(uses, entries.len() == 2);
            entries[0] == "pack_b_2"
        };
        assert!(copied(70, 70, 1));
        assert!(copied(69, 71, 1) && copied(66, 1, 50), "whatever the strides");
        assert!(!copied(64, 64, 1), "rows are vectors");
        assert!(!copied(78, 78, 1), "there is no memory for as many columns");
        assert!(!copied(7, 7, 1), "few columns are read as they lie");
        let said = with.describe(Lowering::new("cuda", "a device", 70));
        assert!(said.choice("B").is_some_and(|choice| choice.contains("while the product begins")));
        // What is multiplied reads vectors then.
        let (entries, _) = launched(&with, 1.5, (70, 70, 1));
        assert!(entries[1].starts_with("csr_spmm_rows_") && !entries[1].contains("words"));
    }

    #[test]
    fn nothing_is_copied_that_is_not_read() {
        let (entries, uses) = launched(&plan(70), 0.0, (70, 70, 1));
        assert_eq!((entries, uses), (vec!["csr_scale".to_owned()], false));
    }

    #[test]
    fn plans_for_few_columns_have_no_memory_for_a_copy() {
        for n in [1, 7, 8, 15] {
            assert_eq!((plan(n).workspace, plan(n).kernels.len()), (0, 2), "n = {n}");
            assert_eq!(plan(n).describe(Lowering::new("cuda", "a device", n)).choice("B"), None);
        }
        // Nor do those whose B the cache does not hold.
        assert_eq!(plan(9999).workspace, 0);
    }

    #[test]
    fn columns_one_after_the_other_are_copied_for_whole_vectors_too() {
        let plan = plan(64);
        assert_eq!(plan.workspace, 50 * 64 * 2);
        assert_eq!(launched(&plan, 1.5, (64, 1, 50)).0[0], "pack_b_2");
        assert_eq!(launched(&plan, 1.5, (64, 64, 1)).0.len(), 1);
        assert_eq!(launched(&plan, 1.5, (64, 65, 1)).0[0], "pack_b_2", "rows begin on 2 bytes");
        assert_eq!(launched(&plan, 1.5, (64, 68, 1)).0.len(), 1, "rows begin on 8 bytes");
    }
}
