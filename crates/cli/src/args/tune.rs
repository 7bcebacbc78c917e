//! The flags of `girih tune`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use girih_measure::tune::TuneBackend;

use super::Json;
use super::value::parse_seconds;

/// Time a plan's best candidates on this machine, and make the fastest the plan
///
/// The command plans the matrix of the plan again, in the formats with the least estimated times, in the order of
/// the plan and in that of the matrix. It prepares and verifies each candidate, and then times all by turns. The
/// plan that it writes holds the times, and `girih inspect` shows them.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Plan file; - is standard input
    #[arg(value_name = "PLAN")]
    pub(crate) source: PathBuf,
    /// Plan file to write [default: PLAN itself]
    #[arg(short, long, value_name = "OUT.girih")]
    pub(crate) output: Option<PathBuf>,
    /// Where products run; cuda is the device that the environment names, with operands on it
    #[arg(long, value_parser = backend_parser(), default_value = "cpu")]
    pub(crate) backend: TuneBackend,
    /// Columns of B [default: those that the plan was made for]
    #[arg(long, value_name = "COLS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) n: Option<u32>,
    /// Candidates to time beside the plan's own format
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) top: u32,
    /// Seconds to spend on each; each is timed at least three times
    #[arg(long, default_value_t = 0.2, value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    #[command(flatten)]
    pub(crate) json: Json,
}

fn backend_parser() -> impl TypedValueParser<Value = TuneBackend> {
    PossibleValuesParser::new(["cpu", "cuda"]).map(|name| match name.as_str() {
        "cuda" => TuneBackend::Cuda,
        _ => TuneBackend::Cpu,
    })
}
