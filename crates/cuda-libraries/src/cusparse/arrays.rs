//! What of a plan cuSPARSE is given: arrays in its layouts, pure.

use bytemuck::Pod;
use girih_backend::Unsupported;
use girih_backend_cuda::OperandRows;
use girih_formats::{
    Bcsr, BlockedEll, Buffer, DType, PAD_COL, RowCsr, Scalar, Tiling, for_any_tiling,
};
use girih_planner::Plan;

use crate::library::Sparse;

/// An array to upload.
pub(super) trait Bytes {
    fn bytes(&self) -> &[u8];
}

impl<T: Pod> Bytes for Buffer<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl<T: Pod> Bytes for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// A matrix as cuSPARSE takes it.
pub(super) struct SparseArrays {
    pub(super) dtype: DType,
    /// Rows of the operands: whole blocks.
    pub(super) rows: OperandRows,
    /// Offsets if there are, columns and values; last as many zeros as offsets of rows take.
    pub(super) parts: Vec<Box<dyn Bytes>>,
    /// From the addresses of the parts to the description.
    arrays: Arrays,
    /// Whether there is nothing to multiply.
    pub(super) is_empty: bool,
}

/// A description that lacks addresses.
#[derive(Clone, Copy, Debug)]
enum Arrays {
    Csr { nnz: u64, wide: bool },
    Bsr { nnzb: u64, block: (u64, u64), wide: bool },
    Ell { block: u64, width: u64 },
}

/// Why cuSPARSE can't take a plan, by its format and rows alone.
pub(super) fn refusal(plan: &Plan) -> Option<Unsupported> {
    let spec = plan.spec();
    let natural = |is: bool| {
        let reason =
            "cuSPARSE writes block rows in their order, but the plan's rows are in another";
        (!is).then(|| Unsupported::RowLayout { reason: reason.to_owned() })
    };
    for_any_tiling!(plan.tiling(), tiling => match tiling {
        // Rows can be put back in their order where each stands alone.
        Tiling::Csr(_) => None,
        Tiling::Bcsr(a) if a.block_rows() != a.block_cols() => {
            let (rows, cols) = (a.block_rows(), a.block_cols());
            let reason = format!("cuSPARSE's BSR has square blocks, but the plan's are {rows}×{cols}");
            Some(Unsupported::Sizes { spec, reason })
        }
        Tiling::Bcsr(a) => natural(a.layout().is_natural()),
        Tiling::BlockedEll(a) => natural(a.layout().is_natural()).or_else(|| {
            let blocks = a.ncols().div_ceil(a.block_size()) + 1;
            (i32::try_from(blocks).is_err()).then(|| Unsupported::Sizes {
                spec,
                reason: format!(
                    "cuSPARSE counts block columns of Blocked-ELL in 32 bits, and there are {blocks}"
                ),
            })
        }),
        _ => Some(Unsupported::Format {
            format: spec.kind(),
            reason: format!(
                "cuSPARSE multiplies csr, bcsr and blocked-ell, and the plan is {}",
                spec.kind()
            ),
        }),
    })
}

impl SparseArrays {
    /// Of a plan that is not [refused](refusal): O(nnz).
    pub(super) fn new(plan: &Plan) -> Self {
        for_any_tiling!(plan.tiling(), tiling => match tiling {
            Tiling::Csr(a) => csr(a),
            Tiling::Bcsr(a) => bsr(a),
            Tiling::BlockedEll(a) => ell(a),
            _ => unreachable!("plans are checked to be supported first"),
        })
    }

    /// A matrix of the same shape without entries.
    pub(super) fn without_entries(&self, parts: &[u64]) -> Sparse {
        let (zeros, OperandRows { b: cols, c: rows }) = (parts[parts.len() - 1], self.rows);
        Sparse::Csr {
            // The library describes no matrix without rows or columns.
            rows: rows.max(1) as u64,
            cols: cols.max(1) as u64,
            nnz: 0,
            row_ptr: zeros,
            col_idx: zeros,
            values: zeros,
            wide: is_wide(cols.max(rows) as u64),
        }
    }

    /// The description, once the parts have addresses.
    pub(super) fn placed(&self, parts: &[u64]) -> Sparse {
        let OperandRows { b: cols, c: rows } = self.rows;
        let (rows, cols) = (rows as u64, cols as u64);
        match self.arrays {
            Arrays::Csr { nnz, wide } => {
                let (row_ptr, col_idx, values) = (parts[0], parts[1], parts[2]);
                Sparse::Csr { rows, cols, nnz, row_ptr, col_idx, values, wide }
            }
            Arrays::Bsr { nnzb, block, wide } => Sparse::Bsr {
                rows: rows / block.0,
                cols: cols / block.1,
                nnzb,
                block,
                row_ptr: parts[0],
                col_idx: parts[1],
                values: parts[2],
                wide,
            },
            Arrays::Ell { block, width } => {
                let (col_idx, values) = (parts[0], parts[1]);
                Sparse::Ell { rows, cols, block, width, col_idx, values }
            }
        }
    }
}

