//! A sweep as a file: what a benchmark measures, so that a record can name it and anybody can repeat it.

use std::fmt::Display;
use std::str::FromStr;

use girih::DType;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::request::{BenchBackend, FormatRequest, OrderRequest, ThreadCount};
use crate::MeasureError;

/// A sweep, as a TOML file in `bench/suites` defines it. Each value is written as on the command line.
///
/// Only the description is required. What a suite leaves out has the default of
/// [`BenchConfig`](super::BenchConfig).
///
/// ```
/// use girih_measure::bench::Suite;
///
/// let suite: Suite = r#"
///     description = "Windows beside CSR"
///     matrices = ["uniform", "blocks:95"]
///     formats = ["csr", "wcsr:16"]
///     n = [8, 128]
///     threads = [1, "all"]
/// "#
/// .parse()?;
/// assert_eq!((suite.matrices.len(), suite.formats.len(), suite.threads.len()), (2, 2, 2));
/// assert!("description = 'x'\nformats = ['coo']".parse::<Suite>().is_err());
/// # Ok::<(), girih_measure::MeasureError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// What the sweep is for, in a sentence.
    pub description: String,
    /// Matrix files and names of generated problems.
    #[serde(default)]
    pub matrices: Vec<String>,
    /// Formats.
    #[serde(default, deserialize_with = "parsed")]
    pub formats: Vec<FormatRequest>,
    /// Orders of the rows.
    #[serde(default, deserialize_with = "parsed")]
    pub orders: Vec<OrderRequest>,
    /// Columns of B, each at least 1.
    #[serde(default, deserialize_with = "positive")]
    pub n: Vec<usize>,
    /// Value types.
    #[serde(default, deserialize_with = "parsed")]
    pub dtypes: Vec<DType>,
    /// What multiplies.
    #[serde(default, deserialize_with = "parsed")]
    pub backends: Vec<BenchBackend>,
    /// Numbers of threads.
    #[serde(default, deserialize_with = "parsed")]
    pub threads: Vec<ThreadCount>,
    /// Seconds to spend on each case.
    #[serde(default)]
    pub seconds: Option<f64>,
}

impl FromStr for Suite {
    type Err = MeasureError;

    /// Reads a suite in TOML. An error names the line.
    fn from_str(text: &str) -> Result<Self, MeasureError> {
        let suite: Self =
            toml::from_str(text).map_err(|e| MeasureError::Request(format!("not a suite: {e}")))?;
        match suite.seconds {
            Some(seconds) if !(0.0..=3600.0).contains(&seconds) => {
                Err(MeasureError::Request(format!("seconds is {seconds}; it must be 0 to 3600")))
            }
            _ => Ok(suite),
        }
    }
}

/// The suite that a report is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SuiteReport {
    /// The name of its file, without folder and extension.
    pub name: String,
    /// Its description.
    pub description: String,
}

/// A value as it is written on the command line: as a text, or as a number where it is one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Number(u64),
    Text(String),
}

/// A list of values that are written as on the command line.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let words = Vec::<Word>::deserialize(from)?;
    let parse = |word| match word {
        Word::Number(number) => number.to_string().parse(),
        Word::Text(text) => text.parse(),
    };
    words.into_iter().map(parse).collect::<Result<_, T::Err>>().map_err(D::Error::custom)
}

fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<usize>, D::Error> {
    let numbers = Vec::<u32>::deserialize(from)?;
    if numbers.contains(&0) {
        return Err(D::Error::custom("n must be at least 1"));
    }
    Ok(numbers.into_iter().map(|n| n as usize).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn refused(text: &str) -> String {
        text.parse::<Suite>().unwrap_err().to_string()
    }

    #[test]
    fn values_are_read_as_on_the_command_line() {
        let text = "description = 'x'\nmatrices = ['a.mtx']\nformats = ['auto', 'bcsr:8x4']\n\
                    orders = ['rcm']\nn = [1, 32]\ndtypes = ['bf16']\nbackends = ['cuda', 'cublas']\n\
                    threads = [2, 'all']\nseconds = 0.1";
        let suite: Suite = text.parse().unwrap();
        assert_eq!(suite.formats, [FormatRequest::AUTO, "bcsr:8x4".parse().unwrap()]);
        assert_eq!(suite.orders, ["rcm".parse().unwrap()]);
        assert_eq!((suite.n, suite.dtypes), (vec![1, 32], vec![DType::Bf16]));
        assert_eq!(suite.backends, [BenchBackend::Cuda, BenchBackend::Cublas]);
        assert_eq!(suite.threads, [ThreadCount::Exactly(2), ThreadCount::All]);
        assert_eq!((suite.matrices, suite.seconds), (vec!["a.mtx".to_owned()], Some(0.1)));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = refused("description = 'x'\nn = [8]\nformats = ['coo']");
        assert!(wrong.contains("line 3") && wrong.contains("coo"), "{wrong}");
        let unknown = refused("description = 'x'\nwidths = [8]");
        assert!(unknown.contains("widths"), "{unknown}");
        for text in ["n = [8]", "description = 'x'\nn = [0]", "description = 'x'\nn = [-1]"] {
            refused(text);
        }
        for seconds in ["-1.0", "nan", "4000.0"] {
            let wrong = refused(&format!("description = 'x'\nseconds = {seconds}"));
            assert!(wrong.contains("seconds"), "{wrong}");
        }
        refused("description = 'x'\nbackends = ['gpu']");
        refused("description = 'x'\nthreads = [0]");
    }

    #[test]
    fn the_suites_of_this_repository_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/suites");
        let mut count = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let suite = fs::read_to_string(&path).unwrap().parse::<Suite>();
            let suite = suite.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert!(!suite.description.is_empty(), "{}", path.display());
            for name in suite.matrices {
                let known = super::super::Generated::parse(&name);
                assert!(known.is_some_and(|known| known.is_ok()), "{}: {name}", path.display());
            }
            count += 1;
        }
        assert!(count > 0, "bench/suites holds suites");
    }
}
