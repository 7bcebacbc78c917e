//! Orderings by name.

use std::fmt::{self, Display};
use std::str::FromStr;

use girih_formats::{CsrPattern, FormatError};
use serde::{Deserialize, Serialize};

use crate::error::ReorderError;
use crate::rcm::{rcm, rcm_rows_cols};
use crate::reordering::Reordering;
use crate::simple::{self, DegreeOrder};
use crate::window::{WindowOptions, window_observed};

/// An ordering by name: what computes a [`Reordering`] from a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Method {
    /// Reverse Cuthill–McKee: [`rcm()`](crate::rcm()), and [`rcm_rows_cols`] for rectangular matrices.
    Rcm,
    /// Rows that share columns in one window: [`window`](crate::window()).
    Window {
        /// Rows of a window; `None` for those of the format that the order is for, or else
        /// [`WINDOW_ROWS`].
        window_rows: Option<u32>,
    },
    /// Long rows first: [`simple::by_degree`].
    Degree,
    /// Last row first: [`simple::reverse`].
    Reverse,
    /// Any order: [`simple::random`].
    Random {
        /// Of the generator.
        seed: u64,
    },
}

/// Rows of a window where nothing else says how many: those of Hopper's tensor cores.
pub const WINDOW_ROWS: usize = 64;

impl Method {
    /// Computes the ordering. Cost and determinism are the method's own.
    ///
    /// # Errors
    /// If the matrix has more rows and columns than the method can number.
    pub fn order(self, pattern: CsrPattern<'_>) -> Result<Reordering, ReorderError> {
        self.order_observed(pattern, &|_, _| ())
    }

    /// Like [`order`](Self::order), with an observer that receives how many parts are done, and of how
    /// many: of windows, as [`window_observed`](crate::window_observed) tells it; the other methods tell
    /// nothing. It is called on the calling thread only.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub fn order_observed(
        self,
        pattern: CsrPattern<'_>,
        observer: &dyn Fn(u64, u64),
    ) -> Result<Reordering, ReorderError> {
        let (nrows, ncols) = (pattern.nrows(), pattern.ncols());
        let rows = match self {
            Self::Rcm if nrows != ncols => {
                let (rows, cols) = rcm_rows_cols(pattern)?;
                return Ok(Reordering::new(&rows, Some(cols)));
            }
            Self::Rcm => rcm(pattern)?,
            Self::Window { window_rows } => {
                let window_rows = window_rows.map_or(WINDOW_ROWS, |rows| rows as usize);
                let options = WindowOptions::new(window_rows);
                let found = window_observed(pattern, &options, observer)?;
                return Ok(Reordering::of_layout(found.layout, None));
            }
            Self::Degree => simple::by_degree(pattern, DegreeOrder::Descending),
            Self::Reverse => simple::reverse(nrows)?,
            Self::Random { seed } => simple::random(nrows, seed)?,
        };
        let cols = (nrows == ncols).then(|| rows.clone());
        Ok(Reordering::new(&rows, cols))
    }
}

impl Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rcm => f.pad("rcm"),
            Self::Window { window_rows: None } => f.pad("window"),
            Self::Window { window_rows: Some(rows) } => f.pad(&format!("window:{rows}")),
            Self::Degree => f.pad("degree"),
            Self::Reverse => f.pad("reverse"),
            Self::Random { seed } => f.pad(&format!("random:{seed}")),
        }
    }
}

impl FromStr for Method {
    type Err = FormatError;

    fn from_str(s: &str) -> Result<Self, FormatError> {
        let seed = |seed: &str| Some(Self::Random { seed: seed.parse().ok()? });
        let rows = |rows: &str| rows.parse().ok().filter(|&rows| rows > 0);
        let method = match s {
            "rcm" => Some(Self::Rcm),
            "window" => Some(Self::Window { window_rows: None }),
            "degree" => Some(Self::Degree),
            "reverse" => Some(Self::Reverse),
            "random" => Some(Self::Random { seed: 0 }),
            other => match other.split_once(':') {
                Some(("random", value)) => seed(value),
                Some(("window", value)) => {
                    rows(value).map(|rows| Self::Window { window_rows: Some(rows) })
                }
                _ => None,
            },
        };
        method.ok_or_else(|| FormatError::UnknownName {
            what: "ordering",
            found: s.to_owned(),
            expected: "rcm, window, window:ROWS, degree, reverse, random or random:SEED",
        })
    }
}