/// Offsets of rows without entries, of 64 bits or fewer.
fn zeros(rows: OperandRows) -> Box<dyn Bytes> {
    Box::new(vec![0i64; rows.c.max(1) + 1])
}

/// Whether a count or a dimension takes 64-bit indices.
fn is_wide(largest: u64) -> bool {
    i32::try_from(largest).is_err()
}

/// Offsets and columns in indices of 64 or 32 bits, whichever these need.
fn indices(row_ptr: &[u64], col_idx: &[u32], wide: bool) -> [Box<dyn Bytes>; 2] {
    if wide {
        let row_ptr: Vec<i64> = row_ptr.iter().map(|&i| i as i64).collect();
        let col_idx: Vec<i64> = col_idx.iter().map(|&i| i64::from(i)).collect();
        [Box::new(row_ptr), Box::new(col_idx)]
    } else {
        let row_ptr: Vec<i32> = row_ptr.iter().map(|&i| i as i32).collect();
        // As many bits either way, and none of the numbers uses the highest.
        [Box::new(row_ptr), Box::new(col_idx.to_vec())]
    }
}

/// CSR with the rows in their natural order.
fn csr<T: Scalar>(a: &RowCsr<T>) -> SparseArrays {
    let (csr, layout) = (a.csr(), a.layout());
    let (m, k, nnz) = (layout.nrows(), csr.ncols(), csr.nnz() as u64);
    let wide = is_wide(nnz.max(k as u64).max(m as u64));
    let [row_ptr, col_idx, values]: [Box<dyn Bytes>; 3] = match layout.slot_of_rows() {
        None => {
            // Beyond the last row a window may have slots, which are empty.
            let [row_ptr, col_idx] = indices(&csr.row_ptr()[..=m], csr.col_idx(), wide);
            [row_ptr, col_idx, Box::new(csr.values().clone())]
        }
        Some(slots) => {
            let range =
                |slot: usize| csr.row_ptr()[slot] as usize..csr.row_ptr()[slot + 1] as usize;
            let (mut row_ptr, mut col_idx) = (vec![0], Vec::with_capacity(csr.nnz()));
            let mut values = Vec::with_capacity(csr.nnz());
            for slot in slots {
                col_idx.extend_from_slice(&csr.col_idx()[range(slot)]);
                values.extend_from_slice(&csr.values()[range(slot)]);
                row_ptr.push(values.len() as u64);
            }
            let [row_ptr, col_idx] = indices(&row_ptr, &col_idx, wide);
            [row_ptr, col_idx, Box::new(values)]
        }
    };
    let rows = OperandRows { b: k, c: m };
    SparseArrays {
        dtype: T::DTYPE,
        rows,
        parts: vec![row_ptr, col_idx, values, zeros(rows)],
        arrays: Arrays::Csr { nnz, wide },
        is_empty: nnz == 0,
    }
}

fn bsr<T: Scalar>(a: &Bcsr<T>) -> SparseArrays {
    let (block_rows, block_cols) = (a.block_rows(), a.block_cols());
    let rows = OperandRows {
        b: a.ncols().next_multiple_of(block_cols),
        c: a.nrows().next_multiple_of(block_rows),
    };
    let nnzb = a.nnzb() as u64;
    // Elements are counted too, for the library may.
    let wide = is_wide((a.values().len() as u64).max(rows.b as u64).max(rows.c as u64));
    let block_row_ptr = &a.block_row_ptr()[..=rows.c / block_rows];
    let [row_ptr, col_idx] = indices(block_row_ptr, a.block_col_idx(), wide);
    SparseArrays {
        dtype: T::DTYPE,
        rows,
        parts: vec![row_ptr, col_idx, Box::new(a.values().clone()), zeros(rows)],
        arrays: Arrays::Bsr { nnzb, block: (block_rows as u64, block_cols as u64), wide },
        is_empty: nnzb == 0,
    }
}

