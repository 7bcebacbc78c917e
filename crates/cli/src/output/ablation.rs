//! Ablations as text: a table for each ladder and product, plain or in Markdown.

use std::fmt::Write;
use std::time::Duration;

use girih_measure::ablation::{
    AblationReport, Ladder, LadderCase, LadderReport, Step, StepReport, Unit,
};
use girih_measure::units;

pub(crate) use super::bench::Style;
use super::table;

const HEADER: [&str; 7] =
    ["step", "what it changes", ">median", ">TFLOP/s", ">× before", ">paper", ">× before, paper"];

const LIST: [&str; 5] = ["step", "what it changes", "variant", ">paper", ">× before, paper"];

const LEGEND: &str = "\
A step's × before is over the nearest one before it that was measured, by medians. Every product was verified.";

/// The ladders, with the papers' figures alone.
pub(crate) fn list(ladders: &[Ladder]) -> String {
    let parts: Vec<_> = ladders
        .iter()
        .map(|ladder| {
            let rows = ladder.steps.iter().map(|step| {
                let [figure, speedup] = of_paper(ladder, step);
                let variant = step.variant.clone().unwrap_or_else(|| "-".to_owned());
                vec![step.name.clone(), step.adds.clone(), variant, figure, speedup]
            });
            let steps = table::with_header(LIST, rows);
            [vec![heading(ladder, Style::Plain), steps], notes(ladder, None)].concat().join("\n")
        })
        .collect();
    parts.join("\n\n")
}

/// Everything that was measured.
pub(crate) fn text(report: &AblationReport, style: Style) -> String {
    let mut parts = vec![report.device.clone()];
    for LadderReport { ladder, cases } in &report.ladders {
        if cases.is_empty() {
            parts.push(match style {
                Style::Plain => list(std::slice::from_ref(ladder)),
                Style::Markdown => {
                    let mut lines = vec![heading(ladder, style), String::new()];
                    lines.extend(notes(ladder, None));
                    lines.join("\n")
                }
            });
            continue;
        }
        parts.push(heading(ladder, style));
        for case in cases {
            let rows: Vec<_> = rows(ladder, case);
            let table = match style {
                Style::Plain => table::with_header(HEADER, rows),
                Style::Markdown => table::markdown(HEADER, rows),
            };
            let gap = if style == Style::Markdown { "\n\n" } else { "\n" };
            parts.push(format!("{}{gap}{table}", title(ladder, case)));
        }
        parts.push(notes(ladder, cases.last()).join("\n"));
    }
    parts.push(LEGEND.to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn heading(ladder: &Ladder, style: Style) -> String {
    let Ladder { name, title, paper, .. } = ladder;
    match style {
        Style::Plain => format!("{name}: {title}\n{paper}"),
        Style::Markdown => format!("## {title}\n\n{paper}"),
    }
}

fn title(ladder: &Ladder, case: &LadderCase) -> String {
    let LadderCase { matrix, m, k, n, nnz, verified_every, .. } = case;
    let mut title = format!("{matrix}: {m}×{k}, {nnz} entries, n = {n}, {}", ladder.dtype);
    if *verified_every > 1 {
        let _ = write!(title, ", verified by one in {verified_every} columns");
    }
    title
}

fn rows(ladder: &Ladder, case: &LadderCase) -> Vec<Vec<String>> {
    let dash = || "-".to_owned();
    let row = |measured: &StepReport| {
        let step = ladder.step(&measured.name).map(|(_, step)| step);
        let [figure, paper] = step.map_or_else(|| [dash(), dash()], |step| of_paper(ladder, step));
        let speedup = step.and_then(|step| case.speedup(ladder, step));
        let times = measured.times;
        vec![
            measured.name.clone(),
            step.map_or_else(|| "the dense product, beside".to_owned(), |step| step.adds.clone()),
            times.map_or_else(dash, |times| {
                units::time(Duration::from_secs_f64(times.median_seconds))
            }),
            times.map_or_else(dash, |times| figure_of(times.tflops)),
            speedup.map_or_else(dash, |speedup| format!("{speedup:.2}")),
            figure,
            paper,
        ]
    };
    case.steps.iter().map(row).collect()
}

/// The paper's figure and speedup of a step.
fn of_paper(ladder: &Ladder, step: &Step) -> [String; 2] {
    let dash = || "-".to_owned();
    let figure = match ladder.unit {
        // It stands in the other column.
        Unit::OfBefore => None,
        unit => step.figure.map(|figure| format!("{} {}", figure_of(figure), unit.name())),
    };
    let speedup = ladder.paper_speedup(step).map(|speedup| format!("{speedup:.2}"));
    [figure.unwrap_or_else(dash), speedup.unwrap_or_else(dash)]
}

fn figure_of(x: f64) -> String {
    if x < 100.0 { format!("{x:.2}") } else { format!("{x:.0}") }
}

/// Why steps are missing or were skipped, and where they deviate.
fn notes(ladder: &Ladder, case: Option<&LadderCase>) -> Vec<String> {
    let of_case = |name: &str| {
        let measured = case?.steps.iter().find(|measured| measured.name == name)?;
        measured.skipped.clone()
    };
    let mut lines = Vec::new();
    for step in &ladder.steps {
        let why = of_case(&step.name).or_else(|| step.missing.clone());
        for what in [why, step.note.clone()].into_iter().flatten() {
            lines.push(format!("- {}: {what}.", step.name));
        }
    }
    let others = case.into_iter().flat_map(|case| &case.steps);
    for other in others.filter(|other| ladder.step(&other.name).is_none()) {
        lines.extend(other.skipped.iter().map(|why| format!("- {}: {why}.", other.name)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_step_and_every_reason() {
        let ladders: Vec<_> = Ladder::names().map(|name| Ladder::built_in(name).unwrap()).collect();
        let text = list(&ladders);
        for ladder in &ladders {
            assert!(text.contains(&ladder.paper), "{}", ladder.name);
            for step in &ladder.steps {
                assert!(text.contains(&step.adds), "{}", step.name);
                assert!(step.missing.as_ref().is_none_or(|why| text.contains(why)));
            }
        }
        let opt4 = text.lines().find(|line| line.starts_with("opt4")).unwrap();
        assert!(opt4.contains("bcsr-clears") && opt4.contains("4.41 × cuSPARSE"), "{opt4}");
        assert!(opt4.ends_with("1.02"), "{opt4}");
    }
}
