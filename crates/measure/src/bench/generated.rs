//! Matrices that are generated, by their names.

use std::fmt::{self, Display};

use girih::formats::{Csr, FormatError, Scalar};
use girih_generate::{Problem, block_sparse, two_four, uniform};

/// The weight of [`Problem::Blocks`], and the size of its blocks.
const WEIGHT: (usize, usize) = (18944, 3584);
const BLOCK: usize = 64;

/// The seed of matrices whose sizes are given.
const SEED: u64 = 1;

/// A matrix that is generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generated {
    /// One of fixed size.
    Problem(Problem),
    /// The same number of entries in each row, in columns drawn at random.
    Uniform {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// Entries of each row.
        per_row: usize,
    },
    /// Every entry.
    Dense {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// The weight of [`Problem::Blocks`], with a share of its blocks left out.
    Blocks {
        /// The share that is left out, in percent.
        percent: f64,
    },
    /// Two entries in every four columns.
    TwoFour {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
}

impl Generated {
    /// Reads the name of a generated matrix; `None` if it is no such name.
    ///
    /// # Errors
    /// A message, if the name has sizes that are wrong.
    pub fn parse(name: &str) -> Option<Result<Self, String>> {
        if let Ok(problem) = name.parse() {
            return Some(Ok(Self::Problem(problem)));
        }
        let (kind, sizes) = name.split_once(':')?;
        let numbers = || sizes.split('x').map(|size| size.parse().ok().filter(|&n: &usize| n > 0));
        let numbers = || numbers().collect::<Option<Vec<usize>>>();
        let wrong = |example: &str| Err(format!("{name:?} has no such sizes as {example}"));
        Some(match kind {
            "uniform" => match numbers().as_deref() {
                Some(&[rows, cols, per_row]) if per_row <= cols => {
                    Ok(Self::Uniform { rows, cols, per_row })
                }
                _ => wrong("uniform:2048x65536x16"),
            },
            "dense" => match numbers().as_deref() {
                Some(&[rows, cols]) => Ok(Self::Dense { rows, cols }),
                _ => wrong("dense:4096x4096"),
            },
            "blocks" => match sizes.parse() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Self::Blocks { percent }),
                _ => wrong("blocks:95"),
            },
            "two-four" => match numbers().as_deref() {
                Some(&[rows, cols]) => Ok(Self::TwoFour { rows, cols }),
                _ => wrong("two-four:4096x8192"),
            },
            _ => return None,
        })
    }

    /// All names, for messages.
    pub fn names() -> String {
        let fixed = Problem::ALL.map(Problem::name).join(", ");
        let sized =
            "uniform:ROWSxCOLSxPER_ROW, dense:ROWSxCOLS, blocks:PERCENT, two-four:ROWSxCOLS";
        format!("{fixed}, {sized}")
    }

    /// Generates the matrix.
    ///
    /// # Errors
    /// If memory runs out, or if there are more rows or columns than a matrix may have.
    pub fn generate<T: Scalar>(self) -> Result<Csr<T>, FormatError> {
        match self {
            Self::Problem(problem) => problem.generate(),
            Self::Uniform { rows, cols, per_row } => uniform(rows, cols, per_row, SEED),
            Self::Dense { rows, cols } => uniform(rows, cols, cols, SEED),
            Self::Blocks { percent } => {
                let (rows, cols) = WEIGHT;
                block_sparse(rows, cols, BLOCK, 1.0 - percent / 100.0, SEED)
            }
            Self::TwoFour { rows, cols } => two_four(rows, cols, SEED),
        }
    }
}

impl Display for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(problem) => problem.fmt(f),
            Self::Uniform { rows, cols, per_row } => write!(f, "uniform:{rows}x{cols}x{per_row}"),
            Self::Dense { rows, cols } => write!(f, "dense:{rows}x{cols}"),
            Self::Blocks { percent } => write!(f, "blocks:{percent}"),
            Self::TwoFour { rows, cols } => write!(f, "two-four:{rows}x{cols}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in
            ["rmat", "uniform:64x300x7", "dense:5x9", "blocks:95", "blocks:99.5", "two-four:6x16"]
        {
            let generated = Generated::parse(name).unwrap().unwrap();
            assert_eq!(generated.to_string(), name);
        }
        for name in ["a.mtx", "rmatt", "c:/a.mtx", ""] {
            assert_eq!(Generated::parse(name), None, "{name}");
        }
        for name in
            ["uniform:64x300", "uniform:2x3x4", "dense:0x9", "dense:", "blocks:101", "two-four:8"]
        {
            let message = Generated::parse(name).unwrap().unwrap_err();
            assert!(message.contains(name) && message.contains("such sizes as"), "{message}");
        }
    }

    #[test]
    fn matrices_are_as_they_are_called() {
        let of = |name: &str| {
            let a = Generated::parse(name).unwrap().unwrap().generate::<f32>().unwrap();
            (a.nrows(), a.ncols(), a.nnz())
        };
        assert_eq!(of("uniform:64x300x7"), (64, 300, 64 * 7));
        assert_eq!(of("dense:5x9"), (5, 9, 45));
        assert_eq!(of("two-four:6x16"), (6, 16, 48));
        let (rows, cols, nnz) = of("blocks:99");
        assert_eq!((rows, cols), WEIGHT);
        assert!(nnz % (BLOCK * BLOCK) == 0 && nnz < rows * cols / 50, "{nnz}");
    }
}
