//! Faults planted in our own kernels, each of which the emulator must find: by a report of a rule that is
//! broken, or by a wrong result where none is.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use girih_backend::{
    Activation, Aggregation, DenseScalar, Epilogue, Product, SpmmBackend, verify_aggregation,
    verify_with,
};
use girih_formats::{AnyTiling, Complex, Csr, FormatSpec, PAD_ROW, Real, RowLayout, Tiling};
use girih_planner::{Plan, Precision, Schedule};
use girih_testkit::operands::{Layout, Placed, random};
use half::bf16;
use ndarray::Array2;
use ptx_emu::Timing;
use ptx_emu::report::Problem;

use super::compiler::Compiler;
use super::operands::Placing;
use super::{Emulated, EmulatedPlan, Failure, WAYS, Way};
use crate::ablation::Variant;
use crate::prepared::{Requested, Total};

/// A fault: a text of a source, which must be there exactly once, and what stands there instead.
pub(crate) struct Fault {
    /// What is wrong then.
    pub(crate) what: &'static str,
    /// The source, in the folder `src/kernels`.
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    /// The product that shows it.
    pub(crate) product: Multiply,
    /// Whether that is how it may show.
    pub(crate) shows: fn(&Outcome) -> bool,
}

/// `fault!("what", "file": "from" => "to", product, pattern of outcomes)`.
macro_rules! fault {
    ($what:literal, $file:literal: $from:literal => $to:literal, $product:expr, $shows:pat) => {
        $crate::emulated::faults::Fault {
            what: $what,
            file: $file,
            from: $from,
            to: $to,
            product: $product,
            shows: |outcome| matches!(outcome, $shows),
        }
    };
}
pub(crate) use fault;

/// What came of a product.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nothing wrong was seen.
    Right,
    /// C is not the product.
    Wrong,
    /// Something was written between C's elements.
    Stray,
    /// A rule was broken.
    Report(Problem),
    /// It was not multiplied at all.
    Refused,
}

/// A way to multiply, that faults are looked for in.
pub(crate) type Multiply = fn(&Emulated, Way) -> (Outcome, String);

/// A product: of a matrix in natural order, laid out by `spec`, with `n` columns.
#[derive(Clone, Copy)]
pub(crate) struct Sized {
    pub(crate) spec: FormatSpec,
    /// Tiles of a task; of all of a window if it is `None`.
    pub(crate) tiles_per_task: Option<u64>,
    pub(crate) n: usize,
    pub(crate) beta: f64,
    pub(crate) b: Layout,
    pub(crate) c: Layout,
    pub(crate) epilogue: Finish,
}

/// What is applied to the product, with a random bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Nothing,
    PerRow(Activation),
    PerColumn(Activation),
}

/// The product of a matrix with random columns.
pub(crate) fn multiply<T: DenseScalar<Acc: DenseScalar>>(
    device: &Emulated,
    way: Way,
    a: &Csr<f64>,
    sized: Sized,
) -> (Outcome, String) {
    multiply_into::<T, T::Acc>(device, way, a, sized)
}

/// The same into a C of another type.
pub(crate) fn multiply_into<T: DenseScalar, C: DenseScalar>(
    device: &Emulated,
    way: Way,
    a: &Csr<f64>,
    sized: Sized,
) -> (Outcome, String) {
    let Sized { spec, tiles_per_task, n, .. } = sized;
    let a = a.cast::<T>();
    let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a, spec, layout).unwrap());
    let schedule = tiles_per_task.map(|tiles| Schedule::by_tiles(&tiling, tiles));
    let mut plan = Plan::from_tiling(tiling);
    if let Some(schedule) = schedule {
        plan = plan.with_schedule(&schedule).unwrap();
    }
    let (b, prepared) = (random::<T>(a.ncols(), n, 1), device.prepare_tiles(&plan));
    device.supports(&plan).and_then(|()| device.supports_output(&plan, C::DTYPE)).unwrap();
    multiply_prepared::<T, C>(device, way, (&a, &plan), &prepared, &b, sized)
}

