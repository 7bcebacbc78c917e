//! Discretised operators: stencils, finite elements, bands.

use super::rows::{check_dims, from_rows, value_at};
use girih_formats::{Complex, Csr, FormatError, Scalar};

/// The 5-point Laplacian of an nx×ny grid with Dirichlet boundary: 4 on the diagonal, −1 beside.
///
/// Row `y · nx + x` is point (x, y). Symmetric positive definite, bandwidth nx. Stands for ordered
/// finite differences: nearly every access to B is a cache hit. O(nnz).
///
/// # Errors
/// If nx · ny is above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// let a = girih_generate::laplacian_5pt::<f64>(3, 2)?;
/// assert_eq!(a.row(0), (&[0, 1, 3][..], &[4.0, -1.0, -1.0][..]));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn laplacian_5pt<T: Scalar>(nx: usize, ny: usize) -> Result<Csr<T>, FormatError> {
    let cross = |o: [isize; 3]| o.iter().map(|d| d.abs()).sum::<isize>() <= 1;
    let grid = Grid::try_new([nx, ny, 1], 1, cross)?;
    grid.assemble(|i, j| T::from_c64(if i == j { 4.0 } else { -1.0 }.into()))
}

/// The 7-point Laplacian of an nx×ny×nz grid with Dirichlet boundary: 6 on the diagonal, −1 beside.
///
/// Row `(z · ny + y) · nx + x` is point (x, y, z). Symmetric positive definite, bandwidth nx · ny. Its eigenvalues are
/// the sums of one `2 − 2·cos(πk / (points + 1))`, `k` from 1, for each axis. O(nnz).
///
/// # Errors
/// If nx · ny · nz is above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// let a = girih_generate::laplacian_7pt::<f64>(3, 2, 2)?;
/// assert_eq!(a.row(0), (&[0, 1, 3, 6][..], &[6.0, -1.0, -1.0, -1.0][..]));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn laplacian_7pt<T: Scalar>(nx: usize, ny: usize, nz: usize) -> Result<Csr<T>, FormatError> {
    let cross = |o: [isize; 3]| o.iter().map(|d| d.abs()).sum::<isize>() <= 1;
    let grid = Grid::try_new([nx, ny, nz], 1, cross)?;
    grid.assemble(|i, j| T::from_c64(if i == j { 6.0 } else { -1.0 }.into()))
}

/// A two-dimensional finite-element matrix: 9-point stencil, dense `dof × dof` node blocks.
///
/// Values are symmetric (complex ones hermitian), off-diagonal ones random, and the diagonal dominates its row, so the
/// matrix is symmetric positive definite. Stands for plates, shells and planar flow; inner rows
/// hold `9 · dof` entries. O(nnz · dof).
///
/// # Errors
/// If the number of unknowns, nx · ny · dof, is above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// let a = girih_generate::fem_2d::<f32>(10, 10, 2, 1)?;
/// assert_eq!(a.nrows(), 200);
/// assert_eq!(a.row(2 * 11).0.len(), 18);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn fem_2d<T: Scalar>(
    nx: usize,
    ny: usize,
    dof: usize,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    Grid::try_new([nx, ny, 1], dof, |_| true)?.assemble_spd(seed)
}

/// A three-dimensional finite-element matrix: 19-point stencil (a node, its faces and its edges),
/// dense `dof × dof` node blocks.
///
/// Values as in [`fem_2d`]. Stands for structural mechanics and flow in volumes; with `dof` = 3 an
/// inner row holds 57 entries, about 54 on average over a grid of thousands of nodes. O(nnz · dof).
///
/// # Errors
/// If the number of unknowns, nx · ny · nz · dof, is above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// let a = girih_generate::fem_3d::<f32>(8, 8, 8, 3, 1)?;
/// assert_eq!(a.nrows(), 1536);
/// let inner_node = (8 + 1) * 8 + 1;
/// assert_eq!(a.row(3 * inner_node).0.len(), 57);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn fem_3d<T: Scalar>(
    nx: usize,
    ny: usize,
    nz: usize,
    dof: usize,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    let faces_and_edges = |o: [isize; 3]| o.iter().map(|d| d.abs()).sum::<isize>() <= 2;
    Grid::try_new([nx, ny, nz], dof, faces_and_edges)?.assemble_spd(seed)
}

/// A full band: row `i` holds columns `i − lower ..= i + upper` that exist.
///
/// Stands for one-dimensional discretisations, splines and autoregressive models. O(nnz).
///
/// # Errors
/// If a dimension is above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// let a = girih_generate::banded::<f32>(4, 4, 1, 0, 1)?;
/// assert_eq!(a.col_idx()[..], [0, 0, 1, 1, 2, 2, 3]);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn banded<T: Scalar>(
    nrows: usize,
    ncols: usize,
    lower: usize,
    upper: usize,
    seed: u64,
) -> Result<Csr<T>, FormatError> {
    check_dims(nrows, ncols)?;
    let band = |i: usize| {
        let end = i.saturating_add(upper).saturating_add(1).min(ncols);
        i.saturating_sub(lower).min(end)..end
    };
    from_rows(
        nrows,
        ncols,
        |i| band(i).len(),
        |i, cols| cols.iter_mut().zip(band(i)).for_each(|(col, j)| *col = j as u32),
        |i, j| value_at(seed, i, j),
    )
}

