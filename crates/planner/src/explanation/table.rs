//! Explanations as text.

use std::fmt::{self, Display};

use super::outcome::Outcome;
use super::units::{Bytes, Seconds};
use super::{Candidate, Explanation};
use crate::ordering::Considered;

impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.candidates.is_empty() {
            let [format, time, bound, tiles, fill, hits, schedule] =
                ["format", "time", "bound by", "tiles", "fill", "B reused", "schedule"];
            writeln!(
                f,
                "  {format:<20}{time:>12}  {bound:<10}{tiles:>12}{fill:>8}{hits:>10}  {schedule}"
            )?;
        }
        for candidate in &self.candidates {
            row(f, candidate)?;
        }
        if self.schedules.len() > 1 {
            writeln!(f)?;
            writeln!(f, "  {:<24}{:>10}{:>14}{:>8}", "schedule", "tasks", "busy until", "idle")?;
            for (i, option) in self.schedules.iter().enumerate() {
                let mark = if i == 0 { '*' } else { ' ' };
                let name = match option.limit {
                    0 => option.kind.name().to_owned(),
                    limit => format!("{} {limit}", option.kind.name()),
                };
                writeln!(
                    f,
                    "{mark} {name:<24}{:>10}{:>14}{:>7.1}%",
                    option.tasks,
                    Seconds(option.makespan).to_string(),
                    100.0 * option.idle_share
                )?;
            }
        }
        if let Some(measured) = &self.measured {
            write!(f, "{measured}")?;
        }
        writeln!(f, "{}", self.reason)?;
        if !self.orderings.is_empty() {
            Considered::header(f)?;
        }
        for ordering in &self.orderings {
            writeln!(f, "{ordering}")?;
        }
        if !self.order.is_empty() {
            writeln!(f, "{}", self.order)?;
        }
        write!(f, "{}", self.schedule)
    }
}

fn row(f: &mut fmt::Formatter<'_>, candidate: &Candidate) -> fmt::Result {
    let mark = if candidate.outcome == Outcome::Chosen { '*' } else { ' ' };
    let spec = candidate.spec.to_string();
    write!(f, "{mark} {spec:<20}")?;
    match &candidate.cost {
        Some(cost) => write!(
            f,
            "{:>12}  {:<10}{:>12}{:>7.1}%{:>9.1}%",
            Seconds(cost.seconds).to_string(),
            cost.dominant.name(),
            Bytes(cost.tile_bytes).to_string(),
            100.0 * cost.fill_ratio,
            100.0 * cost.b_hit_share()
        )?,
        None => write!(f, "{:>12}  {:<10}{:>12}{:>8}{:>10}", "-", "-", "-", "-", "-")?,
    }
    if let Outcome::Rejected { reason } = &candidate.outcome {
        return writeln!(f, "  rejected: {reason}");
    }
    let schedule = candidate.schedule.as_ref().map(|schedule| schedule.kind.name().to_owned());
    let config = candidate.config.as_ref().map(|config| {
        format!("{}, {} columns × {} stages", config.entry, config.block_cols, config.stages)
    });
    match (schedule, config) {
        (Some(schedule), Some(config)) => writeln!(f, "  {schedule}, {config}"),
        (Some(one), None) | (None, Some(one)) => writeln!(f, "  {one}"),
        (None, None) => writeln!(f),
    }
}
