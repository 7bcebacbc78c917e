//! Rows of figures as they come, and what they come to.

/// A figure: how many times as fast girih is as something, and how fast it should be.
struct Figure {
    what: &'static str,
    goal: Option<f64>,
    ratios: Vec<f64>,
}

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

impl Report {
    /// Begins a section.
    pub(crate) fn section(&mut self, title: &str, columns: &[&str]) {
        println!("\n{title}\n");
        println!("| {} |", columns.join(" | "));
        println!("|{}", "---|".repeat(columns.len()));
    }

    /// A row of a section's table.
    pub(crate) fn row(&mut self, cells: &[String]) {
        println!("| {} |", cells.join(" | "));
    }

    /// Counts a ratio towards a figure.
    pub(crate) fn count(&mut self, what: &'static str, goal: Option<f64>, ratio: f64) {
        let known = self.figures.iter_mut().find(|figure| figure.what == what);
        match known {
            Some(figure) => figure.ratios.push(ratio),
            None => self.figures.push(Figure { what, goal, ratios: vec![ratio] }),
        }
    }

    /// Prints what the figures come to.
    pub(crate) fn summary(&self) {
        println!("\nsummary: how many times as fast\n");
        println!("| | goal | geometric mean | least | most | cases | short of the goal |");
        println!("|---|---|---|---|---|---|---|");
        for Figure { what, goal, ratios } in &self.figures {
            let count = ratios.len();
            let mean = (ratios.iter().map(|x| x.ln()).sum::<f64>() / count as f64).exp();
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let most = ratios.iter().copied().fold(0.0, f64::max);
            let (goal, short) = match goal {
                None => (String::new(), String::new()),
                Some(goal) => {
                    (format!("{goal:.2}"), ratios.iter().filter(|&x| x < goal).count().to_string())
                }
            };
            println!(
                "| {what} | {goal} | {mean:.2} | {least:.2} | {most:.2} | {count} | {short} |"
            );
        }
    }
}

/// Seconds in milliseconds.
pub(crate) fn ms(seconds: f64) -> String {
    format!("{:.4}", 1e3 * seconds)
}

/// A ratio.
pub(crate) fn times(ratio: f64) -> String {
    format!("{ratio:.2}")
}
