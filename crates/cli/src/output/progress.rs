//! Progress on standard error.

use std::fmt::Display;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use girih::formats::io;
use girih::planner;
use girih_measure::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::escape::{controls, escaped};

/// A spinner naming the stage a command is in, and notes that stay.
///
/// The spinner exists on a terminal only; notes are always written. Standard output is never
/// touched, and a closed standard error is not an error.
#[derive(Debug)]
pub(crate) struct Progress {
    spinner: ProgressBar,
}

impl Progress {
    /// On standard error.
    pub(crate) fn on_stderr() -> Self {
        Self::on(ProgressDrawTarget::stderr())
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let spinner = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            spinner.set_style(style);
        }
        Self { spinner }
    }

    /// Names the stage that begins.
    pub(crate) fn stage(&self, what: impl AsRef<str>) {
        self.spinner.reset_elapsed();
        self.spinner.set_message(controls(what.as_ref()).into_owned());
        if !self.spinner.is_hidden() {
            self.spinner.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Names a stage that is timed. The spinner stands still until the next one, since turning it takes
    /// processor time.
    pub(crate) fn still(&self, what: impl AsRef<str>) {
        self.spinner.disable_steady_tick();
        self.spinner.reset_elapsed();
        self.spinner.set_message(controls(what.as_ref()).into_owned());
    }

    /// Names a stage of reading, and returns the function that is called with the bytes read so far and
    /// their total; `None` if there is no terminal.
    pub(crate) fn reading(&self, what: String) -> Option<io::Progress> {
        self.stage(what.as_str());
        if self.spinner.is_hidden() {
            return None;
        }
        let spinner = self.spinner.clone();
        let what = escaped(what);
        Some(Arc::new(move |done, total| {
            if let Some(total) = total.filter(|&total| total > 0) {
                let percent = 100.0 * done as f64 / total as f64;
                spinner.set_message(format!("{what}: {percent:.0} %"));
            }
        }))
    }

    /// Names a stage of planning, and returns the function that the planner calls.
    pub(crate) fn planning(&self, what: String) -> impl Fn(planner::progress::Progress) + use<> {
        let details = self.details(what);
        move |progress| details(&progress)
    }

    /// Names a stage of many parts, and returns the function that is called with the parts that are done and
    /// their number.
    pub(crate) fn counting(&self, what: String) -> impl Fn(u64, u64) + use<> {
        let details = self.details(what);
        move |done, total| {
            let percent = planner::progress::Share { done, total }.percent();
            details(&format_args!("{percent} %"));
        }
    }

    /// Names a stage, and returns the function that adds to its name on a terminal.
    fn details(&self, what: String) -> impl Fn(&dyn Display) + use<> {
        self.stage(what.as_str());
        let what = escaped(what);
        let watched = (!self.spinner.is_hidden()).then(|| self.spinner.clone());
        move |details| {
            if let Some(spinner) = &watched {
                spinner.set_message(format!("{what}: {details}"));
            }
        }
    }

    /// Something the user should know, and a script may ignore.
    pub(crate) fn note(&self, what: &str) {
        self.spinner.suspend(|| {
            // Nobody is left to tell if standard error is closed.
            let _ = writeln!(std::io::stderr(), "note: {}", controls(what));
        });
    }

    /// Removes the spinner: whatever comes next is the result.
    pub(crate) fn done(&self) {
        self.spinner.finish_and_clear();
    }
}

impl Observer for Progress {
    fn stage(&self, what: &str) {
        self.stage(what);
    }

    fn timed_stage(&self, what: &str) {
        self.still(what);
    }

    fn planning(&self, what: &str) -> Box<dyn Fn(planner::progress::Progress) + Send + Sync> {
        Box::new(self.planning(what.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use girih::planner::{PlanOptions, Planner};
    use girih::reorder::Method;
    use girih_generate::laplacian_5pt;
    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps all that was ever written.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl Screen {
        fn progress(&self) -> Progress {
            Progress::on(ProgressDrawTarget::term_like(Box::new(self.clone())))
        }

        /// What was written since the last call.
        fn text(&self) -> String {
            std::mem::take(&mut self.0.lock().unwrap())
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            120
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, s: &str) -> io::Result<()> {
            self.write_str(s)?;
            self.write_str("\n")
        }

        fn write_str(&self, s: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(s);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.write_str("\n")
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_terminal_shows_the_stages_of_planning() {
        let screen = Screen::default();
        let progress = screen.progress();
        let a = laplacian_5pt::<f32>(30, 30).unwrap();
        let options = PlanOptions::default().reorder(Method::Rcm);
        let observer = progress.planning("planning a.mtx".to_owned());
        Planner::new(options).observe(&observer).plan(&a).unwrap();
        let shown = screen.text();
        let mut rest = &shown[..];
        for line in [
            "planning a.mtx (",
            "planning a.mtx: ordering rows by RCM (",
            "planning a.mtx: counting the pattern (",
            "planning a.mtx: pricing formats, 0 % (",
            "planning a.mtx: pricing formats, 100 % (",
            "planning a.mtx: replaying schedules, 100 % (",
            "planning a.mtx: laying out tiles (",
            "planning a.mtx: cutting tasks (",
        ] {
            let at = rest.find(line).unwrap_or_else(|| panic!("{line} is not in: {rest}"));
            rest = &rest[at..];
        }
    }

    #[test]
    fn a_terminal_shows_how_far_an_ordering_is() {
        let screen = Screen::default();
        screen.progress().counting("ordering a.mtx".to_owned())(199, 200);
        assert!(screen.text().contains("ordering a.mtx: 99 % ("));
    }

    #[test]
    fn nothing_is_shown_where_there_is_no_terminal() {
        let progress = Progress::on(ProgressDrawTarget::hidden());
        progress.counting("ordering a.mtx".to_owned())(1, 2);
        assert_eq!(progress.spinner.message(), "ordering a.mtx");
    }
}
