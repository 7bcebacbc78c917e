//! A case, multiplied and compared.

use girih::backend::{BackendError, ReferenceBackend, SpmmBackend};
use girih::cpu::Isa;
use girih::formats::{AnyTiling, FormatError, bf16, f16};
use girih::planner::{DeviceSpec, PlanError, Schedule};
use girih::prelude::*;
use girih::reorder::{Method, simple};
use girih::{CpuBackend, DenseScalar, verify};
use girih_generate::SplitMix64;
use girih_testkit::matrices;
use girih_testkit::operands::{Placed, random};
use ndarray::Array2;

use super::case::{Case, NonFinite, Order};
use super::scipy::{self, Operands};

/// What became of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Right,
    /// The planner or the backend refuses it, and says why.
    Refused(String),
    Wrong(String),
}

/// Plans, multiplies and compares.
pub(crate) fn run(case: &Case) -> Outcome {
    run_spoiled(case, false)
}

/// The same with an element of C changed before it is compared, if `spoiled`.
pub(crate) fn run_spoiled(case: &Case, spoiled: bool) -> Outcome {
    let found = match case.dtype() {
        DType::F16 => typed::<f16>(case, spoiled),
        DType::Bf16 => typed::<bf16>(case, spoiled),
        DType::F32 => typed::<f32>(case, spoiled),
        DType::F64 => typed::<f64>(case, spoiled),
        DType::C32 => typed::<Complex<f32>>(case, spoiled),
        DType::C64 => typed::<Complex<f64>>(case, spoiled),
    };
    match found {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Wrong(error),
    }
}

fn typed<T: DenseScalar>(case: &Case, spoiled: bool) -> Result<Outcome, String> {
    let failed = |what: &'static str| move |e: &dyn std::fmt::Display| format!("{what}: {e}");
    let finite = case.matrix().map_err(|e| failed("no matrix")(&e))?;
    let values = with_non_finite(&matrices::typed::<T>(&finite), case);
    let a = if case.spec() == (FormatSpec::BMat { pattern_only: true }) {
        ones(&values)
    } else {
        values
    };
    let made_from = if case.refreshes() { matrices::typed::<T>(&finite) } else { a.clone() };
    let mut plan = match plan(case, &made_from) {
        Ok(plan) => plan,
        Err(PlanError::Refused { reason, .. }) => return Ok(Outcome::Refused(reason)),
        // New values need some to replace, and other columns may not be 2:4 any more.
        Err(PlanError::Format(
            error @ (FormatError::NoValues | FormatError::NotTwoFour { .. }),
        )) => {
            return Ok(Outcome::Refused(error.to_string()));
        }
        Err(error) => return Err(failed("no plan")(&error)),
    };
    if case.refreshes() && plan.slot_map().is_some() {
        plan.refresh_values(&a).map_err(|e| failed("no new values")(&e))?;
    } else if case.refreshes() {
        return Ok(Outcome::Refused("the plan keeps no slot map".to_owned()));
    }
    if case.through_file() {
        let mut bytes = Vec::new();
        plan.write_to(&mut bytes).map_err(|e| failed("not written")(&e))?;
        let read = LoadOptions::default().read_bytes(&bytes);
        let read = read.map_err(|e| failed("not read")(&e))?;
        // NaNs differ from themselves.
        let mut again = Vec::new();
        read.write_to(&mut again).map_err(|e| failed("not written again")(&e))?;
        if again != bytes {
            return Ok(Outcome::Wrong("the plan that was read is another".to_owned()));
        }
        plan = read;
    }
    let product = |threads: usize| -> Result<Product<T>, BackendError> {
        let backend = backend(case, threads)?;
        let prepared = backend.prepare(&plan)?;
        multiply::<T>(case, &plan, &*backend, &*prepared)
    };
    let mut found = match product(case.threads()) {
        Ok(found) => found,
        Err(BackendError::Unsupported { .. }) => {
            return Ok(Outcome::Refused("the backend does not support it".to_owned()));
        }
        Err(error) => return Err(failed("no product")(&error)),
    };
    if !found.intact {
        return Ok(Outcome::Wrong("elements beside C were written".to_owned()));
    }
    let other = product(5 - case.threads()).map_err(|e| failed("no other product")(&e))?;
    if found.bits() != other.bits() {
        return Ok(Outcome::Wrong("other bits on another number of threads".to_owned()));
    }
    if spoiled && let Some(element) = found.c.iter_mut().last() {
        let is_there = element.to_c64().re == 77.0;
        *element = T::Acc::from_c64(if is_there { 78.0 } else { 77.0 }.into());
    }
    let Product { b, before, c, rounding, .. } = &found;
    let beta = case.beta();
    let added = (beta != 0.0).then(|| (beta, T::erase_acc(before.view())));
    let what = girih::Product { alpha: case.alpha(), b: T::erase(b.view()), added };
    let verdict = verify(&a, &plan, &what, &T::erase_acc(c.view()), *rounding);
    let verdict = verdict.map_err(|e| failed("not verified")(&e))?;
    // A plan of tiles that were given has no options.
    let is_exact = case.is_exact() && case.order() != Order::Columns;
    let invented = is_exact && verdict.non_finite != verdict.non_finite_expected;
    if !verdict.passed() || invented {
        return Ok(Outcome::Wrong(format!("{verdict:?}")));
    }
    let with = Operands { alpha: case.alpha(), b, added: (beta != 0.0).then_some((beta, before)) };
    let disagreement = scipy::disagreement(&a, &plan, &with, *rounding);
    let disagreement = disagreement.map_err(|e| failed("not verified")(&e))?;
    Ok(disagreement.map_or(Outcome::Right, Outcome::Wrong))
}

