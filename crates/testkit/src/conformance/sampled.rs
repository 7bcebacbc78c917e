//! Sampled products: every pattern, inner products of any length, operands of any strides.

use girih_backend::{
    BackendError, DenseScalar, SampledProduct, SddmmBackend, Unsupported, verify_sddmm,
};
use girih_formats::{Complex, ComplexScalar, Csr, DType, FormatKind, Real};
use half::{bf16, f16};
use ndarray::{Array2, Axis};

use super::Report;
use super::problem::bits;
use crate::matrices::cases;
use crate::operands::{Layout, Placed, random};

/// Lengths of inner products: none, one, on either side of a vector, and many.
const LENGTHS: [usize; 8] = [0, 1, 3, 7, 16, 17, 33, 130];

const SCALES: [(f64, f64); 4] = [(1.0, 0.0), (-2.5, 0.5), (0.0, -1.0), (0.0, 0.0)];

/// Of the products of a pattern, [`run_sddmm_in_turns`] computes one of these.
const TURNS: usize = 5;

/// Puts a backend through sampled products of one value type: every case and layout, compared with the
/// rigorous bound of [`verify_sddmm`], NaN where no entry is, the same bits on any number of threads, and
/// operands that do not fit.
#[must_use]
pub fn run_sddmm(backend: &dyn SddmmBackend, dtype: DType) -> Report {
    run_every(1, backend, dtype)
}

/// Puts a backend through every check of [`run_sddmm`] and every pattern, with a fifth of the products.
///
/// Each pattern takes a fifth of the lengths, scales and layouts, and another fifth than the pattern before it. For
/// slow backends, an emulated device say.
#[must_use]
pub fn run_sddmm_in_turns(backend: &dyn SddmmBackend, dtype: DType) -> Report {
    run_every(TURNS, backend, dtype)
}

fn run_every(turns: usize, backend: &dyn SddmmBackend, dtype: DType) -> Report {
    let mut report = Report::default();
    match dtype {
        DType::F16 => run::<f16>(turns, backend, &mut report),
        DType::Bf16 => run::<bf16>(turns, backend, &mut report),
        DType::F32 => run::<f32>(turns, backend, &mut report),
        DType::F64 => run::<f64>(turns, backend, &mut report),
        DType::C32 => refused::<Complex<f32>>(backend, &mut report),
        DType::C64 => refused::<Complex<f64>>(backend, &mut report),
    }
    report
}

/// Complex values, of which products are not sampled.
fn refused<T: DenseScalar + ComplexScalar>(backend: &dyn SddmmBackend, report: &mut Report) {
    let Ok(pattern) = Csr::<f32>::identity(3) else { unreachable!("three rows are not too many") };
    let (x, mut s) = (random::<T>(3, 2, 1), random::<T>(3, 1, 2));
    let untouched = bits(&s);
    let (x, into) = (T::erase(x.view()), T::erase_acc_mut(s.view_mut()));
    let result = backend.sddmm(pattern.pattern(), 1.0, x.reborrow(), x.reborrow(), 0.0, into);
    report.checks += 1;
    let right = matches!(&result,
        Err(BackendError::Unsupported { reason: Unsupported::ValueType { dtype, .. }, .. }) if *dtype == T::DTYPE);
    if !right || bits(&s) != untouched {
        report.fail("samples of complex values", format!("{result:?}"));
    }
}

fn run<T: DenseScalar + Real>(turns: usize, backend: &dyn SddmmBackend, report: &mut Report) {
    let cases = match cases(FormatKind::Csr) {
        Ok(cases) => cases,
        Err(error) => return report.fail("building the cases", error),
    };
    for (i, case) in cases.iter().enumerate() {
        let pattern = &case.matrix;
        for (j, d) in LENGTHS.into_iter().enumerate() {
            let (x, y) = (random::<T>(pattern.nrows(), d, 1), random::<T>(pattern.ncols(), d, 2));
            for (k, scale) in SCALES.into_iter().enumerate() {
                if !(i + SCALES.len() * j + k).is_multiple_of(turns) {
                    continue;
                }
                let layouts =
                    [i + j + k, i + k].map(|at| Layout::WRITABLE[at % Layout::WRITABLE.len()]);
                let what = format!(
                    "{} sampled, {:?}, d = {d}, (α, β) = {scale:?}, X and Y {layouts:?}",
                    T::DTYPE,
                    case.name
                );
                check(backend, &what, pattern, [&x, &y], layouts, scale, report);
            }
        }
        non_finite::<T>(backend, case.name, pattern, report);
        if i.is_multiple_of(turns) {
            same_bits::<T>(backend, case.name, pattern, report);
        }
    }
    misfits::<T>(backend, report);
}

/// S before: NaN where it must not be read.
fn before<T: DenseScalar + Real>(nnz: usize, beta: f64) -> Array2<T::Acc> {
    super::problem::before::<T>(nnz, 1, beta)
}

