//! The flags of `girih calibrate`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use girih::DType;
use girih_measure::calibrate::CalibrateBackend;

use super::Json;
use super::value::{dtype_parser, parse_seconds};

/// Fit the planner's estimates to this machine, and write a device file for --device
///
/// Generated matrices of every structure are multiplied by B of many widths, in every format that the
/// planner considers. Seconds per row, value, byte and so on are fitted to the products that take at most
/// four times as long as in the best format. Five more fits, each to four fifths of them, are judged by the
/// fifth that they have not seen. Nothing else should run meanwhile. Products are not verified: girih bench
/// does that.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Device file to write
    #[arg(short, long, value_name = "DEVICE.toml")]
    pub(crate) output: PathBuf,
    /// Where products run; cuda is the device that the environment names
    #[arg(long, value_parser = backend_parser(), default_value = "cpu")]
    pub(crate) backend: CalibrateBackend,
    /// Name or file of a device whose rates are taken where nothing is fitted [default: this CPU,
    /// measured; with --backend cuda the device that is built in for it]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Value types
    #[arg(
        long, value_name = "DTYPE,...", value_delimiter = ',', value_parser = dtype_parser(),
        hide_possible_values = true, default_value = "f32"
    )]
    pub(crate) dtype: Vec<DType>,
    /// Columns of B
    #[arg(
        long, value_name = "COLS,...", value_delimiter = ',', default_value = "1,8,16,32,64,128,256,512",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) n: Vec<u32>,
    /// Seconds to spend on each product; each is timed at least three times
    #[arg(long, default_value_t = 0.03, value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    /// Times to go through all products; the least time of each counts, since other programs slow some
    /// minutes down and not others
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) passes: u32,
    /// Fewer and smaller matrices, for a first look
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

fn backend_parser() -> impl TypedValueParser<Value = CalibrateBackend> {
    PossibleValuesParser::new(["cpu", "cuda"]).map(|name| match name.as_str() {
        "cuda" => CalibrateBackend::Cuda,
        _ => CalibrateBackend::Cpu,
    })
}
