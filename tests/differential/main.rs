//! The differential driver: random products of every kind against the oracle, and SciPy's against it too.
//!
//! A case is a matrix of some class and size, a format, a value type, n, α and β, strides of B and C, an order, a
//! number of threads, an instruction set, NaN and infinities in A and B, a schedule, new values on the old pattern,
//! and a way through a plan file. What fails is made smaller for as long as it fails, and the message says how to
//! run it again. `GIRIH_DIFFERENTIAL=100000` runs as many cases, `GIRIH_DIFFERENTIAL_SEED=7` others, and
//! `GIRIH_DIFFERENTIAL_CASE=…` a single one.

mod case;
mod run;
mod scipy;

use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};

use case::{Case, FIELDS};
use rayon::prelude::*;
use run::{Outcome, run, run_spoiled};

/// Cases in the gate.
const CASES: u64 = 5000;

/// Cases that shrinking may try.
const TRIES: usize = 2000;

/// Runs a case; a panic is a wrong product too.
fn outcome(case: &Case) -> Outcome {
    panic::catch_unwind(AssertUnwindSafe(|| run(case))).unwrap_or_else(|panicked| {
        let message = panicked.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panicked.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Outcome::Wrong(format!("panicked: {}", message.unwrap_or_default()))
    })
}

/// A smaller case that `fails` too: each number in turn as small as can be.
fn shrunk(case: Case, fails: impl Fn(&Case) -> bool) -> Case {
    let (mut best, mut tries) = (case, 0);
    loop {
        let before = best;
        for field in 0..FIELDS {
            let number = best.0[field];
            let mut smaller: Vec<u64> = vec![0, 1, 2, 3];
            smaller
                .extend((1..64).map_while(|bits| number.checked_shr(bits)).take_while(|&n| n > 0));
            smaller.extend(number.checked_sub(1));
            smaller.retain(|&n| n < number);
            smaller.sort_unstable();
            smaller.dedup();
            for number in smaller {
                tries += 1;
                let mut tried = best;
                tried.0[field] = number;
                if tries < TRIES && fails(&tried) {
                    best = tried;
                    break;
                }
            }
        }
        if best == before || tries >= TRIES {
            return best;
        }
    }
}

fn report(case: Case) -> String {
    let least = shrunk(case, |case| matches!(outcome(case), Outcome::Wrong(_)));
    let a = least.matrix().map_or_else(
        |e| e.to_string(),
        |a| format!("{}×{}, {} entries", a.nrows(), a.ncols(), a.nnz()),
    );
    format!(
        "{:?}\n{a}, {}, {}, n = {}, α = {}, β = {}, B {:?}, C {:?}, {:?}, {:?}, exact {}, threads {}, backend {}\n\
         GIRIH_DIFFERENTIAL_CASE={least} cargo test -p girih-tests --test differential",
        outcome(&least),
        least.spec(),
        least.dtype(),
        least.n(),
        least.alpha(),
        least.beta(),
        least.layout_of_b(),
        least.layout_of_c(),
        least.order(),
        least.non_finite(),
        least.is_exact(),
        least.threads(),
        least.backend(),
    )
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[test]
fn products_of_every_kind_are_right() {
    if let Ok(case) = std::env::var("GIRIH_DIFFERENTIAL_CASE") {
        let case = case.parse().unwrap();
        assert!(!matches!(outcome(&case), Outcome::Wrong(_)), "{}", report(case));
        return;
    }
    let (count, seed) = (number("GIRIH_DIFFERENTIAL", CASES), number("GIRIH_DIFFERENTIAL_SEED", 0));
    let outcomes: Vec<(Case, Outcome)> = (0..count)
        .into_par_iter()
        .map(|i| {
            let case = Case::draw(seed.wrapping_mul(1 << 40).wrapping_add(i));
            (case, outcome(&case))
        })
        .collect();
    let of = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, found)| is(found)).count();
    let right = of(|found| matches!(found, Outcome::Right));
    let refused = of(|found| matches!(found, Outcome::Refused(_)));
    let wrong: Vec<Case> =
        outcomes.iter().filter(|(_, o)| matches!(o, Outcome::Wrong(_))).map(|(c, _)| *c).collect();
    let shown: Vec<String> = wrong.iter().take(3).map(|&case| report(case)).collect();
    let summary =
        format!("{count} products: {right} right, {refused} refused, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{summary}\n\n{}", shown.join("\n\n"));
    assert!(right as u64 * 10 >= count * 7, "{summary}: too few were compared");
    // How many there were is for whoever runs more than the gate does.
    writeln!(std::io::stdout(), "{summary}").unwrap();
}

#[test]
fn a_wrong_element_is_found_in_every_kind_of_product() {
    let found = |seed| {
        let case = Case::draw(seed);
        let has_elements = case.n() > 0 && case.matrix().is_ok_and(|a| a.nrows() > 0);
        if !has_elements || run(&case) != Outcome::Right {
            return false;
        }
        assert!(
            matches!(run_spoiled(&case, true), Outcome::Wrong(_)),
            "{case} hides a wrong element"
        );
        true
    };
    assert!((1000..1300).filter(|&seed| found(seed)).count() > 200);
}

#[test]
fn cases_are_read_back_and_made_smaller() {
    let case = Case::draw(3);
    assert_eq!(case.to_string().parse::<Case>(), Ok(case));
    assert!("1,2".parse::<Case>().is_err());
    let least = shrunk(case, |case| case.0[1] >= 100 && case.0[4] % 2 == case.0[4] % 2);
    assert_eq!(least.0.iter().filter(|&&n| n != 0).count(), 1);
    assert_eq!(least.0[1], 100);
}
