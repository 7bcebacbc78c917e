//! What standard error is told while a command runs.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use girih::formats::io;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
        let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            spinner.set_style(style);
        }
        Self { spinner }
    }

    /// Names the stage that begins.
    pub(crate) fn stage(&self, what: impl Into<String>) {
        self.spinner.reset_elapsed();
        self.spinner.set_message(what.into());
        if !self.spinner.is_hidden() {
            self.spinner.enable_steady_tick(Duration::from_millis(100));
        }
    }

    /// Names a stage that is timed: the spinner stands still until the next one, since turning it
    /// takes processor time.
    pub(crate) fn still(&self, what: impl Into<String>) {
        self.spinner.disable_steady_tick();
        self.spinner.reset_elapsed();
        self.spinner.set_message(what.into());
    }

    /// Names a stage of reading, and gives what is to be called with the bytes read so far and
    /// their total; `None` if nobody watches.
    pub(crate) fn reading(&self, what: String) -> Option<io::Progress> {
        self.stage(what.as_str());
        if self.spinner.is_hidden() {
            return None;
        }
        let spinner = self.spinner.clone();
        Some(Arc::new(move |done, total| {
            if let Some(total) = total.filter(|&total| total > 0) {
                let percent = 100.0 * done as f64 / total as f64;
                spinner.set_message(format!("{what}: {percent:.0} %"));
            }
        }))
    }

    /// Something the user should know, and a script may ignore.
    pub(crate) fn note(&self, what: &str) {
        self.spinner.suspend(|| {
            // Nobody is left to tell if standard error is closed.
            let _ = writeln!(std::io::stderr(), "note: {what}");
        });
    }

    /// Removes the spinner: whatever comes next is the result.
    pub(crate) fn done(&self) {
        self.spinner.finish_and_clear();
    }
}
