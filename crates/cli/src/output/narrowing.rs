//! What rounding to the value type did to values, in words.

use girih::formats::{DType, E4m3Narrowing, Narrowing, for_any_tiling};
use girih::planner::Plan;

use girih_measure::units;

/// One line about values that were not taken as they are; `None` if all of them are zeros and normal
/// numbers of the type.
pub(crate) fn line(found: &Narrowing, dtype: DType) -> Option<String> {
    if found.is_harmless() {
        return None;
    }
    let Narrowing { nonzeros, overflowed, vanished, subnormal, non_finite } = *found;
    let verb =
        |n: u64, one: &str, many: &str| if n == 1 { one.to_owned() } else { many.to_owned() };
    let parts: Vec<String> = [
        (overflowed, verb(overflowed, "overflows to Inf", "overflow to Inf")),
        (vanished, verb(vanished, "vanishes to 0", "vanish to 0")),
        (subnormal, verb(subnormal, "is subnormal", "are subnormal")),
        (non_finite, verb(non_finite, "was NaN or Inf before", "were NaN or Inf before")),
    ]
    .into_iter()
    .filter(|&(n, _)| n > 0)
    .map(|(n, what)| format!("{} {what}", units::count(n)))
    .collect();
    Some(format!("of {} nonzero values in {dtype}, {}", units::count(nonzeros), parts.join(", ")))
}

/// One line about what storing a matrix in e4m3 does to its values.
pub(crate) fn e4m3_line(found: &E4m3Narrowing) -> String {
    let Narrowing { nonzeros, vanished, subnormal, .. } = found.counts;
    format!(
        "e4m3: off by at most {:.2} %; of {} nonzero values, {} vanish to 0, {} are subnormal",
        100.0 * found.largest_error,
        units::count(nonzeros),
        units::count(vanished),
        units::count(subnormal)
    )
}

/// How many values of a plan's tiles are NaN or infinite.
pub(crate) fn non_finite_in(plan: &Plan) -> u64 {
    for_any_tiling!(plan.tiling(), tiling => {
        // In e4m3 the planner stores finite values alone.
        tiling.values().map_or(0, |values| Narrowing::of(values, plan.dtype()).non_finite)
    })
}

/// One line about the values of a plan that are not finite, if there are any.
pub(crate) fn plan_line(non_finite: u64, plan: &Plan) -> Option<String> {
    let verb = if non_finite == 1 { "is" } else { "are" };
    (non_finite > 0).then(|| {
        let (found, nnz) = (units::count(non_finite), units::count(plan.nnz() as u64));
        format!("of {nnz} values in {}, {found} {verb} NaN or Inf in the plan", plan.dtype())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_said() {
        let none = Narrowing { nonzeros: 5000, ..Narrowing::default() };
        assert_eq!(line(&none, DType::F16), None);
        let one = Narrowing { overflowed: 1, ..none };
        let said = "of 5 000 nonzero values in f16, 1 overflows to Inf";
        assert_eq!(line(&one, DType::F16).as_deref(), Some(said));
        let all = Narrowing { overflowed: 1200, vanished: 1, subnormal: 2, non_finite: 3, ..none };
        let said = "of 5 000 nonzero values in bf16, 1 200 overflow to Inf, 1 vanishes to 0, \
                    2 are subnormal, 3 were NaN or Inf before";
        assert_eq!(line(&all, DType::Bf16).as_deref(), Some(said));
        let narrow = E4m3Narrowing { counts: all, largest_error: 0.0588 };
        let said =
            "e4m3: off by at most 5.88 %; of 5 000 nonzero values, 1 vanish to 0, 2 are subnormal";
        assert_eq!(e4m3_line(&narrow), said);
    }
}
