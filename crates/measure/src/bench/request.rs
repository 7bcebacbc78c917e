//! What a case is asked to multiply: a format, in an order of the rows.

use std::fmt::{self, Display};
use std::str::FromStr;

use girih::formats::{DType, FormatKind};
use girih::planner::{FormatChoice, Reorder};

use crate::args::{Block, FormatArg, TileArgs, parse_block};
use crate::error::CliError;

/// A format in an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) format: FormatAsked,
    pub(super) order: OrderAsked,
}

impl Asked {
    /// CSR as the matrix comes.
    pub(super) const CSR: Self = Self { format: FormatAsked::CSR, order: OrderAsked::NONE };
}

/// The format, and the order if it is not the matrix's own.
impl Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, order } = self;
        match order.0 {
            Reorder::None => write!(f, "{format}"),
            _ => write!(f, "{format}, {order}"),
        }
    }
}

/// An order of the rows that needs no file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OrderAsked(pub(super) Reorder);

impl OrderAsked {
    /// The order the matrix has.
    pub(super) const NONE: Self = Self(Reorder::None);
}

impl FromStr for OrderAsked {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "none" => Ok(Self::NONE),
            "auto" => Ok(Self(Reorder::Auto)),
            _ if s.ends_with(".npy") => Err(format!(
                "{s} is of one matrix; give girih plan such a file, and girih spmm the plan"
            )),
            _ => match s.parse() {
                Ok(method) => Ok(Self(Reorder::By(method))),
                Err(error) => Err(format!("{error}; also none and auto")),
            },
        }
    }
}

/// As it is written on the command line.
impl Display for OrderAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reorder::By(method) => write!(f, "{method}"),
            Reorder::Auto => f.write_str("auto"),
            Reorder::None | Reorder::Given => f.write_str("none"),
        }
    }
}

/// A format, and the sizes of its tiles if they were given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FormatAsked {
    format: FormatArg,
    block: Option<Block>,
    window: Option<u32>,
}

impl FromStr for FormatAsked {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (name, size) = s.split_once(':').map_or((s, None), |(name, size)| (name, Some(size)));
        let (mut block, mut window) = (None, None);
        let format = match name {
            "auto" => FormatArg::Auto,
            name => FormatArg::Kind(name.parse::<FormatKind>().map_err(|e| {
                // Its own list does not have what only commands know.
                format!("{e}; or auto")
            })?),
        };
        match (format, size) {
            (_, None) => {}
            (FormatArg::Kind(FormatKind::Bcsr | FormatKind::BlockedEll), Some(size)) => {
                block = Some(parse_block(size)?);
            }
            (FormatArg::Kind(FormatKind::Wcsr), Some(size)) => {
                let rows = size.parse().ok().filter(|&rows: &u32| rows > 0);
                window = Some(rows.ok_or_else(|| {
                    format!("{size:?} is not a number of rows; write for example wcsr:16")
                })?);
            }
            (_, Some(size)) => return Err(format!("{name} takes no size, and {size:?} was given")),
        }
        Ok(Self { format, block, window })
    }
}

impl FormatAsked {
    pub(super) const CSR: Self = Self::plain(FormatArg::Kind(FormatKind::Csr));
    pub(super) const AUTO: Self = Self::plain(FormatArg::Auto);

    const fn plain(format: FormatArg) -> Self {
        Self { format, block: None, window: None }
    }

    /// What the planner is asked for.
    ///
    /// # Errors
    /// If a size does not suit the format.
    pub(super) fn choice(self, dtype: DType) -> Result<FormatChoice, CliError> {
        let Self { format, block, window } = self;
        match format {
            FormatArg::Auto => Ok(FormatChoice::Auto),
            FormatArg::Kind(kind) => {
                TileArgs { dtype: Some(dtype), block, window }.spec(kind).map(FormatChoice::Fixed)
            }
        }
    }
}

/// As it is written on the command line.
impl Display for FormatAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format {
            FormatArg::Auto => f.write_str("auto")?,
            FormatArg::Kind(kind) => f.write_str(kind.name())?,
        }
        match (self.block, self.window) {
            (Some(Block { rows, cols }), _) => write!(f, ":{rows}x{cols}"),
            (None, Some(rows)) => write!(f, ":{rows}"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use girih::formats::FormatSpec;

    #[test]
    fn formats_are_read_with_their_sizes() {
        let spec = |s: &str, dtype| s.parse::<FormatAsked>().unwrap().choice(dtype).unwrap();
        let fixed = FormatChoice::Fixed;
        for (text, expected) in [
            ("auto", FormatChoice::Auto),
            ("csr", fixed(FormatSpec::Csr)),
            ("bcsr", fixed(FormatSpec::Bcsr { block_rows: 64, block_cols: 64 })),
            ("bcsr:16x8", fixed(FormatSpec::Bcsr { block_rows: 16, block_cols: 8 })),
            ("wcsr:8", fixed(FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 })),
            ("blocked-ell:32", fixed(FormatSpec::BlockedEll { block_size: 32 })),
        ] {
            assert_eq!(spec(text, DType::F32), expected, "{text}");
        }
        let half = fixed(FormatSpec::Wcsr { window_rows: 8, pad_cols: 16 });
        assert_eq!(spec("wcsr:8", DType::F16), half);
        for text in ["auto", "csr", "bcsr:16x8", "wcsr:8", "blocked-ell:32x32", "two-four"] {
            assert_eq!(text.parse::<FormatAsked>().unwrap().to_string(), text);
        }
        for text in ["", "coo", "csr:8", "auto:8", "wcsr:0", "wcsr:8x8", "bcsr:x", "bcsr:"] {
            assert!(text.parse::<FormatAsked>().is_err(), "{text}");
        }
        let ell = "blocked-ell:8x4".parse::<FormatAsked>().unwrap();
        assert!(ell.choice(DType::F32).is_err());
    }

    #[test]
    fn orders_are_read_as_they_are_written() {
        for text in ["none", "auto", "rcm", "window", "window:16", "random:7"] {
            assert_eq!(text.parse::<OrderAsked>().unwrap().to_string(), text);
        }
        for text in ["", "natural", "order.npy"] {
            assert!(text.parse::<OrderAsked>().is_err(), "{text}");
        }
        let order = "rcm".parse().unwrap();
        let [plain, rcm] = [OrderAsked::NONE, order].map(|order| Asked { order, ..Asked::CSR });
        assert_eq!([plain.to_string(), rcm.to_string()], ["csr", "csr, rcm"]);
    }
}