/// A box of nodes, x fastest, each coupled to the neighbours at `offsets` and holding `dof`
/// consecutive unknowns.
struct Grid {
    size: [usize; 3],
    dof: usize,
    /// Increasing in node number.
    offsets: Vec<[isize; 3]>,
}

impl Grid {
    fn try_new(
        size: [usize; 3],
        dof: usize,
        coupled: impl Fn([isize; 3]) -> bool,
    ) -> Result<Self, FormatError> {
        let unknowns = size.iter().fold(dof, |n, &s| n.saturating_mul(s));
        check_dims(unknowns, unknowns)?;
        let mut offsets = Vec::new();
        for dz in -1..=1 {
            for dy in -1..=1 {
                offsets.extend((-1..=1).map(|dx| [dx, dy, dz]).filter(|&o| coupled(o)));
            }
        }
        Ok(Self { size, dof, offsets })
    }

    fn unknowns(&self) -> usize {
        self.size.iter().product::<usize>() * self.dof
    }

    /// Neighbours of the node that holds unknown `i`, increasing.
    fn neighbours(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        let [nx, ny, _] = self.size;
        let node = i / self.dof;
        let at = [node % nx, node / nx % ny, node / nx / ny];
        self.offsets.iter().filter_map(move |offset| {
            let mut to = [0; 3];
            for axis in 0..3 {
                to[axis] = at[axis].checked_add_signed(offset[axis])?;
                if to[axis] >= self.size[axis] {
                    return None;
                }
            }
            Some((to[2] * ny + to[1]) * nx + to[0])
        })
    }

    fn assemble<T: Scalar>(
        &self,
        value: impl Fn(usize, usize) -> T + Sync,
    ) -> Result<Csr<T>, FormatError> {
        from_rows(
            self.unknowns(),
            self.unknowns(),
            |i| self.neighbours(i).count() * self.dof,
            |i, cols| {
                for (block, node) in cols.chunks_mut(self.dof).zip(self.neighbours(i)) {
                    for (d, col) in block.iter_mut().enumerate() {
                        *col = (node * self.dof + d) as u32;
                    }
                }
            },
            value,
        )
    }

    fn assemble_spd<T: Scalar>(&self, seed: u64) -> Result<Csr<T>, FormatError> {
        // The widest type has the digits that narrower ones are rounded from.
        let coupling = |i: usize, j: usize| match T::DTYPE.is_complex() {
            true => {
                let above = value_at::<Complex<f64>>(seed, i.min(j), i.max(j));
                if i < j { above } else { above.conj() }
            }
            false => value_at::<f64>(seed, i.min(j), i.max(j)).into(),
        };
        self.assemble(|i, j| {
            if i != j {
                return T::from_c64(coupling(i, j));
            }
            let row =
                self.neighbours(i).flat_map(|node| (0..self.dof).map(move |d| node * self.dof + d));
            let sum: f64 = row.filter(|&j| j != i).map(|j| coupling(i, j).norm()).sum();
            T::from_c64((1.0 + sum).into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fem_matrices_are_symmetric_and_diagonally_dominant() {
        let a = fem_3d::<f64>(4, 3, 2, 2, 7).unwrap();
        let at = |i: usize, j: usize| {
            let (cols, values) = a.row(i);
            cols.binary_search(&(j as u32)).map_or(0.0, |p| values[p])
        };
        for i in 0..a.nrows() {
            let (cols, _) = a.row(i);
            let off: f64 =
                cols.iter().filter(|&&j| j as usize != i).map(|&j| at(i, j as usize).abs()).sum();
            assert!(at(i, i) > off);
            assert!(cols.iter().all(|&j| at(i, j as usize) == at(j as usize, i)));
        }
    }

    #[test]
    fn a_3d_stencil_couples_faces_and_edges_but_not_corners() {
        let a = fem_3d::<f32>(3, 3, 3, 1, 7).unwrap();
        let (centre, _) = a.row(13);
        assert_eq!(centre.len(), 19);
        assert!(!centre.contains(&0) && centre.contains(&1) && centre.contains(&4));
    }

    #[test]
    fn a_band_may_leave_the_matrix() {
        let a = banded::<f32>(6, 3, 1, usize::MAX, 1).unwrap();
        assert_eq!(a.row_ptr()[..], [0, 3, 6, 8, 9, 9, 9]);
    }

    #[test]
    fn empty_grids_are_empty_matrices() {
        assert_eq!(laplacian_5pt::<f32>(0, 5).unwrap().nrows(), 0);
        assert_eq!(fem_2d::<f32>(3, 3, 0, 1).unwrap().nrows(), 0);
        assert!(laplacian_5pt::<f32>(1 << 20, 1 << 20).is_err());
    }
}
