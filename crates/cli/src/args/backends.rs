//! The flags of `girih backends`.

use clap::Args;

use super::Json;

/// List the backends and whether they can run here
#[derive(Debug, Args)]
pub(crate) struct BackendsArgs {
    #[command(flatten)]
    pub(crate) json: Json,
}
