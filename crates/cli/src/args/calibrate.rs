//! The flags of `girih calibrate`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use girih::DType;
use girih::planner::Precision;
use girih_measure::calibrate::CalibrateBackend;

use super::Json;
use super::value::{dtype_parser, parse_seconds, precision_parser};

/// Fit the planner's estimates to this machine, and write a device file for --device
///
/// The command multiplies generated matrices of every structure by B of many widths, in every format that
/// the planner considers. It then fits seconds per row, value, byte and so on to these times. Products that
/// take more than four times as long as in the best format are left out. To judge the fit, the command makes
/// five more, each to four fifths of the products, and tests each on the fifth that it has not seen. Nothing
/// else should run meanwhile. Products are not verified: girih bench does that.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Device file to write
    #[arg(short, long, value_name = "DEVICE.toml")]
    pub(crate) output: PathBuf,
    /// Backend that multiplies; cuda uses the device that the environment names, as girih help says
    #[arg(long, value_parser = backend_parser(), default_value = "cpu")]
    pub(crate) backend: CalibrateBackend,
    /// Device, by name or file, whose rates fill in where nothing is fitted [default: this CPU, measured;
    /// with --backend cuda the device that is built in for it]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
    /// Value types
    #[arg(
        long, value_name = "DTYPE,...", value_delimiter = ',', value_parser = dtype_parser(),
        hide_possible_values = true, default_value = "f32"
    )]
    pub(crate) dtype: Vec<DType>,
    /// How far products in f32 may be rounded on a GPU, as in girih plan: tf32, 3xtf32 or f32. With 3xtf32
    /// and f32, fits of the device file that are for other precisions are kept
    #[arg(
        long, value_name = "PRECISION", value_parser = precision_parser(), hide_possible_values = true,
        default_value = "tf32"
    )]
    pub(crate) precision: Precision,
    /// Columns of B
    #[arg(
        long, value_name = "COLS,...", value_delimiter = ',', default_value = "1,8,16,32,64,128,256,512",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) n: Vec<u32>,
    /// Seconds to spend on each product; each is timed at least three times
    #[arg(long, default_value_t = 0.03, value_parser = parse_seconds)]
    pub(crate) seconds: f64,
    /// Number of passes over all products. The least time of each product counts, since other programs may
    /// slow a pass down
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
