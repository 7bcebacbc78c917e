//! What can go wrong with a kernel, as data.
//!
//! An instruction that finds something wrong returns a `Stop`: a [`Problem`] and the lane that
//! met it. The scheduler knows where the instruction stands and makes a [`Report`] of it; a launch
//! that fails returns the [`Fault`] with every report made at the time.

mod place;
mod problem;

pub use place::{Place, SourceLine, ThreadName};
pub use problem::{AccessKind, Problem, Waiting};

use std::fmt;

/// A problem, and the lane of the executing warp that met it where one lane did.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// What is wrong.
    pub(crate) problem: Problem,
    /// The lane, 0 to 31, or `None` where it is the warp's affair.
    pub(crate) lane: Option<u32>,
}

/// The error of executing an instruction: boxed, so that success stays small.
pub(crate) type Stop = Box<Stopped>;

impl Problem {
    /// This problem, met by one lane.
    pub(crate) fn at(self, lane: u32) -> Stop {
        Box::new(Stopped { problem: self, lane: Some(lane) })
    }

    /// This problem, met by the warp as a whole.
    pub(crate) fn of_warp(self) -> Stop {
        Box::new(Stopped { problem: self, lane: None })
    }
}

/// A problem and where it was met.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}\n  at {place}")]
pub struct Report {
    /// What is wrong.
    pub problem: Problem,
    /// Which instruction of which thread.
    pub place: Place,
}

/// Why a launch failed: the first report, in the order of clusters, CTAs, warps and steps, and the
/// others found before the machine stopped.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The first.
    pub first: Box<Report>,
    /// The others.
    pub others: Vec<Report>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        match self.others.len() {
            0 => Ok(()),
            1 => write!(f, "\n(and one more report)"),
            n => write!(f, "\n(and {n} more reports)"),
        }
    }
}

impl std::error::Error for Fault {}
