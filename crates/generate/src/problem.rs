//! Named problems that benchmarks share.

use std::fmt::{self, Display};
use std::str::FromStr;

use super::{block_sparse, fem_3d, laplacian_5pt, rmat, uniform};
use girih_formats::{Csr, FormatError, Scalar};

/// A generated matrix of fixed size and seed, one for each frequent class in SpMM: figures of
/// different programs are about the same matrix when they are about the same name.
///
/// ```
/// use girih_generate::Problem;
///
/// let a = "blocks".parse::<Problem>()?.generate::<f32>()?;
/// assert_eq!((a.nrows(), a.ncols()), (18944, 3584));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// 65536², 16 entries per row, no locality.
    Uniform,
    /// A graph of 65536 vertices with hubs, 16 edges per vertex drawn.
    Rmat,
    /// Finite elements with three unknowns per node on a grid of 32×32×33.
    Fem,
    /// A weight of 18944×3584, of whose 64×64 blocks a tenth is kept.
    Blocks,
    /// The five-point stencil on 1000×1000 points, in their natural order.
    Laplacian,
}

impl Problem {
    /// Every problem.
    pub const ALL: [Self; 5] =
        [Self::Uniform, Self::Rmat, Self::Fem, Self::Blocks, Self::Laplacian];

    /// Its name: `uniform`, `rmat`, `fem`, `blocks` or `laplacian`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Rmat => "rmat",
            Self::Fem => "fem",
            Self::Blocks => "blocks",
            Self::Laplacian => "laplacian",
        }
    }

    /// Generates the matrix: one to seven million entries.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn generate<T: Scalar>(self) -> Result<Csr<T>, FormatError> {
        match self {
            Self::Uniform => uniform(1 << 16, 1 << 16, 16, 1),
            Self::Rmat => rmat(16, 16, 1),
            Self::Fem => fem_3d(32, 32, 33, 3, 1),
            Self::Blocks => block_sparse(18944, 3584, 64, 0.1, 1),
            Self::Laplacian => laplacian_5pt(1000, 1000),
        }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Problem {
    type Err = FormatError;

    fn from_str(s: &str) -> Result<Self, FormatError> {
        Self::ALL.into_iter().find(|problem| problem.name() == s).ok_or_else(|| {
            FormatError::UnknownName {
                what: "problem",
                found: s.to_owned(),
                expected: "uniform, rmat, fem, blocks or laplacian",
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for problem in Problem::ALL {
            assert_eq!(problem.to_string().parse(), Ok(problem));
        }
        let error = "stencil".parse::<Problem>().unwrap_err().to_string();
        assert!(Problem::ALL.iter().all(|problem| error.contains(problem.name())), "{error}");
    }
}
