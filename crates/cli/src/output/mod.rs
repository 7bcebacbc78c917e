//! What commands write: reports as text and JSON, tables, progress, and files that appear whole.

pub(crate) mod ablation;
pub(crate) mod bench;
pub(crate) mod escape;
pub(crate) mod file;
pub(crate) mod format_sizes;
pub(crate) mod narrowing;
pub(crate) mod ordering;
pub(crate) mod plan_file;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod sparsity_plot;
pub(crate) mod stale;
pub(crate) mod table;
