//! Who hears of progress.

use girih::planner::progress::Progress;

/// Hears what a measurement is doing.
pub trait Observer {
    /// A stage begins.
    fn stage(&self, what: &str);

    /// A stage begins in which products are timed. Until the next stage the observer should take no
    /// processor time.
    fn timed_stage(&self, what: &str);

    /// A stage of planning begins. The planner calls the function that is returned.
    fn planning(&self, what: &str) -> Box<dyn Fn(Progress) + Send + Sync>;
}
