//! The flags of `girih demo`.

use clap::Args;

use super::Json;

/// Run the main job on a built-in matrix: write, read, inspect, plan, save, load, multiply, verify
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) json: Json,
}
