//! The flags of `girih bench`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use girih::cpu::Isa;
use girih::formats::DType;
use girih::planner::Precision;
use girih_measure::bench::{
    BenchBackend, FormatRequest, OrderRequest, RooflineEffort, Suite, ThreadCount, isa_name,
};

use super::value::{Limit, dtype_parser, parse_limit, parse_seconds, precision_parser};
use super::{Json, ReadArgs};
use crate::error::CliError;

/// Benchmark products, verified, beside what the machine could reach
///
/// A case is a combination of matrix, value type, number of columns, format, order, backend and number
/// of threads. Each is planned, prepared, verified against an oracle and then timed; cases of one matrix,
/// type and number of columns are timed by turns. The product is C = A·B, with B and C row-major and on a
/// 64-byte boundary. A C with the same bits as one that was verified is not verified again. A wrong product
/// ends the run with exit code 6.
///
/// Each time is set beside a floor that is measured in the same run. The floor is the longer of two times:
/// moving A (as CSR with 32-bit indices), B and C once each at the bandwidth of a working set of that size,
/// and 2·nnz·n flops (8·nnz·n of complex values) at the peak of fused multiply-add. A format that
/// compresses A can be faster than the floor. A product that reads rows of B many times can hardly reach it.
///
/// Products on a CUDA device are timed by the device's own events. B and C are in its memory, in several
/// copies that take turns and together exceed its cache. Their floor is measured on the device: the
/// bandwidth of its memory, and the peak of its fastest unit for the value type, with tensor cores by
/// cuBLASLt. Beside it stands the least time for reading the rows of B that the format's tiles name from
/// the second-level cache.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArgs {
    /// Matrix files, - for standard input, or names of generated problems: uniform, rmat, fem, blocks,
    /// laplacian [default: these five]. Some names take sizes: uniform:2048x65536x16 has 2048 rows, 65536
    /// columns and 16 entries in each row; dense:4096x4096 is full; two-four:4096x8192 has two entries in every
    /// four columns; blocks:95 leaves 95 percent of its blocks out
    #[arg(value_name = "MATRIX")]
    pub(crate) matrices: Vec<PathBuf>,
    /// Suite to run: a TOML file with matrices, formats, orders, n, dtypes, backends, threads and seconds, as
    /// in bench/suites. Matrices and flags that are given replace those of the suite
    #[arg(long, value_name = "SUITE.toml")]
    pub(crate) suite: Option<PathBuf>,
    /// Formats, some with sizes: csr, auto, bcsr, bcsr:16x16, wcsr:8, blocked-ell:32, bmat,
    /// two-four, two-four:e4m3/row [default: csr,auto]
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',')]
    pub(crate) format: Vec<FormatRequest>,
    /// Orders of the rows in the tiles: none, auto, rcm, window, degree, reverse, random; as in girih plan.
    /// C is always in the order of A [default: none]
    #[arg(long, value_name = "ORDER,...", value_delimiter = ',')]
    pub(crate) reorder: Vec<OrderRequest>,
    /// Columns of B [default: 1,8,32,128, with --quick 8,128]
    #[arg(long, value_name = "COLS,...", value_delimiter = ',', value_parser = positive)]
    pub(crate) n: Vec<usize>,
    /// Value types: f32, f64, f16, bf16 [default: f32]
    #[arg(
        long, value_name = "DTYPE,...", value_delimiter = ',', value_parser = dtype_parser(),
        hide_possible_values = true
    )]
    pub(crate) dtype: Vec<DType>,
    /// Backends: cpu, cuda, reference, and two to compare cuda with: cusparse (all of its algorithms) and
    /// cublas (the dense product, with all zeros of A, timed once for all formats) [default: cpu]
    #[arg(
        long,
        value_name = "BACKEND,...",
        value_delimiter = ',',
        value_parser = backend_parser(),
        hide_possible_values = true
    )]
    pub(crate) backend: Vec<BenchBackend>,
    /// Numbers of threads; all is as many as other commands use [default: 1,all]
    #[arg(long, value_name = "THREADS,...", value_delimiter = ',')]
    pub(crate) threads: Vec<ThreadCount>,
    /// Instruction sets of the CPU backend: best, avx512, avx2, neon, portable [default: best]
    #[arg(
        long, value_name = "ISA,...", value_delimiter = ',', value_parser = isa_parser(),
        hide_possible_values = true
    )]
    pub(crate) isa: Vec<Isa>,
    /// Seconds to spend on each case; each is timed at least three times [default: 0.5, with --quick
    /// 0.05]
    #[arg(long, value_parser = parse_seconds)]
    pub(crate) seconds: Option<f64>,
    /// The machine that plans are made for, as in girih plan [default: this CPU, or the GPU if all
    /// products run there]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// How the machine's limits are measured. For each number of threads and instruction set, full takes
    /// seconds and up to 768 MiB; quick takes less of both [default: full, with --quick quick]
    #[arg(long, value_parser = roofline_parser())]
    pub(crate) roofline: Option<RooflineEffort>,
    /// Fewer columns and less time, for a first look
    #[arg(long)]
    pub(crate) quick: bool,
    /// Most bytes that the tiles, B and C of a case may take, as 512MiB, 4GiB or none; larger cases are
    /// skipped [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_limit)]
    pub(crate) memory_limit: Option<Limit>,
    /// How far products in f32 may be rounded on a GPU, as in girih plan: tf32, 3xtf32 or f32. What rounds
    /// further is skipped, libraries included [default: tf32]
    #[arg(
        long, value_name = "PRECISION", value_parser = precision_parser(), hide_possible_values = true
    )]
    pub(crate) precision: Option<Precision>,
    /// Seed of B
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Also write the results, as JSON (.json) or as tables in Markdown (.md)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl BenchArgs {
    /// These arguments, and those of a suite where none were given.
    pub(crate) fn or_of(self, suite: Suite) -> Self {
        fn given_or<T>(given: Vec<T>, suite: Vec<T>) -> Vec<T> {
            if given.is_empty() { suite } else { given }
        }
        let matrices = suite.matrices.into_iter().map(PathBuf::from).collect();
        Self {
            matrices: given_or(self.matrices, matrices),
            format: given_or(self.format, suite.formats),
            reorder: given_or(self.reorder, suite.orders),
            n: given_or(self.n, suite.n),
            dtype: given_or(self.dtype, suite.dtypes),
            backend: given_or(self.backend, suite.backends),
            threads: given_or(self.threads, suite.threads),
            seconds: self.seconds.or(suite.seconds),
            ..self
        }
    }
}

