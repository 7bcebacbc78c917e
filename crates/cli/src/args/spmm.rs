//! The flags of `girih spmm`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use girih::formats::DType;

use super::{Factor, Json, PlannerArgs};

/// Compute C = α·A·B + β·C, timed, and verified on request
///
/// A is a matrix, planned on the fly, or a plan made by `girih plan`. A and B are rounded to the value
/// type of the plan; values that overflow, vanish or become subnormal there are counted and reported. C
/// has its accumulation type: f64 for f64, f32 for other real types, and complex types themselves.
/// Where that is f32, --c-dtype rounds C to 16 bits as it is stored.
#[derive(Debug, Args)]
pub(crate) struct SpmmArgs {
    /// Matrix or plan file; - is standard input
    #[arg(value_name = "A|PLAN")]
    pub(crate) source: PathBuf,
    #[command(flatten)]
    pub(crate) rhs: Rhs,
    /// Seed of --random
    #[arg(long, default_value_t = 0, conflicts_with = "rhs")]
    pub(crate) seed: u64,
    /// Write C, row-major
    #[arg(short, long, value_name = "C.npy")]
    pub(crate) output: Option<PathBuf>,
    /// Value type of C: f16 or bf16 where sums are of f32 [default: that of sums]. NumPy has no bf16, so -o cannot
    /// write that
    #[arg(long, value_name = "DTYPE")]
    pub(crate) c_dtype: Option<DType>,
    /// Factor of A·B: a real number, or of complex values also one such as 1+2i or -0.5i (Python's j will do)
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    pub(crate) alpha: Factor,
    /// Factor of the old C, which is added, written like alpha. Anything but 0 needs --c
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    pub(crate) beta: Factor,
    /// C before the product: two-dimensional, f16, f32 or f64, C or Fortran order
    #[arg(long, value_name = "C0.npy")]
    pub(crate) c: Option<PathBuf>,
    /// Backend. With auto, the one with the least estimated time among those that can run the plan
    #[arg(long, value_enum, default_value_t = BackendArg::Auto)]
    pub(crate) backend: BackendArg,
    /// Compare every element of C with an oracle, against a rigorous error bound. Elements that are not
    /// finite have no error; their number is reported
    #[arg(long)]
    pub(crate) verify: bool,
    /// Number of timed products. If it is above 1, an untimed product goes first
    #[arg(long, value_name = "R", default_value = "1")]
    pub(crate) repeat: NonZeroU32,
    /// Map the plan file instead of reading it. You promise that nobody changes or truncates the file
    /// meanwhile: wrong results, invalid reads or the end of the process could follow
    #[arg(long)]
    pub(crate) mmap: bool,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(crate) plan: PlannerArgs,
}

/// Where B comes from: exactly one of the two.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Rhs {
    /// B from a file: two-dimensional, f16, f32 or f64, C or Fortran order
    #[arg(long, value_name = "B.npy")]
    pub(crate) rhs: Option<PathBuf>,
    /// B of that many columns, uniform in [-1, 1)
    #[arg(long, value_name = "N")]
    pub(crate) random: Option<usize>,
}

/// A backend by name, or the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArg {
    Auto,
    Cuda,
    Cpu,
    Reference,
}

impl BackendArg {
    /// The name in the registry; `None` for the best one.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Cuda => Some("cuda"),
            Self::Cpu => Some("cpu"),
            Self::Reference => Some("reference"),
        }
    }
}
