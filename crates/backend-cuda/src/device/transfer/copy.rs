//! Copies between matrices of any strides and staging buffers, by all threads of the pool.

use girih_formats::Scalar;
use girih_parallel::prelude::*;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, s};

use super::blocks::Block;

/// Bytes that a thread copies at least: what other threads do sooner than they are woken is not theirs.
const PIECE: usize = 256 << 10;
/// Rows that are gathered together from contiguous columns.
const TILE_ROWS: usize = 32;

/// Rows of a piece.
fn rows_per_piece<T>(stride: usize) -> usize {
    (PIECE / size_of::<T>() / stride.max(1)).max(1)
}

/// Fills a buffer with a block of a matrix.
pub(super) fn gather<T: Scalar>(from: &ArrayView2<'_, T>, block: &Block, to: &mut [T]) {
    let from = from.slice(s![block.rows.clone(), block.cols.clone()]);
    let (stride, each) = (block.stride, rows_per_piece::<T>(block.stride));
    if from.nrows() <= each {
        return gather_rows(&from, stride, to);
    }
    to.par_chunks_mut(stride * each).enumerate().for_each(|(i, to)| {
        let rows = i * each..from.nrows().min((i + 1) * each);
        gather_rows(&from.slice(s![rows, ..]), stride, to);
    });
}

fn gather_rows<T: Scalar>(from: &ArrayView2<'_, T>, stride: usize, to: &mut [T]) {
    if from.ncols() == stride
        && let Some(all) = from.as_slice()
    {
        return to.copy_from_slice(all);
    }
    if from.ncols() > 1 && from.strides()[0] == 1 {
        let tiles = from.axis_chunks_iter(Axis(0), TILE_ROWS);
        for (tile, to) in tiles.zip(to.chunks_mut(TILE_ROWS * stride)) {
            for (j, col) in tile.columns().into_iter().enumerate() {
                col.iter().enumerate().for_each(|(i, &x)| to[i * stride + j] = x);
            }
        }
        return;
    }
    for (row, to) in from.rows().into_iter().zip(to.chunks_mut(stride)) {
        let to = &mut to[..row.len()];
        match row.as_slice() {
            Some(row) => to.copy_from_slice(row),
            None => to.iter_mut().zip(row).for_each(|(to, &x)| *to = x),
        }
    }
}

/// Writes a buffer to a block of a matrix.
pub(super) fn scatter<T: Scalar>(from: &[T], block: &Block, to: &mut ArrayViewMut2<'_, T>) {
    let mut to = to.slice_mut(s![block.rows.clone(), block.cols.clone()]);
    let (stride, each) = (block.stride, rows_per_piece::<T>(block.stride));
    if to.nrows() <= each {
        return scatter_rows(from, stride, to);
    }
    let pieces: Vec<_> = to.axis_chunks_iter_mut(Axis(0), each).collect();
    let pieces = pieces.into_par_iter().zip(from.par_chunks(stride * each));
    pieces.for_each(|(to, from)| scatter_rows(from, stride, to));
}

fn scatter_rows<T: Scalar>(from: &[T], stride: usize, mut to: ArrayViewMut2<'_, T>) {
    if to.ncols() == stride
        && let Some(all) = to.as_slice_mut()
    {
        return all.copy_from_slice(from);
    }
    if to.ncols() > 1 && to.strides()[0] == 1 {
        let tiles = to.axis_chunks_iter_mut(Axis(0), TILE_ROWS);
        for (mut tile, from) in tiles.zip(from.chunks(TILE_ROWS * stride)) {
            for (j, mut col) in tile.columns_mut().into_iter().enumerate() {
                col.iter_mut().enumerate().for_each(|(i, x)| *x = from[i * stride + j]);
            }
        }
        return;
    }
    for (mut row, from) in to.rows_mut().into_iter().zip(from.chunks(stride)) {
        match row.as_slice_mut() {
            Some(row) => row.copy_from_slice(&from[..row.len()]),
            None => row.iter_mut().zip(from).for_each(|(x, &from)| *x = from),
        }
    }
}

