//! The flags of `girih plan`.

use std::path::PathBuf;

use clap::Args;

use super::{Json, PlannerArgs};

/// Lay a matrix out, schedule the work, and save the plan
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// Matrix; - is standard input
    #[arg(value_name = "A")]
    pub(crate) source: PathBuf,
    /// Plan file to write
    #[arg(short, long, value_name = "OUT.girih")]
    pub(crate) output: PathBuf,
    /// Also save the layout that this machine's backend multiplies from. A process that maps the plan
    /// then need not make it again. Other machines ignore it
    #[arg(long)]
    pub(crate) save_layout: bool,
    #[command(flatten)]
    pub(crate) json: Json,
    #[command(flatten)]
    pub(crate) plan: PlannerArgs,
}