/// The product of a matrix whose rows stand last first, behind the slots that are empty, in a precision; `cut` makes a
/// schedule of its tiles.
pub(crate) fn multiply_reversed<T: DenseScalar<Acc: DenseScalar>>(
    device: &Emulated,
    way: Way,
    a: &Csr<f64>,
    (cut, precision): (fn(&AnyTiling) -> Schedule, Precision),
    sized: Sized,
) -> (Outcome, String) {
    let a = a.cast::<T>();
    let (rows, window_rows) = (a.nrows() as u32, sized.spec.window_rows());
    let padding = a.nrows().next_multiple_of(window_rows) - a.nrows();
    let slots: Vec<u32> = std::iter::repeat_n(PAD_ROW, padding).chain((0..rows).rev()).collect();
    let layout = RowLayout::explicit(a.nrows(), window_rows, slots).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a, sized.spec, layout).unwrap());
    let schedule = cut(&tiling);
    let plan = Plan::from_tiling(tiling).with_schedule(&schedule).unwrap();
    let plan = plan.with_precision(precision);
    multiply_plan(device, way, (&a, &plan), &random::<T>(a.ncols(), sized.n, 1), sized)
}

/// The product of a matrix by a step of an ablation, in bf16.
pub(crate) fn multiply_variant(
    device: &Emulated,
    way: Way,
    a: &Csr<f64>,
    name: &str,
    sized: Sized,
) -> (Outcome, String) {
    let a = a.cast::<bf16>();
    let layout = RowLayout::natural(a.nrows(), sized.spec.window_rows()).unwrap();
    let plan = Plan::from_tiling(Tiling::from_csr(&a, sized.spec, layout).unwrap());
    // How many multiprocessors there are does not matter here.
    let prepared = device.prepare_variant(&plan, 132, Variant::find(name).unwrap());
    let columns = random(a.ncols(), sized.n, 1);
    multiply_prepared::<_, f32>(device, way, (&a, &plan), &prepared, &columns, sized)
}

/// The product of a plan of a matrix with these columns.
pub(crate) fn multiply_plan<T: DenseScalar<Acc: DenseScalar>>(
    device: &Emulated,
    way: Way,
    (a, plan): (&Csr<T>, &Plan),
    columns: &Array2<T>,
    sized: Sized,
) -> (Outcome, String) {
    device.supports(plan).unwrap();
    let prepared = device.prepare_tiles(plan);
    multiply_prepared::<T, T::Acc>(device, way, (a, plan), &prepared, columns, sized)
}

/// The product of a plan that was prepared.
pub(crate) fn multiply_prepared<T: DenseScalar, C: DenseScalar>(
    device: &Emulated,
    way: Way,
    (a, plan): (&Csr<T>, &Plan),
    prepared: &EmulatedPlan,
    columns: &Array2<T>,
    Sized { beta, b, c, n, epilogue, .. }: Sized,
) -> (Outcome, String) {
    let b = Placed::new(columns, b);
    let before = random::<C>(a.nrows(), n, 2);
    let mut c = Placed::new(&before, c);
    let (b_view, c_view) = (T::erase(b.view()), C::erase_mut(c.view_mut()));
    let len = if matches!(epilogue, Finish::PerRow(_)) { a.nrows() } else { n };
    let bias = random::<T::Acc>(len, 1, 3);
    let bias = T::erase_acc(bias.view());
    let epilogue = match epilogue {
        Finish::Nothing => Epilogue::new(),
        Finish::PerRow(activation) => Epilogue::from(activation).bias_per_row(bias),
        Finish::PerColumn(activation) => Epilogue::from(activation).bias_per_column(bias),
    };
    let requested = Requested::Sum(&epilogue);
    match prepared.multiply(way, ((-2.5).into(), beta.into()), &b_view, c_view, requested) {
        Ok(()) => {
            let added = (beta != 0.0).then(|| (beta, C::erase(before.view())));
            let product = Product { alpha: -2.5, b: b_view, added };
            let rounding = device.rounding(plan);
            let found = C::erase(c.view());
            let verdict = verify_with(a, plan, &product, &epilogue, &found, rounding).unwrap();
            let outcome = if verdict.passed() { Outcome::Right } else { Outcome::Wrong };
            (outcome, format!("{verdict:?}"))
        }
        Err(failure) => failed(failure),
    }
}