/// Fills a buffer of whole units of `unit` bytes, in parallel: `fill` is called with ranges of units,
/// counted from `first`.
pub(super) fn fill_units(
    first: u64,
    unit: usize,
    to: &mut [u8],
    fill: &(impl Fn(std::ops::Range<u64>, &mut [u8]) + Sync),
) {
    let each = (PIECE / unit).max(1);
    let of = |i: usize, to: &mut [u8]| {
        let first = first + (i * each) as u64;
        fill(first..first + (to.len() / unit) as u64, to);
    };
    if to.len() <= each * unit {
        return of(0, to);
    }
    to.par_chunks_mut(each * unit).enumerate().for_each(|(i, to)| of(i, to));
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ShapeBuilder};

    use super::super::blocks::blocks;
    use super::*;

    /// Sends a matrix through buffers into another: what comes out must be what went in.
    fn through_buffers(from: &ArrayView2<'_, f32>, to: &mut ArrayViewMut2<'_, f32>, most: usize) {
        let stride = from.ncols().next_multiple_of(4);
        let mut device = vec![f32::NAN; from.nrows() * stride];
        let mut buffer = vec![f32::NAN; most];
        for block in blocks(from.dim(), stride, most) {
            gather(from, &block, &mut buffer[..block.len]);
            let first = block.first as usize;
            device[first..first + block.len].copy_from_slice(&buffer[..block.len]);
        }
        for (i, row) in from.rows().into_iter().enumerate() {
            assert!(row.iter().eq(&device[i * stride..i * stride + row.len()]), "row {i}");
        }
        for block in blocks(to.dim(), stride, most) {
            let first = block.first as usize;
            buffer[..block.len].copy_from_slice(&device[first..first + block.len]);
            scatter(&buffer[..block.len], &block, to);
        }
    }

    #[test]
    fn matrices_of_any_strides_pass_through_buffers_on_any_number_of_threads() {
        // Rows enough for several pieces of 256 KiB.
        for (rows, cols) in [(1, 1), (900, 300), (3000, 128), (2, 200_000), (5000, 1)] {
            let value = |(i, j)| (i * 31 + j * 7) as f32;
            let row_major = Array2::from_shape_fn((rows, cols), value);
            let col_major = Array2::from_shape_fn((rows, cols).f(), value);
            let wide = Array2::from_shape_fn((rows, cols + 3), value);
            let spread = Array2::from_shape_fn((rows, 2 * cols), |(i, j)| value((i, j / 2)));
            let views = [
                row_major.view(),
                col_major.view(),
                wide.slice(s![.., ..cols]),
                spread.slice(s![.., ..;2]),
            ];
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    for (i, view) in views.iter().enumerate() {
                        for most in [1 << 20, 100_000] {
                            let mut plain = Array2::<f32>::zeros((rows, cols));
                            through_buffers(view, &mut plain.view_mut(), most);
                            let mut by_cols = Array2::<f32>::zeros((rows, cols).f());
                            through_buffers(view, &mut by_cols.view_mut(), most);
                            let mut apart = Array2::<f32>::from_elem((rows, cols + 2), -1.0);
                            through_buffers(view, &mut apart.slice_mut(s![.., 1..=cols]), most);
                            assert!(plain == row_major && by_cols == row_major, "view {i}");
                            assert_eq!(apart.slice(s![.., 1..=cols]), row_major, "view {i}");
                            let beside = apart.slice(s![.., cols + 1]);
                            assert!(beside.iter().all(|&x| x == -1.0), "written beside C");
                        }
                    }
                });
            }
        }
    }

    #[test]
    fn units_are_filled_once_each() {
        for (first, n, unit) in [(0, 10, 4), (7, 200_000, 8), (3, 100_001, 24), (0, 700_001, 1)] {
            let mut bytes = vec![0u8; n * unit];
            fill_units(first, unit, &mut bytes, &|range: std::ops::Range<u64>, to: &mut [u8]| {
                assert_eq!((range.end - range.start) as usize * unit, to.len());
                for (number, to) in range.zip(to.chunks_exact_mut(unit)) {
                    to.iter_mut().for_each(|to| *to = to.wrapping_add(number as u8 | 1));
                }
            });
            for (i, found) in bytes.chunks_exact(unit).enumerate() {
                assert!(found.iter().all(|&byte| byte == (first + i as u64) as u8 | 1), "unit {i}");
            }
        }
    }
}
