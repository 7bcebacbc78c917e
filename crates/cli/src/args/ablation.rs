//! The flags of `girih ablation`.

use std::path::PathBuf;

use clap::Args;

use super::Json;
use super::read::ReadArgs;
use super::value::parse_seconds;

/// Time what each step of a paper's kernel brings, by configurations of ours on a CUDA device
///
/// A ladder has the steps of a paper's ablation, each beside the paper's figure. Each is a configuration of a
/// kernel of girih's with one thing left out or added, which products do not run; where there is none, the table
/// says why. Every product is verified, by the oracle or by having the bits of one that was; of products with many
/// billions of multiplications the oracle computes columns at even distances. All steps are then timed by turns, by
/// the device's own events, and cuBLASLt's dense product beside those of dense ladders. Kernels are compiled when
/// they are first needed.
#[derive(Clone, Debug, Args)]
pub(crate) struct AblationArgs {
    /// Ladders [default: all]: asyncsparse, tiles, voltrix, croqtile-f16, croqtile-e4m3, article
    #[arg(value_name = "LADDER")]
    pub(crate) ladders: Vec<String>,
    /// Print the steps and the papers' figures, and measure nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// Matrix files, or names of generated problems as in girih bench, in place of the ladders' own
    #[arg(long, value_name = "MATRIX,...", value_delimiter = ',')]
    pub(crate) matrix: Vec<PathBuf>,
    /// Columns of B, in multiples of 8, in place of the ladders' own
    #[arg(long, value_name = "COLS,...", value_delimiter = ',', value_parser = in_eights)]
    pub(crate) n: Vec<usize>,
    /// Seconds to spend on each step; each is timed at least three times
    #[arg(long, default_value_t = 0.2, value_parser = parse_seconds)]
    pub(crate) seconds: f64,
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

fn in_eights(s: &str) -> Result<usize, String> {
    s.parse::<u32>()
        .ok()
        .filter(|&n| n > 0 && n.is_multiple_of(8))
        .map(|n| n as usize)
        .ok_or_else(|| format!("{s:?} is not a multiple of 8; write for example 256,1024"))
}
