//! What can be asked of `girih bench`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use girih::cpu::Isa;
use girih::formats::DType;

use super::asked::{FormatAsked, OrderAsked};
use crate::args::{Json, Limit, ReadArgs, dtype_parser, parse_limit, parse_seconds};
use crate::error::CliError;

/// Benchmark products, verified, beside what the machine could reach
///
/// Every combination of matrix, value type, number of columns, format, order, backend and number of
/// threads is planned, prepared, verified against an oracle and then timed: cases of one matrix,
/// type and number of columns by turns. C = A·B is computed, B and C row-major and on a 64-byte
/// boundary. The oracle judges each C once: one with the same bits, as on other numbers of threads,
/// is as right. A wrong product ends the run with exit code 6.
///
/// Times are set beside a floor measured in the same run: the longer of moving A as CSR with 32-bit
/// indices, B and C once each, at the bandwidth of a working set of that size, and of 2·nnz·n flops
/// at the peak of fused multiply-add. A format that compresses A can go below it; rows of B that
/// are gathered many times make it hard to reach.
///
/// Products on a CUDA device are timed by the device's own events, B and C in its memory, in as many
/// copies that take turns as it takes to outgrow its cache. Their floor is measured on it: the
/// bandwidth of its memory, and the peak of its fastest unit for the value type, tensor cores by
/// cuBLASLt. Beside it stands the least time for reading the rows of B that the format's tiles name
/// from the second-level cache.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Matrix files, - for standard input, and generated problems: uniform, rmat, fem, blocks,
    /// laplacian [default: all these]; with sizes as uniform:2048x65536x16, rows, columns and entries
    /// of a row, dense:4096x4096, and blocks:95, the weight of blocks with 95 percent of its blocks
    /// left out
    #[arg(value_name = "MATRIX")]
    pub(super) matrices: Vec<PathBuf>,
    /// Formats, with sizes if wanted: csr, auto, bcsr, bcsr:16x16, wcsr:8, blocked-ell:32, bmat,
    /// two-four [default: csr,auto]
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',')]
    pub(super) format: Vec<FormatAsked>,
    /// Orders of the rows in the tiles: none, auto, rcm, window, degree, reverse, random; as in girih plan.
    /// C comes out in the order of A [default: none]
    #[arg(long, value_name = "ORDER,...", value_delimiter = ',')]
    pub(super) reorder: Vec<OrderAsked>,
    /// Columns of B [default: 1,8,32,128, with --quick 8,128]
    #[arg(long, value_name = "COLS,...", value_delimiter = ',', value_parser = positive)]
    pub(super) n: Vec<usize>,
    /// Value types: f32, f64, f16, bf16 [default: f32]
    #[arg(
        long, value_name = "DTYPE,...", value_delimiter = ',', value_parser = dtype_parser(),
        hide_possible_values = true
    )]
    pub(super) dtype: Vec<DType>,
    /// Backends: cpu, cuda, reference, and what cuda is compared with: cusparse, which is all its
    /// algorithms, and cublas, the dense product of A with all its zeros, once whatever the formats
    /// [default: cpu]
    #[arg(
        long,
        value_name = "BACKEND,...",
        value_delimiter = ',',
        value_enum,
        hide_possible_values = true
    )]
    pub(super) backend: Vec<BackendAsked>,
    /// Numbers of threads; all is as many as there are [default: 1,all]
    #[arg(long, value_name = "THREADS,...", value_delimiter = ',')]
    pub(super) threads: Vec<ThreadsAsked>,
    /// Instruction sets of the CPU backend: best, avx512, avx2, neon, portable [default: best]
    #[arg(
        long, value_name = "ISA,...", value_delimiter = ',', value_parser = isa_parser(),
        hide_possible_values = true
    )]
    pub(super) isa: Vec<Isa>,
    /// Time to spend on each case; each is timed at least three times [default: 0.5, with --quick
    /// 0.05]
    #[arg(long, value_parser = parse_seconds)]
    pub(super) seconds: Option<f64>,
    /// The machine that plans are made for, as in girih plan [default: this CPU, or the GPU with
    /// --backend cuda alone]
    #[arg(long, value_name = "DEVICE")]
    pub(super) device: Option<String>,
    /// How the machine's limits are measured: full takes seconds and up to 768 MiB for each number
    /// of threads and instruction set, quick less of both [default: full, with --quick quick]
    #[arg(long, value_enum)]
    pub(super) roofline: Option<RooflineAsked>,
    /// Fewer columns and less time, for a first look
    #[arg(long)]
    pub(super) quick: bool,
    /// Most bytes that the tiles of a case, its B and its C may take, as 512MiB, 4GiB or none; cases
    /// above are skipped [default: 4GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_limit)]
    pub(super) memory_limit: Option<Limit>,
    /// Seed of B
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Write the results too, as JSON (.json) or as tables in Markdown (.md)
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// The backends that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BackendAsked {
    Cpu,
    Cuda,
    Cusparse,
    Cublas,
    Reference,
}

impl BackendAsked {
    /// Whether it multiplies on a device.
    pub(super) fn is_device(self) -> bool {
        matches!(self, Self::Cuda | Self::Cusparse | Self::Cublas)
    }
}

/// How much effort goes into the roofline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RooflineAsked {
    Off,
    Quick,
    Full,
}

/// A number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadsAsked {
    All,
    Count(usize),
}

/// More threads than any machine has processors; each takes a stack.
const MAX_THREADS: usize = 4096;

impl FromStr for ThreadsAsked {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s.parse() {
            _ if s == "all" => Ok(Self::All),
            Ok(count @ 1..=MAX_THREADS) => Ok(Self::Count(count)),
            _ => Err(format!("{s:?} is not all or a number from 1 to {MAX_THREADS}")),
        }
    }
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

/// What an instruction set is called in options and in JSON.
pub(super) fn isa_name(isa: Isa) -> &'static str {
    match isa {
        Isa::Avx512 => "avx512",
        Isa::Avx2 => "avx2",
        Isa::Neon => "neon",
        Isa::Portable => "portable",
        // What else there may be one day has a name for people.
        other => other.name(),
    }
}

/// How the results are written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileType {
    Json,
    Markdown,
}

impl FileType {
    /// By the name of the file.
    ///
    /// # Errors
    /// If it has no ending that says so.
    pub(super) fn of(path: &Path) -> Result<Self, CliError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_all_or_a_number() {
        assert_eq!("all".parse(), Ok(ThreadsAsked::All));
        assert_eq!("3".parse(), Ok(ThreadsAsked::Count(3)));
        for text in ["", "0", "-1", "5000", "many"] {
            assert!(text.parse::<ThreadsAsked>().is_err(), "{text}");
        }
    }
}
