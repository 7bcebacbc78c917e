//! The values of flags, and how they are read.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use girih::formats::{DType, FormatKind, ScalesPer};
use girih::planner::{Precision, Reorder};

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
                Err(error) => Err(format!("{error}; or none, auto, or a file named .npy")),
            },
        }
    }
}

/// A number of bytes, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<u64>);

pub(crate) fn dtype_parser() -> impl TypedValueParser<Value = DType> {
    PossibleValuesParser::new(["f32", "f64", "f16", "bf16", "c32", "c64"])
        .try_map(|s| s.parse::<DType>())
}

pub(crate) fn precision_parser() -> impl TypedValueParser<Value = Precision> {
    PossibleValuesParser::new(Precision::ALL.map(Precision::name))
        .try_map(|s| s.parse::<Precision>())
}

pub(crate) fn scales_parser() -> impl TypedValueParser<Value = ScalesPer> {
    PossibleValuesParser::new(ScalesPer::ALL.map(ScalesPer::name)).map(|s| {
        let named = ScalesPer::ALL.into_iter().find(|per| per.name() == s);
        named.unwrap_or_else(|| unreachable!("it is one of the possible values"))
    })
}

pub(crate) fn format_parser() -> impl TypedValueParser<Value = FormatArg> {
    let names = std::iter::once("auto").chain(FormatKind::ALL.map(FormatKind::name));
    PossibleValuesParser::new(names).try_map(|s| match s.as_str() {
        "auto" => Ok(FormatArg::Auto),
        name => name.parse().map(FormatArg::Kind),
    })
}

/// Reads a number of seconds, at most an hour.
pub(crate) fn parse_seconds(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|seconds| (0.0..=3600.0).contains(seconds))
        .ok_or_else(|| format!("{s:?} is not a number of seconds from 0 to 3600"))
}

/// Reads a number of bytes, or `none`.
pub(crate) fn parse_limit(s: &str) -> Result<Limit, String> {
    if s == "none" { Ok(Limit(None)) } else { parse_bytes(s).map(|n| Limit(Some(n))) }
}

/// Reads a size: `1073741824`, `512M`, `4GiB`, `1.5 GB` (all prefixes binary), case-insensitive.
fn parse_bytes(s: &str) -> Result<u64, String> {
    let expected =
        || format!("{s:?} is not a size; write for example 512MiB, 4GiB or a byte count");
    let split = s.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(s.len());
    let (number, unit) = s.split_at(split);
    let unit = unit.trim().to_ascii_lowercase();
    let exponent = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(expected()),
    };
    let scale = 1u64 << (10 * exponent);
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale).ok_or_else(expected);
    }
    let value = number.parse::<f64>().map_err(|_| expected())? * scale as f64;
    if value.is_finite() && value < u64::MAX as f64 { Ok(value as u64) } else { Err(expected()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_every_spelling() {
        for (text, n) in [
            ("17", 17),
            ("512M", 512 << 20),
            ("4GiB", 4 << 30),
            ("4 gib", 4 << 30),
            ("1.5kb", 1536),
            ("2TB", 2 << 40),
        ] {
            assert_eq!(parse_bytes(text), Ok(n), "{text}");
        }
        for text in ["", "GiB", "-1", "4 parsecs", "99999999999999999999", "99999999999T"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
