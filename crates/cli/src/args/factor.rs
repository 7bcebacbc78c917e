//! α and β: real or complex numbers.

use std::error::Error;
use std::fmt::{self, Display};
use std::str::FromStr;

use girih::Complex;
use girih::formats::DType;
use serde::Serialize;

/// A factor of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factor(pub(crate) Complex<f64>);

/// A text that is no factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoFactor(String);

/// A factor in JSON: a number, or both its parts where values are complex.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum FactorReport {
    Real(f64),
    Complex([f64; 2]),
}

impl Factor {
    pub(crate) fn is_zero(self) -> bool {
        self.0 == Complex::ZERO
    }

    /// What is reported of it beside products of a value type.
    pub(crate) fn report(self, dtype: DType) -> FactorReport {
        match dtype.is_complex() {
            true => FactorReport::Complex([self.0.re, self.0.im]),
            false => FactorReport::Real(self.0.re),
        }
    }
}

impl FromStr for Factor {
    type Err = NoFactor;

    /// Reads `-2.5`, `1+2i`, `-0.5i` and Python's `1+2j`, also as `(1+2j)`.
    fn from_str(text: &str) -> Result<Self, NoFactor> {
        let inner = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
        let number = inner.unwrap_or(text).trim().parse::<Complex<f64>>();
        number.map(Self).map_err(|_| NoFactor(text.to_owned()))
    }
}

impl Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = self;
        match (number.re == 0.0, number.im == 0.0) {
            (_, true) => number.re.fmt(f),
            (true, false) => write!(f, "{}i", number.im),
            (false, false) => number.fmt(f),
        }
    }
}

impl Display for NoFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            f,
            "{text:?} is no number; write a real one such as -2.5, or a complex one such as 1+2i, -0.5i \
             or 1+2j"
        )
    }
}

impl Error for NoFactor {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_and_python_write_numbers_that_are_read() {
        for (text, re, im) in [
            ("1", 1.0, 0.0),
            ("-2.5e-3", -2.5e-3, 0.0),
            ("1+2i", 1.0, 2.0),
            ("1+2j", 1.0, 2.0),
            ("(1-2j)", 1.0, -2.0),
            ("-0.5i", 0.0, -0.5),
            ("-1e-3-2e+4i", -1e-3, -2e4),
            ("i", 0.0, 1.0),
            ("1-i", 1.0, -1.0),
            (" 3 + 4i ", 3.0, 4.0),
        ] {
            assert_eq!(text.parse(), Ok(Factor(Complex::new(re, im))), "{text}");
        }
        for wrong in ["", "x", "1+2", "1i2", "1+2i+3", "2i-3i", "(1+2i", "1,5", "--1"] {
            let said = wrong.parse::<Factor>().unwrap_err().to_string();
            assert!(said.contains("1+2i") && said.contains("-2.5"), "{said}");
        }
    }

    #[test]
    fn factors_are_shown_as_they_are_read() {
        for shown in ["-2.5", "1+2i", "0.5-1.5i", "-0.5i"] {
            assert_eq!(shown.parse::<Factor>().unwrap().to_string(), shown);
        }
        let factor = Factor(Complex::new(1.0, 2.0));
        let json = |dtype| serde_json::to_string(&factor.report(dtype)).unwrap();
        assert_eq!((json(DType::C32).as_str(), json(DType::F64).as_str()), ("[1.0,2.0]", "1.0"));
    }
}
