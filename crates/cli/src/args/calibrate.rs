//! What can be asked of `girih calibrate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use girih::DType;

use crate::args::{Json, dtype_parser, parse_seconds};

/// Fit the planner's estimates to this machine, and write a device file for --device
///
/// Products of generated matrices of every structure and many widths are planned, prepared and timed in
/// every format the planner considers. Seconds per row, value, byte and so on are fitted to those that take
/// at most four times as long as in the best format. Five more fits, each to four fifths of them, are judged
/// by the fifth that they have not seen. Nothing else should run meanwhile. Products are not verified: girih
/// bench does that.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Device file to write
    #[arg(short, long, value_name = "DEVICE.toml")]
    pub(super) output: PathBuf,
    /// Where products run; cuda is the device that the environment names
    #[arg(long, value_enum, default_value_t = Where::Cpu)]
    pub(super) backend: Where,
    /// What is not measured: a device's name or file [default: this CPU, measured; with --backend cuda
    /// the device that is built in for it]
    #[arg(long, value_name = "DEVICE")]
    pub(super) device: Option<String>,
    /// Value types
    #[arg(
        long, value_name = "DTYPE,...", value_delimiter = ',', value_parser = dtype_parser(),
        hide_possible_values = true, default_value = "f32"
    )]
    pub(super) dtype: Vec<DType>,
    /// Columns of B
    #[arg(
        long, value_name = "COLS,...", value_delimiter = ',', default_value = "1,8,16,32,64,128,256,512",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(super) n: Vec<u32>,
    /// Seconds to spend on each product; each is timed at least three times
    #[arg(long, default_value_t = 0.03, value_parser = parse_seconds)]
    pub(super) seconds: f64,
    /// Times to go through all products; the least time of each counts, as what else runs on a machine
    /// slows some minutes down and not others
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) passes: u32,
    /// Fewer and smaller matrices, for a first look
    #[arg(long)]
    pub(super) quick: bool,
    #[command(flatten)]
    pub(crate) json: Json,
}

/// The backends that can be calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Where {
    Cpu,
    Cuda,
}
