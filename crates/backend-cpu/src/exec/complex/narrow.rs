//! Narrow products of complex values in CSR, of one real product each.
//!
//! A row of B is a row of reals, the real and imaginary parts of its elements side by side, and so is that row times i.
//! An entry `x + i·y` of A adds `x` times the one and `y` times the other to a row of C. So with these rows by turns as
//! the rows of a real B, and x and y as neighbouring entries of a real A, C as reals is a real product. B is copied for
//! it, twice. In return A's entries are read once, and by every kernel and layout that real values have.

use bytemuck::{cast_slice, cast_slice_mut};
use girih_backend::{BackendError, DenseScalar, Lowering, PreparedSpmm};
use girih_formats::{
    Complex, ComplexScalar, Csr, FormatError, MAX_DIM, RealAccumulator, RowCsr, Scalar, Tiling,
};
use girih_planner::Plan;
use ndarray::{Array2, ArrayView2, ArrayViewMut2};

use crate::Isa;
use crate::exec::prepared::Prepared;
use crate::exec::scratch::ScratchPool;
use crate::exec::team::Team;
use crate::kernels::CpuScalar;
use crate::lowering::Case;
use crate::lowering::complex::is_narrow;
use crate::machine::Machine;

/// A, prepared as a real matrix of twice as many columns, and memory for copies of B.
#[derive(Debug)]
pub(super) struct Narrow<R: CpuScalar> {
    prepared: Prepared<R>,
    team: Team,
    b_copies: ScratchPool<R>,
}

impl<R> Narrow<R>
where
    R: CpuScalar<Acc = R> + RealAccumulator + DenseScalar,
    Complex<R>: ComplexScalar<Part = R> + DenseScalar,
{
    /// Prepares for products with the plan's n; `None` if that is wide, the plan not in CSR, or its columns permuted, or
    /// twice as many are too many. O(nnz) in parallel, and the memory of A once more, and of the layout that real
    /// values take.
    pub(super) fn new(
        isa: Isa,
        team: &Team,
        tiling: &Tiling<Complex<R>>,
        plan: &Plan,
    ) -> Option<Self> {
        let (Tiling::Csr(a), n) = (tiling, plan.options().n) else { return None };
        let has_own_order = plan.b_permutation().is_none() && plan.row_permutation().is_identity();
        if !is_narrow::<R>(n) || !has_own_order || 2 * a.csr().ncols() > MAX_DIM {
            return None;
        }
        let rows = RowCsr::try_new(a.layout().clone(), by_parts(a.csr()).ok()?).ok()?;
        let plan = Plan::from_tiling(Tiling::Csr(rows));
        let real = plan.tiling().as_typed::<R>()?;
        let case = Case::new(real, 2 * n, team.threads(), isa, Machine::detect());
        let prepared = Prepared::build(case, team.clone(), real, plan.schedule()).ok()?;
        Some(Self {
            prepared: prepared.refreshable(&plan),
            team: team.clone(),
            b_copies: ScratchPool::growing(),
        })
    }

    /// `C = α·A·B + β·C` of operands that were checked; α is not 0.
    pub(super) fn multiply(
        &self,
        alpha: Complex<R>,
        b: &ArrayView2<'_, Complex<R>>,
        beta: Complex<R>,
        mut c: ArrayViewMut2<'_, Complex<R>>,
    ) -> Result<(), BackendError> {
        let (k, n) = b.dim();
        // Factors without an imaginary part scale parts, so that no 0·NaN comes of it.
        let (in_b, alpha) = match alpha.im().is_zero() {
            true => (None, alpha.re()),
            false => (Some(alpha), R::ONE),
        };
        let beta = match beta.im().is_zero() {
            true => beta.re(),
            false => {
                c.mapv_inplace(|x| beta * x);
                R::ONE
            }
        };
        let of = |factor: R| factor.to_c64().re;
        let product = |copy: &mut [R]| {
            self.team.for_each_chunk(copy, 4 * n, |j, rows| {
                let (plain, turned) = rows.split_at_mut(2 * n);
                let (plain, turned) = (plain.chunks_exact_mut(2), turned.chunks_exact_mut(2));
                for ((&x, plain), turned) in b.row(j).iter().zip(plain).zip(turned) {
                    let x = in_b.map_or(x, |alpha| alpha * x);
                    plain.copy_from_slice(&[x.re(), x.im()]);
                    turned.copy_from_slice(&[R::ZERO - x.im(), x.re()]);
                }
            });
            let b = ArrayView2::from_shape((2 * k, 2 * n), &*copy);
            let b = b.unwrap_or_else(|_| unreachable!("as long as it says"));
            let mut run = |c: &mut [Complex<R>]| {
                let c = ArrayViewMut2::from_shape((c.len() / n, 2 * n), cast_slice_mut(c));
                let c = c.unwrap_or_else(|_| unreachable!("as long as it says"));
                self.prepared.execute(of(alpha), R::erase(b), of(beta), R::erase_acc_mut(c))
            };
            if let Some(rows) = c.as_slice_mut() {
                return run(rows);
            }
            // Rows of C that are apart: the same product elsewhere, so that its bits are the same.
            let mut apart = match beta.is_zero() {
                true => Array2::from_elem(c.dim(), <Complex<R> as Scalar>::ZERO),
                false => c.as_standard_layout().into_owned(),
            };
            apart.as_slice_mut().map_or(Ok(()), &mut run)?;
            c.assign(&apart);
            Ok(())
        };
        self.b_copies.with(4 * k * n, product).map_err(super::no_memory)?
    }

    /// New values, in the order of the entries.
    pub(super) fn refresh(&mut self, values: &[Complex<R>]) -> Result<(), BackendError> {
        let values = ArrayView2::from_shape((2 * values.len(), 1), cast_slice(values));
        let values = values.unwrap_or_else(|_| unreachable!("as long as it says"));
        self.prepared.refresh(R::erase(values))
    }

    /// What products with `n` columns execute.
    pub(super) fn lowering(&self, n: usize) -> Lowering {
        let mut real = self.prepared.lowering(2 * n);
        real.n = n;
        let copy = "each row and that row times i, by turns";
        let why = "an entry of A is two real ones, and a narrow B cheap to copy";
        real.with("rows of B", copy, why)
    }
}

/// The real matrix with the real and the imaginary part of each entry next to each other, in two columns.
fn by_parts<R>(a: &Csr<Complex<R>>) -> Result<Csr<R>, FormatError>
where
    R: CpuScalar<Acc = R> + RealAccumulator,
    Complex<R>: ComplexScalar<Part = R>,
{
    let row_len = |i: usize| 2 * a.row_range(i).len();
    Csr::from_rows(a.nrows(), 2 * a.ncols(), row_len, |i, cols, parts| {
        let (from_cols, values) = a.row(i);
        parts.copy_from_slice(cast_slice(values));
        for (to, &j) in cols.chunks_exact_mut(2).zip(from_cols) {
            to.copy_from_slice(&[2 * j, 2 * j + 1]);
        }
    })
}
