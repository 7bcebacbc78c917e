//! What every instruction family computes, beside what an H200 computed.
//!
//! Each case is a kernel around one instruction. What the GPU wrote for it lies in
//! `tests/hardware/h200.zip`; the interpreter must write the same, bit by bit but for approximate
//! instructions, and refuse what stopped the GPU. With `PTX_EMU_RECORD=FILE` set, and a Hopper GPU at hand, the test runs the cases on
//! it instead and writes such a record.

mod case;
mod copies;
mod device;
mod emulated;
mod forms;
mod kernel;
mod matrices;
mod memory;
mod record;
mod values;

use case::Case;
use emulated::Outcome;

/// Families and their cases.
fn families() -> Vec<(&'static str, Vec<Case>)> {
    let cases = |forms: Vec<kernel::Form>| forms.iter().map(kernel::Form::case).collect();
    vec![
        ("integer", cases(forms::integer())),
        ("logic", cases(forms::logic())),
        ("float", cases(forms::float())),
        ("approximate", cases(forms::approximate())),
        ("half", cases(forms::half())),
        ("compare", cases(forms::compare())),
        ("convert", cases(forms::convert())),
        ("warp", cases(forms::warp())),
        ("atomics", cases(memory::atomics())),
        ("mma", cases(matrices::mma())),
        ("sparse mma", cases(matrices::sparse_mma())),
        ("moves", matrices::moves()),
        ("wgmma", matrices::wgmma()),
        ("copies", memory::copies()),
        ("tensor copies", copies::tensor_copies()),
    ]
}

#[test]
fn names_are_unique() {
    let mut names = std::collections::HashSet::new();
    for (family, cases) in families() {
        for case in cases {
            assert!(names.insert(format!("{family}/{}", case.name)), "{family}/{}", case.name);
        }
    }
}

/// Runs nothing unless asked to record.
#[test]
fn record_hardware() {
    if let Ok(path) = std::env::var("PTX_EMU_RECORD") {
        record::write(path.as_ref(), &families());
    }
}

fn as_on_hardware(family: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hardware/h200.zip");
    let recorded = record::read(path.as_ref());
    let (_, cases) = families().into_iter().find(|(name, _)| *name == family).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let recorded = recorded.get(&record::entry_name(family, case)).map(Vec::as_slice);
        let difference = match (emulated::run(case), recorded) {
            (Err(error), _) => Some(error),
            (_, None) => Some("not in the record".to_owned()),
            (Ok(Outcome::Fault(_)), Some([])) => None,
            (Ok(Outcome::Fault(fault)), Some(_)) => Some(fault),
            (Ok(Outcome::Output(_)), Some([])) => Some("runs, but stopped the GPU".to_owned()),
            (Ok(Outcome::Output(output)), Some(recorded)) => {
                case.difference(&record::kept(case, &output), recorded)
            }
        };
        wrong.extend(difference.map(|text| format!("{}: {text}", case.name)));
    }
    assert!(
        wrong.is_empty(),
        "{} of {} cases differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

macro_rules! families {
    ($($test:ident: $family:literal)*) => {$(
        #[test]
        fn $test() {
            as_on_hardware($family);
        }
    )*};
}

families! {
    integer: "integer"
    logic: "logic"
    float: "float"
    approximate: "approximate"
    half: "half"
    compare: "compare"
    convert: "convert"
    warp: "warp"
    atomics: "atomics"
    mma: "mma"
    sparse_mma: "sparse mma"
    moves: "moves"
    wgmma: "wgmma"
    copies: "copies"
    tensor_copies: "tensor copies"
}
