//! A matrix as each of the libraries wants it, and their products.

use faer::sparse::linalg::matmul::sparse_dense_matmul;
use faer::sparse::{
    SparseColMatRef, SparseRowMatRef, SymbolicSparseColMatRef, SymbolicSparseRowMatRef,
};
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};
use ndarray::{ArrayView2, ArrayViewMut2};
use sprs::{CsMatI, CsMatViewI};

/// Values that both libraries multiply.
pub trait Value: ComplexField + ndarray::NdFloat + sprs::MulAcc + Default {}

impl Value for f32 {}
impl Value for f64 {}

/// Which library multiplies, and how.
#[derive(Clone, Copy, Debug)]
pub enum Method {
    /// sprs: CSR by dense, all row-major.
    Sprs,
    /// faer: CSR by dense, column-major: a dot product for each element of C.
    FaerCsr,
    /// faer: CSC by dense, column-major: scattered sums into each column of C.
    FaerCsc,
}

impl Method {
    /// By its number in the ABI.
    pub fn from_code(code: u32) -> Option<Self> {
        [Self::Sprs, Self::FaerCsr, Self::FaerCsc].get(code as usize).copied()
    }
}

/// A matrix in CSR and in CSC.
#[derive(Debug)]
pub struct Peer<T> {
    csr: CsMatI<T, u32, u32>,
    csc: CsMatI<T, u32, u32>,
}

impl<T: Value> Peer<T> {
    /// Copies CSR arrays; `None` if sprs finds them wrong.
    pub fn new(m: usize, k: usize, row_ptr: &[u32], col_idx: &[u32], values: &[T]) -> Option<Self> {
        let view = CsMatViewI::try_new((m, k), row_ptr, col_idx, values).ok()?;
        Some(Self { csr: view.to_owned(), csc: view.to_csc() })
    }

    /// Rows (m).
    pub fn nrows(&self) -> usize {
        self.csr.rows()
    }

    /// Columns (k).
    pub fn ncols(&self) -> usize {
        self.csr.cols()
    }

    /// `C = A·B`, in the layout that the method asks for.
    ///
    /// # Panics
    /// If B and C have other lengths than k·n and m·n.
    pub fn multiply(&self, method: Method, b: &[T], n: usize, c: &mut [T]) {
        let (m, k) = (self.nrows(), self.ncols());
        match method {
            Method::Sprs => self.sprs(b, n, c),
            Method::FaerCsr => {
                let a = &self.csr;
                // SAFETY: sprs has checked the offsets and indices of this very structure.
                let pattern = unsafe {
                    SymbolicSparseRowMatRef::new_unchecked(
                        m,
                        k,
                        a.indptr().into_raw_storage(),
                        None,
                        a.indices(),
                    )
                };
                faer(SparseRowMatRef::new(pattern, a.data()), (m, k), b, n, c);
            }
            Method::FaerCsc => {
                let a = &self.csc;
                // SAFETY: as above.
                let pattern = unsafe {
                    SymbolicSparseColMatRef::new_unchecked(
                        m,
                        k,
                        a.indptr().into_raw_storage(),
                        None,
                        a.indices(),
                    )
                };
                faer(SparseColMatRef::new(pattern, a.data()), (m, k), b, n, c);
            }
        }
    }

    /// sprs adds to C, so zeroing it is part of the product.
    fn sprs(&self, b: &[T], n: usize, c: &mut [T]) {
        c.fill(T::default());
        if n == 1 {
            return sprs::prod::mul_acc_mat_vec_csr(self.csr.view(), b, c);
        }
        let b = ArrayView2::from_shape((self.ncols(), n), b).expect("B has k·n elements");
        let c = ArrayViewMut2::from_shape((self.nrows(), n), c).expect("C has m·n elements");
        sprs::prod::csr_mulacc_dense_rowmaj(self.csr.view(), b, c);
    }
}

fn faer<T: Value>(
    a: impl faer::sparse::linalg::matmul::SparseDenseMatMul<T>,
    (m, k): (usize, usize),
    b: &[T],
    n: usize,
    c: &mut [T],
) {
    let b = MatRef::from_column_major_slice(b, k, n);
    let c = MatMut::from_column_major_slice_mut(c, m, n);
    sparse_dense_matmul(c, Accum::Replace, a, b, T::one(), Par::Seq);
}