fn plan<T: DenseScalar>(case: &Case, a: &Csr<T>) -> Result<Plan, PlanError> {
    let spec = case.spec();
    let plan = if let Order::Columns = case.order() {
        let cols = simple::random(a.ncols(), 5)?;
        let layout = RowLayout::natural(a.nrows(), spec.window_rows())?;
        let held = cols.apply_cols(a)?;
        let tiling = Tiling::from_csr(&held, spec, layout)?;
        Plan::from_tiling(AnyTiling::from(tiling)).with_columns(cols)?
    } else {
        let options = PlanOptions::new(case.n().max(1))
            .format(spec)
            .target(DeviceSpec::cpu())
            .exact_nonfinite(case.is_exact())
            .keep_slot_map(case.refreshes());
        let options = match case.order() {
            Order::By(name) => options.reorder(name.parse::<Method>()?),
            Order::Natural if spec == FormatSpec::Csr && !case.refreshes() => {
                options.once(case.n() % 2 == 1)
            }
            _ => options,
        };
        Planner::new(options).plan(a)?
    };
    match case.tiles_per_task() {
        None => Ok(plan),
        Some(tiles) => {
            let schedule = Schedule::by_tiles(plan.tiling(), tiles);
            Ok(plan.with_schedule(&schedule)?)
        }
    }
}

fn backend(case: &Case, threads: usize) -> Result<Box<dyn SpmmBackend>, BackendError> {
    let isa = match case.backend() {
        3 => return Ok(Box::new(ReferenceBackend)),
        0 => Isa::best(),
        1 => Isa::Portable,
        _ => Isa::Avx2,
    };
    let cpu = CpuBackend::with_isa(isa).unwrap_or_default();
    Ok(Box::new(cpu.with_threads(threads)?))
}

/// A product and what it is of.
struct Product<T: DenseScalar> {
    b: Array2<T>,
    before: Array2<T::Acc>,
    c: Array2<T::Acc>,
    intact: bool,
    rounding: girih::Rounding,
}

impl<T: DenseScalar> Product<T> {
    fn bits(&self) -> Vec<u64> {
        let parts = self.c.iter().map(|x| x.to_c64());
        parts.flat_map(|x| [x.re.to_bits(), x.im.to_bits()]).collect()
    }
}

fn multiply<T: DenseScalar>(
    case: &Case,
    plan: &Plan,
    backend: &dyn SpmmBackend,
    prepared: &dyn PreparedSpmm,
) -> Result<Product<T>, BackendError> {
    let (m, k, n) = (plan.nrows(), plan.ncols(), case.n());
    let mut b = random::<T>(k, n, case.seed());
    if matches!(case.non_finite(), NonFinite::InB | NonFinite::InBoth) {
        let mut rng = SplitMix64::new(case.seed(), 1);
        for _ in 0..1 + rng.below(3) {
            if let Some(x) = b.iter_mut().nth(rng.below((k * n).max(1) as u64) as usize) {
                *x = T::from_c64(non_finite(&mut rng).into());
            }
        }
    }
    let before = match case.beta() {
        // What was there must not matter.
        0.0 => Array2::from_elem((m, n), T::Acc::from_c64(Complex::new(f64::NAN, f64::NAN))),
        _ => random::<T::Acc>(m, n, case.seed() + 1),
    };
    let placed = Placed::new(&b, case.layout_of_b());
    let mut c = Placed::new(&before, case.layout_of_c());
    let (alpha, beta) = (case.alpha(), case.beta());
    prepared.execute(alpha, T::erase(placed.view()), beta, T::erase_acc_mut(c.view_mut()))?;
    let rounding = backend.rounding(plan);
    Ok(Product {
        b: placed.view().to_owned(),
        before,
        c: c.view().to_owned(),
        intact: c.is_intact(),
        rounding,
    })
}

fn non_finite(rng: &mut SplitMix64) -> f64 {
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][rng.below(3) as usize]
}

fn with_non_finite<T: DenseScalar>(a: &Csr<T>, case: &Case) -> Csr<T> {
    if !matches!(case.non_finite(), NonFinite::InA | NonFinite::InBoth) || a.nnz() == 0 {
        return a.clone();
    }
    let mut rng = SplitMix64::new(case.seed(), 2);
    let mut values = a.values().to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(values.len() as u64) as usize;
        values[at] = T::from_c64(non_finite(&mut rng).into());
    }
    with_values(a, values)
}

fn ones<T: DenseScalar>(a: &Csr<T>) -> Csr<T> {
    with_values(a, vec![T::ONE; a.nnz()])
}

fn with_values<T: DenseScalar>(a: &Csr<T>, values: Vec<T>) -> Csr<T> {
    a.with_values(values).unwrap_or_else(|e| unreachable!("as many values as entries: {e}"))
}
