//! Orderings that were priced, for the explanation.

use std::fmt::{self, Display};

use girih_formats::FormatSpec;
use serde::{Deserialize, Serialize};

use crate::explanation::{Outcome, Seconds};

/// An order of the rows that was considered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Considered {
    /// Its name, `natural` for the order of the matrix.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The fastest format in this order; `None` if the ordering was not computed.
    pub spec: Option<FormatSpec>,
    /// Whether columns are in its order too, so that rows of B are permuted before a product.
    pub permutes_b: bool,
    /// Rows of B that windows of 16 rows fetch in this order.
    pub packed_cols: u64,
    /// Seconds that a product is estimated to take.
    pub seconds: f64,
}

impl Considered {
    /// The line above a list of these.
    pub(crate) fn header(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [order, time, format, rows] = ["order", "time", "format", "rows of B"];
        writeln!(f, "  {order:<20}{time:>12}  {format:<20}{rows:>12}")
    }
}

impl Display for Considered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.outcome == Outcome::Chosen { '*' } else { ' ' };
        write!(f, "{mark} {:<20}", self.name)?;
        match self.spec {
            Some(spec) => {
                let (time, spec) = (Seconds(self.seconds).to_string(), spec.to_string());
                write!(f, "{time:>12}  {spec:<20}{:>12}", self.packed_cols)?;
            }
            None => write!(f, "{:>12}  {:<20}{:>12}", "-", "-", "-")?,
        }
        if self.permutes_b {
            write!(f, "  permutes B")?;
        }
        if let Outcome::Rejected { reason } = &self.outcome {
            write!(f, "  {reason}")?;
        }
        Ok(())
    }
}