/// An aggregation of the products of a matrix, in natural order, with `n` random columns; C is in rows that are padded.
pub(crate) fn aggregate<T: DenseScalar + Real>(
    device: &Emulated,
    way: Way,
    a: &Csr<f64>,
    (aggregation, n): (Aggregation, usize),
    layout: Layout,
) -> (Outcome, String) {
    let a = a.cast::<T>();
    let rows = RowLayout::natural(a.nrows(), 1).unwrap();
    let tiling = AnyTiling::from(Tiling::from_csr(&a, FormatSpec::Csr, rows).unwrap());
    let plan = Plan::from_tiling(tiling);
    device.supports_aggregation(&plan, aggregation).unwrap();
    let b = Placed::new(&random::<T>(a.ncols(), n, 1), layout);
    let mut c = Placed::new(&random::<T::Acc>(a.nrows(), n, 2), Layout::PaddedRows);
    let (b_view, c_view) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
    let prepared = device.prepare_tiles(&plan);
    let scales = (Total::sign(aggregation), Complex::ZERO);
    match prepared.multiply(way, scales, &b_view, c_view, Requested::Aggregation(aggregation)) {
        Ok(()) => {
            let (found, rounding) = (T::erase_acc(c.view()), device.rounding(&plan));
            let verdict = verify_aggregation(&a, &plan, aggregation, &b_view, &found, rounding);
            let verdict = verdict.unwrap();
            let outcome = if verdict.passed() { Outcome::Right } else { Outcome::Wrong };
            (outcome, format!("{verdict:?}"))
        }
        Err(failure) => failed(failure),
    }
}

/// What came of a product that was not computed.
pub(crate) fn failed(failure: Failure) -> (Outcome, String) {
    match failure {
        Failure::Fault { kernel, fault } => {
            let text = format!("{kernel}: {fault}");
            (Outcome::Report(fault.first.problem), text)
        }
        stray @ Failure::Stray(_) => (Outcome::Stray, stray.to_string()),
        other => (Outcome::Refused, other.to_string()),
    }
}

/// The sources with a fault in them.
fn patched(fault: &Fault) -> Compiler {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernels").join(fault.file);
    let source = fs::read_to_string(path).unwrap();
    let found = source.matches(fault.from).count();
    assert_eq!(found, 1, "{}: {:?} is in {} {found} times", fault.what, fault.from, fault.file);
    Compiler::replacing(fault.file, source.replace(fault.from, fault.to))
}

/// The ways in which a fault must show.
const SHOWN_IN: [Way; 2] =
    [(Timing::Late, ptx_emu::Schedule::Fixed), (Timing::Random(7), ptx_emu::Schedule::Random(7))];

/// Checks that the products are right without the faults, in all ways, and that every fault shows.
pub(crate) fn check(products: &[Multiply], faults: &[Fault]) {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    for (i, multiply) in products.iter().enumerate() {
        for way in WAYS {
            let (outcome, text) = multiply(&device, way);
            assert!(matches!(outcome, Outcome::Right), "product {i}, {way:?}: {text}");
        }
    }
    let mut wrong = Vec::new();
    for fault in faults {
        let compiler = Arc::new(patched(fault));
        let device = Emulated::with(compiler, Placing::AsGiven, &WAYS);
        for way in SHOWN_IN {
            let (outcome, text) = (fault.product)(&device, way);
            if !(fault.shows)(&outcome) {
                wrong.push(format!("{}, {way:?}: {outcome:?}: {text}", fault.what));
            }
        }
    }
    assert!(wrong.is_empty(), "faults that did not show as they should:\n{}", wrong.join("\n"));
}
