//! Plans in CSR, for `csr_spmm`.

use bytemuck::bytes_of;
use girih_backend::ProductShape;
use girih_formats::{DType, RowCsr, Scalar};
use girih_planner::Task;

use super::launch::{Addresses, Each, Image, Launch, Operands, Routine};
use super::panel::panel;
use super::tensor_map::MapEncoder;
use super::work::Work;
use crate::CudaError;
use crate::kernels::csr_spmm::{
    COMBINE, ELEMENT_THREADS, Layout, Params, SCALE, THREADS, element_grid, kernel,
};

/// Entries of a piece: a warp takes some tens of nanoseconds for each, so that the longest is a few
/// microseconds long, and its sums are a small part of what it reads of B.
const MIN_PIECE: u64 = 64;
const MAX_PIECE: u64 = 256;
/// Pieces that fill any device.
const MANY: u64 = 1 << 14;

/// The parts of the image.
const ITEMS: usize = 0;
const SPLITS: usize = 1;
const COL_IDX: usize = 2;
const VALUES: usize = 3;

#[derive(Debug)]
struct CsrRoutine {
    dtype: DType,
    m: u64,
    k: u64,
    entries: u64,
    n_items: u64,
    n_pieces: u64,
    n_splits: u64,
    /// Columns that there is room for at a time, if there are pieces.
    panel: u64,
}

/// A matrix with its work; `n` columns are expected.
pub(super) fn image<T: Scalar>(a: &RowCsr<T>, tasks: &[Task], n: usize) -> Image {
    let csr = a.csr();
    let piece = piece(csr.nnz() as u64, n, T::DTYPE);
    let work = Work::new(csr.row_ptr(), a.layout(), tasks, piece);
    let m = a.layout().nrows();
    let (n_pieces, n_splits) = (work.n_pieces, work.splits.len() as u64);
    let per_column = n_pieces * size_of::<T::Acc>() as u64;
    let panel = panel(per_column, n as u64, a.bytes());
    Image {
        shape: ProductShape { m, k: csr.ncols(), dtype: T::DTYPE },
        kernels: vec![kernel(T::DTYPE)],
        routine: Box::new(CsrRoutine {
            dtype: T::DTYPE,
            m: m as u64,
            k: csr.ncols() as u64,
            entries: csr.nnz() as u64,
            n_items: work.items.len() as u64,
            n_pieces,
            n_splits,
            panel,
        }),
        parts: vec![
            Box::new(work.items),
            Box::new(work.splits),
            Box::new(csr.col_idx().clone()),
            Box::new(csr.values().clone()),
        ],
        maps: Vec::new(),
        room: panel * per_column,
    }
}

/// Entries of a piece of a long row, for products of `n` columns. Many pieces share narrow products out;
/// where a row of B is wider than a warp, there are many tiles of columns to share out anyway.
fn piece(entries: u64, n: usize, dtype: DType) -> u64 {
    if n >= 512 / dtype.size() {
        return MAX_PIECE;
    }
    entries.div_ceil(MANY).next_power_of_two().clamp(MIN_PIECE, MAX_PIECE)
}

impl Routine for CsrRoutine {
    fn uses_room(&self, operands: &Operands) -> bool {
        self.n_pieces > 0 && !self.is_scaling(operands)
    }

    fn launches(
        &self,
        at: &Addresses,
        operands: &Operands,
        _: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        let &Operands { alpha, beta, b, c } = operands;
        let n = b.cols as u64;
        let (size, acc) = (self.dtype.size() as u64, self.dtype.accumulator().size() as u64);
        let mut params = Params {
            items: at.parts[ITEMS],
            splits: at.parts[SPLITS],
            col_idx: at.parts[COL_IDX],
            values: at.parts[VALUES],
            partials: at.room,
            partial_stride: self.panel,
            n_items: self.n_items,
            n_pieces: self.n_pieces,
            n_splits: self.n_splits,
            m: self.m,
            b_row_stride: b.row_stride,
            b_col_stride: b.col_stride,
            c_row_stride: c.row_stride,
            c_col_stride: c.col_stride,
            alpha,
            beta,
            c_in_vectors: u32::from(c.writes_in_vectors(16 / acc)),
            ..Params::default()
        };
        let mut launch = |entry: &str, (x, y): (u32, u32), block, params: &Params| {
            let (grid, params) = ([x, y, 1], bytes_of(params));
            each(&Launch { kernel: 0, entry, grid, block, cluster: 1, dynamic_shared: 0, params })
        };
        if self.is_scaling(operands) {
            (params.c, params.n) = (c.address, n);
            let grid = element_grid(self.m.saturating_mul(n));
            return launch(SCALE, (grid, 1), ELEMENT_THREADS, &params);
        }
        let layout = Layout::new(self.dtype, n, self.k, self.entries, self.n_items);
        let whole = params.c_in_vectors != 0 && n.is_multiple_of(16 / acc);
        let layout = layout.stored(b.reads_in_vectors(16 / size), whole);
        let entry = layout.entry();
        params.team = layout.team;
        let panel = if self.n_pieces > 0 { self.panel } else { n };
        let mut first = 0;
        while first < n {
            let width = panel.min(n - first);
            params.n = width;
            params.b = b.address + first * b.col_stride * size;
            params.c = c.address + first * c.col_stride * acc;
            let Some(grid) = layout.grid(self.n_items, width) else {
                unreachable!("rows are numbered in 32 bits, and a block takes four items at least")
            };
            launch(entry, grid, THREADS, &params)?;
            if self.n_splits > 0 {
                let grid = element_grid(self.n_splits.saturating_mul(width));
                launch(COMBINE, (grid, 1), ELEMENT_THREADS, &params)?;
            }
            first += width;
        }
        Ok(())
    }
}

impl CsrRoutine {
    /// Whether α is zero as the kernels see it, in the accumulation type: nothing is multiplied then.
    fn is_scaling(&self, operands: &Operands) -> bool {
        match self.dtype {
            DType::F64 => operands.alpha == 0.0,
            _ => operands.alpha as f32 == 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_where_products_are_narrow() {
        assert_eq!(piece(1 << 20, 128, DType::F32), 256);
        assert_eq!(piece(1 << 20, 64, DType::F64), 256);
        assert_eq!(piece(1 << 20, 127, DType::F32), 64);
        assert_eq!(piece(5 << 19, 32, DType::F32), 256);
        assert_eq!(piece(2 << 20, 8, DType::Bf16), 128);
        assert_eq!(piece(0, 1, DType::F32), 64);
        assert_eq!(piece(1 << 40, 1, DType::F32), 256);
    }
}