/// Blocked-ELL with a block of zeros and a valid column in every slot that is padding.
///
/// The library documents −1 for such slots and has read them as columns. A valid one is multiplied, so
/// that a NaN or Inf in the rows of B that it names would reach the block row. Named is therefore a block
/// column beyond the last, for which B has a block of zero rows.
fn ell<T: Scalar>(a: &BlockedEll<T>) -> SparseArrays {
    let (block, width) = (a.block_size(), a.ell_width());
    let block_cols = a.ncols().div_ceil(block);
    let mut col_idx = a.ell_col_idx().to_vec();
    let mut beyond = false;
    for slots in col_idx.chunks_exact_mut(width.max(1)) {
        let used = slots.iter().take_while(|&&col| col != PAD_COL).count();
        beyond |= used < slots.len();
        slots[used..].fill(block_cols as u32);
    }
    let rows = OperandRows {
        b: (block_cols + usize::from(beyond)) * block,
        c: a.nrows().next_multiple_of(block),
    };
    let col_idx: Buffer<u32> = col_idx.into();
    SparseArrays {
        dtype: T::DTYPE,
        rows,
        parts: vec![Box::new(col_idx), Box::new(a.values().clone()), zeros(rows)],
        arrays: Arrays::Ell { block: block as u64, width: (width * block) as u64 },
        is_empty: width == 0 || rows.c == 0,
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::cast_slice;
    use girih_formats::{Csr, FormatSpec, PAD_ROW, RowLayout};

    use super::*;

    /// 5×5 with an empty third block row of two.
    fn matrix() -> Csr<f32> {
        Csr::try_new(5, 5, vec![0, 2, 3, 3, 3, 4], vec![0, 4, 1, 2], vec![1.0, 2.0, 3.0, 4.0])
            .unwrap()
    }

    fn plan(spec: FormatSpec, layout: RowLayout) -> Plan {
        Plan::from_tiling(Tiling::from_csr(&matrix(), spec, layout).unwrap())
    }

    fn part<T: Pod>(arrays: &SparseArrays, part: usize) -> Vec<T> {
        cast_slice(arrays.parts[part].bytes()).to_vec()
    }

    #[test]
    fn rows_of_csr_are_put_back_in_their_order() {
        let layout = RowLayout::explicit(5, 1, vec![4, PAD_ROW, 1, 0, 3, 2]).unwrap();
        for layout in [layout, RowLayout::natural(5, 1).unwrap()] {
            let plan = plan(FormatSpec::Csr, layout);
            assert_eq!(refusal(&plan), None);
            let arrays = SparseArrays::new(&plan);
            assert_eq!(part::<i32>(&arrays, 0), [0, 2, 3, 3, 3, 4]);
            assert_eq!(part::<u32>(&arrays, 1), [0, 4, 1, 2]);
            assert_eq!(part::<f32>(&arrays, 2), [1.0, 2.0, 3.0, 4.0]);
            let at = [16, 32, 48, 64];
            let placed = arrays.placed(&at);
            assert!(
                matches!(placed, Sparse::Csr { rows: 5, cols: 5, nnz: 4, wide: false, .. }),
                "{placed:?}"
            );
            let none = arrays.without_entries(&at);
            assert!(
                matches!(none, Sparse::Csr { rows: 5, cols: 5, nnz: 0, row_ptr: 64, .. }),
                "{none:?}"
            );
        }
    }

    #[test]
    fn indices_are_as_wide_as_they_must_be() {
        assert!(!is_wide(i32::MAX as u64) && is_wide(i32::MAX as u64 + 1));
        let [row_ptr, col_idx] = indices(&[0, 1 << 33], &[u32::MAX - 1], true);
        assert_eq!(cast_slice::<u8, i64>(row_ptr.bytes()), [0, 1 << 33]);
        assert_eq!(cast_slice::<u8, i64>(col_idx.bytes()), [i64::from(u32::MAX) - 1]);
    }

    #[test]
    fn operands_of_blocks_have_whole_blocks() {
        let spec = FormatSpec::Bcsr { block_rows: 2, block_cols: 2 };
        let arrays = SparseArrays::new(&plan(spec, RowLayout::natural(5, 2).unwrap()));
        assert_eq!(arrays.rows, OperandRows { b: 6, c: 6 });
        assert_eq!(part::<i32>(&arrays, 0), [0, 2, 2, 3]);
        let placed = arrays.placed(&[16, 32, 48, 64]);
        assert!(
            matches!(placed, Sparse::Bsr { rows: 3, cols: 3, nnzb: 3, block: (2, 2), .. }),
            "{placed:?}"
        );
    }

    #[test]
    fn padding_names_zero_rows_beyond_b() {
        let spec = FormatSpec::BlockedEll { block_size: 2 };
        let arrays = SparseArrays::new(&plan(spec, RowLayout::natural(5, 2).unwrap()));
        // Block rows hold columns {0, 2}, none, and {1}; B has three block rows, and one of zeros.
        assert_eq!(part::<u32>(&arrays, 0), [0, 2, 3, 3, 1, 3]);
        assert_eq!(arrays.rows, OperandRows { b: 8, c: 6 });
        let values: Vec<f32> = part(&arrays, 1);
        assert_eq!((values.len(), values[8..16].iter().sum::<f32>()), (24, 0.0));
        let placed = arrays.placed(&[16, 32, 48]);
        assert!(
            matches!(placed, Sparse::Ell { rows: 6, cols: 8, block: 2, width: 4, .. }),
            "{placed:?}"
        );
    }

    #[test]
    fn what_can_not_be_multiplied_is_refused_with_the_reason() {
        let layout = RowLayout::explicit(5, 2, vec![4, 1, 0, 3, 2, PAD_ROW]).unwrap();
        for (spec, layout, part) in [
            (FormatSpec::BlockedEll { block_size: 2 }, layout.clone(), "order"),
            (FormatSpec::Bcsr { block_rows: 2, block_cols: 2 }, layout.clone(), "order"),
            (FormatSpec::Bcsr { block_rows: 2, block_cols: 3 }, layout.clone(), "square"),
            (FormatSpec::Wcsr { window_rows: 2, pad_cols: 8 }, layout, "wcsr"),
        ] {
            let reason = refusal(&plan(spec, layout)).unwrap().to_string();
            assert!(reason.contains(part), "{reason}");
        }
    }
}
