//! What options hold.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use girih::formats::{DType, FormatKind};
use girih::planner::Reorder;

use crate::units;

/// A format, or the planner's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatArg {
    Auto,
    Kind(FormatKind),
}

/// An order of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReorderArg {
    Plan(Reorder),
    File(PathBuf),
}

impl FromStr for ReorderArg {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "none" => Ok(Self::Plan(Reorder::None)),
            "auto" => Ok(Self::Plan(Reorder::Auto)),
            _ if s.ends_with(".npy") => Ok(Self::File(s.into())),
            _ => match s.parse() {
                Ok(method) => Ok(Self::Plan(Reorder::By(method))),
                Err(error) => Err(format!("{error}; also none, auto, or a file named .npy")),
            },
        }
    }
}

/// Rows and columns of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

/// A number of bytes, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<u64>);

pub(crate) fn dtype_parser() -> impl TypedValueParser<Value = DType> {
    PossibleValuesParser::new(["f32", "f64", "f16", "bf16"]).try_map(|s| s.parse::<DType>())
}

pub(crate) fn format_parser() -> impl TypedValueParser<Value = FormatArg> {
    let names = std::iter::once("auto").chain(FormatKind::ALL.map(FormatKind::name));
    PossibleValuesParser::new(names).try_map(|s| match s.as_str() {
        "auto" => Ok(FormatArg::Auto),
        name => name.parse().map(FormatArg::Kind),
    })
}

pub(crate) fn parse_block(s: &str) -> Result<Block, String> {
    let expected =
        || format!("{s:?} is not a block; write ROWSxCOLS, for example 64x64, or one number");
    let side = |text: &str| {
        text.parse::<u32>().ok().filter(|&n| n > 0).map(|n| n as usize).ok_or_else(expected)
    };
    match s.split_once(['x', 'X', '×']) {
        Some((rows, cols)) => Ok(Block { rows: side(rows)?, cols: side(cols)? }),
        None => side(s).map(|n| Block { rows: n, cols: n }),
    }
}

/// A number of seconds that something may take.
pub(crate) fn parse_seconds(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|seconds| (0.0..=3600.0).contains(seconds))
        .ok_or_else(|| format!("{s:?} is not a number of seconds from 0 to 3600"))
}

pub(crate) fn parse_limit(s: &str) -> Result<Limit, String> {
    if s == "none" { Ok(Limit(None)) } else { units::parse_bytes(s).map(|n| Limit(Some(n))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read() {
        assert_eq!(parse_block("64x32"), Ok(Block { rows: 64, cols: 32 }));
        assert_eq!(parse_block("16"), Ok(Block { rows: 16, cols: 16 }));
        for text in ["", "x", "0x4", "4x0", "4x4x4", "-4", "4294967296"] {
            assert!(parse_block(text).is_err(), "{text}");
        }
    }
}
