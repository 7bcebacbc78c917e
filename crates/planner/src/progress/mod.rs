//! What a planner is doing, for those who wait for it.

mod observed;

use std::fmt::{self, Display};

use girih_reorder::Method;

pub use observed::Observed;

/// What a planner is doing: `Display` says it in plain words.
///
/// The given, requested or natural order of the rows comes first: it is computed, and what can be
/// made of it is counted, priced and replayed. A search for a better order then bounds, samples, and goes
/// through the same again for each promising one, and for the one that is taken. What was chosen is laid
/// out last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Bounding what any order of the rows can reach.
    Bound,
    /// Growing a few windows, to see what orders are likely to reach.
    Sample,
    /// Computing an ordering of the rows.
    Order(Method),
    /// Grouping rows and columns into blocks.
    Blocks {
        /// Rows of a block.
        rows: usize,
        /// Columns of a block.
        cols: usize,
    },
    /// Copying the matrix with its rows or columns in another order.
    Move,
    /// Counting what windows of rows share.
    Statistics,
    /// Counting and pricing formats.
    Formats,
    /// Cutting schedules for the formats that may win, and replaying them.
    Schedules,
    /// Pricing formats whose columns are in an order too, for which rows of B are permuted.
    BPermutation,
    /// Laying the matrix out in the format that was chosen.
    Tiles,
    /// Finding the slot of every value, where the plan is to keep that.
    SlotMap,
    /// Cutting the work into tasks.
    Tasks,
}

impl Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bound => "bounding what orders can reach",
            Self::Sample => "growing sample windows",
            Self::Order(Method::Rcm) => "ordering rows by RCM",
            Self::Order(Method::Window { window_rows: Some(rows) }) => {
                return write!(f, "ordering windows of {rows} rows");
            }
            Self::Order(Method::Window { window_rows: None }) => "ordering windows",
            Self::Order(method) => return write!(f, "ordering rows by {method}"),
            Self::Blocks { rows, cols } => return write!(f, "ordering blocks of {rows}×{cols}"),
            Self::Move => "moving rows and columns",
            Self::Statistics => "counting the pattern",
            Self::Formats => "pricing formats",
            Self::Schedules => "replaying schedules",
            Self::BPermutation => "pricing a permutation of B",
            Self::Tiles => "laying out tiles",
            Self::SlotMap => "mapping values to tiles",
            Self::Tasks => "cutting tasks",
        })
    }
}

/// A count out of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// Those that are done; never more than `total`.
    pub done: u64,
    /// All there are; at least 1.
    pub total: u64,
}

impl Share {
    /// Percent that are done, rounded down: 100 only once all are.
    ///
    /// ```
    /// use girih_planner::progress::Share;
    ///
    /// assert_eq!(Share { done: 199, total: 200 }.percent(), 99);
    /// assert_eq!(Share { done: 200, total: 200 }.percent(), 100);
    /// ```
    #[must_use]
    pub fn percent(self) -> u64 {
        (u128::from(self.done) * 100 / u128::from(self.total.max(1))) as u64
    }
}

/// How far a planner is.
///
/// `Display` gives one line for people: `pricing formats, 40 % (order 2 of 4)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Progress {
    /// What it is doing.
    pub stage: Stage,
    /// How much of the stage is done, where that is known: formats priced, schedules replayed, sweeps over
    /// windows. It never falls within a stage and ends at its total, unless planning fails. A share is of
    /// things, not of time.
    pub share: Option<Share>,
    /// Orders of the rows that are done with, of those that are considered, while one of several is
    /// computed or priced. Hopeless orders are skipped.
    pub order: Option<Share>,
}

impl Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stage)?;
        if let Some(share) = self.share {
            write!(f, ", {} %", share.percent())?;
        }
        if let Some(Share { done, total }) = self.order {
            write!(f, " (order {} of {total})", done + 1)?;
        }
        Ok(())
    }
}

/// Where a planner reports its progress.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    observer: &'a dyn Fn(Progress),
    order: Option<Share>,
}

impl<'a> Watch<'a> {
    /// This one.
    pub(crate) fn by(observer: &'a dyn Fn(Progress)) -> Self {
        Self { observer, order: None }
    }

    /// The same while the order after `done` of `total` is computed and priced.
    pub(crate) fn with_order(self, done: usize, total: usize) -> Self {
        Self { order: share(done as u64, total as u64), ..self }
    }

    /// A stage begins, of which nobody knows how long it is.
    pub(crate) fn stage(self, stage: Stage) {
        (self.observer)(Progress { stage, share: None, order: self.order });
    }

    /// Of a stage, `done` of `total` things are done.
    pub(crate) fn share(self, stage: Stage, done: u64, total: u64) {
        (self.observer)(Progress { stage, share: share(done, total), order: self.order });
    }

    /// Reports each item before it is done, and all of them at the end.
    pub(crate) fn each<I: ExactSizeIterator>(
        self,
        stage: Stage,
        things: I,
    ) -> impl Iterator<Item = I::Item> {
        let total = things.len() as u64;
        let end = std::iter::once_with(move || self.share(stage, total, total));
        let before = things.enumerate().map(move |(done, thing)| {
            self.share(stage, done as u64, total);
            Some(thing)
        });
        before.chain(end.map(|()| None)).flatten()
    }
}

impl Watch<'static> {
    /// Nobody.
    pub(crate) fn nobody() -> Self {
        Self::by(&|_| ())
    }
}

/// `None` of nothing.
fn share(done: u64, total: u64) -> Option<Share> {
    (total > 0).then_some(Share { done: done.min(total), total })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_line_says_what_is_known() {
        let share = Some(Share { done: 2, total: 5 });
        let order = Some(Share { done: 1, total: 4 });
        let line = |stage, share, order| Progress { stage, share, order }.to_string();
        assert_eq!(line(Stage::Tiles, None, None), "laying out tiles");
        assert_eq!(line(Stage::Formats, share, None), "pricing formats, 40 %");
        assert_eq!(line(Stage::Formats, share, order), "pricing formats, 40 % (order 2 of 4)");
        let window = Stage::Order(Method::Window { window_rows: Some(16) });
        assert_eq!(line(window, None, order), "ordering windows of 16 rows (order 2 of 4)");
        let random = Stage::Order(Method::Random { seed: 3 });
        assert_eq!(line(random, None, None), "ordering rows by random:3");
        let blocks = Stage::Blocks { rows: 16, cols: 8 };
        assert_eq!(line(blocks, None, None), "ordering blocks of 16×8");
    }

    #[test]
    fn each_thing_is_reported_before_it_is_done() {
        let heard = RefCell::new(Vec::new());
        let observer = |progress: Progress| heard.borrow_mut().push(progress.share);
        let watch = Watch::by(&observer);
        let done: Vec<char> =
            watch.each(Stage::Formats, "ab".chars().collect::<Vec<_>>().into_iter()).collect();
        assert_eq!(done, ['a', 'b']);
        let share = |done| Some(Share { done, total: 2 });
        assert_eq!(heard.take(), [share(0), share(1), share(2)]);
        assert_eq!(watch.each(Stage::Formats, [0; 0].into_iter()).count(), 0);
        assert_eq!(heard.take(), [None]);
    }
}