fn backend_parser() -> impl TypedValueParser<Value = BenchBackend> {
    PossibleValuesParser::new(BenchBackend::NAMES).try_map(|name| name.parse::<BenchBackend>())
}

fn roofline_parser() -> impl TypedValueParser<Value = RooflineEffort> {
    PossibleValuesParser::new(["off", "quick", "full"]).map(|name| match name.as_str() {
        "off" => RooflineEffort::Off,
        "quick" => RooflineEffort::Quick,
        _ => RooflineEffort::Full,
    })
}

fn positive(s: &str) -> Result<usize, String> {
    s.parse::<u32>()
        .ok()
        .filter(|&n| n > 0)
        .map(|n| n as usize)
        .ok_or_else(|| format!("{s:?} is not a number of columns; write for example 1,8,32"))
}

fn isa_parser() -> impl TypedValueParser<Value = Isa> {
    let names = std::iter::once("best").chain(Isa::ALL.map(isa_name));
    PossibleValuesParser::new(names)
        .map(|s| Isa::ALL.into_iter().find(|&isa| isa_name(isa) == s).unwrap_or_else(Isa::best))
}

/// How the results are written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileType {
    Json,
    Markdown,
}

impl FileType {
    /// The type that a file's name says.
    ///
    /// # Errors
    /// If the name ends otherwise.
    pub(crate) fn from_path(path: &Path) -> Result<Self, CliError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("json") => Ok(Self::Json),
            Some("md") => Ok(Self::Markdown),
            _ => Err(CliError::usage(format!(
                "{}: the name must end in .json or .md, which says what to write",
                path.display()
            ))),
        }
    }
}