fn check<T: DenseScalar + Real>(
    backend: &dyn SddmmBackend,
    what: &str,
    pattern: &Csr<f64>,
    [x, y]: [&Array2<T>; 2],
    layouts: [Layout; 2],
    (alpha, beta): (f64, f64),
    report: &mut Report,
) {
    report.checks += 1;
    let (x, y) = (Placed::new(x, layouts[0]), Placed::new(y, layouts[1]));
    let before = before::<T>(pattern.nnz(), beta);
    let mut s = Placed::new(&before, layouts[0]);
    let (x, y) = (T::erase(x.view()), T::erase(y.view()));
    let into = T::erase_acc_mut(s.view_mut());
    let done = backend.sddmm(pattern.pattern(), alpha, x.reborrow(), y.reborrow(), beta, into);
    if let Err(error) = done {
        return report.fail(what, error);
    }
    let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
    let product = SampledProduct { alpha, x, y, added };
    let rounding = backend.sddmm_rounding(T::DTYPE);
    match verify_sddmm::<T>(pattern.pattern(), &product, &T::erase_acc(s.view()), rounding) {
        Ok(verdict) if verdict.passed() && s.is_intact() => {
            report.max_error_over_bound =
                report.max_error_over_bound.max(verdict.max_error_over_bound);
        }
        Ok(verdict) => report.fail(what, format!("intact: {}, {verdict:?}", s.is_intact())),
        Err(error) => report.fail(what, error),
    }
}

/// NaN in rows of Y reaches the entries of their columns and no others.
fn non_finite<T: DenseScalar + Real>(
    backend: &dyn SddmmBackend,
    name: &str,
    pattern: &Csr<f64>,
    report: &mut Report,
) {
    let (x, mut y) = (random::<T>(pattern.nrows(), 17, 1), random::<T>(pattern.ncols(), 17, 2));
    for mut row in y.axis_iter_mut(Axis(0)).step_by(3) {
        row[16] = T::from_f64(f64::NAN);
    }
    let what = format!("{} sampled, {name:?}, NaN in rows of Y", T::DTYPE);
    check(backend, &what, pattern, [&x, &y], [Layout::RowMajor; 2], (1.0, 0.0), report);
}

fn same_bits<T: DenseScalar + Real>(
    backend: &dyn SddmmBackend,
    name: &str,
    pattern: &Csr<f64>,
    report: &mut Report,
) {
    let (x, y) = (random::<T>(pattern.nrows(), 33, 1), random::<T>(pattern.ncols(), 33, 2));
    let compute = || {
        let mut s = before::<T>(pattern.nnz(), 0.5);
        let into = T::erase_acc_mut(s.view_mut());
        let (x, y) = (T::erase(x.view()), T::erase(y.view()));
        backend.sddmm(pattern.pattern(), -2.5, x, y, 0.5, into).map(|()| bits(&s))
    };
    let what = format!("{} sampled, {name:?}, again and on other threads", T::DTYPE);
    let Ok(first) = compute() else { return report.fail(&what, "not computed") };
    for threads in [1, 2, 3] {
        report.checks += 1;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let again = pool.map(|pool| pool.install(compute));
        if !matches!(again, Ok(Ok(again)) if again == first) {
            report.fail(&what, format!("other bits on {threads} threads, or none"));
        }
    }
}

/// Operands that do not fit: the right error, and S untouched.
fn misfits<T: DenseScalar + Real>(backend: &dyn SddmmBackend, report: &mut Report) {
    let Ok(pattern) = Csr::from_triplets(3, 4, [(0, 1, 1.0f64), (2, 3, 1.0)]) else {
        return report.fail("a small pattern", "not made");
    };
    let operand = |rows, cols| random::<T>(rows, cols, 1);
    for (what, x, y, nnz, operand) in [
        ("X has a row too many", operand(4, 5), operand(4, 5), 2, "X"),
        ("Y has a row too few", operand(3, 5), operand(3, 5), 2, "Y"),
        ("Y has a column too many", operand(3, 5), operand(4, 6), 2, "Y"),
        ("S has an entry too few", operand(3, 5), operand(4, 5), 1, "S"),
    ] {
        report.checks += 1;
        let mut s = random::<T::Acc>(nnz, 1, 3);
        let untouched = bits(&s);
        let (x, y) = (T::erase(x.view()), T::erase(y.view()));
        let result =
            backend.sddmm(pattern.pattern(), 1.0, x, y, 0.5, T::erase_acc_mut(s.view_mut()));
        let right = matches!(&result, Err(BackendError::Shape { operand: o, .. }) if *o == operand);
        if !right || bits(&s) != untouched {
            report.fail(&format!("{} sampled, {what}", T::DTYPE), format!("{result:?}"));
        }
    }
}
