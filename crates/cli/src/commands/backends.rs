//! `girih backends`: what can multiply here.

use girih::backend::{BackendError, Capabilities};
use girih::formats::{DType, FormatKind};
use serde::Serialize;

use crate::error::CliError;
use crate::report::Report;
use crate::table;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Facts {
    backends: Vec<BackendFacts>,
}

#[derive(Debug, Serialize)]
struct BackendFacts {
    name: String,
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    formats: Vec<&'static str>,
    dtypes: Vec<&'static str>,
}

pub(crate) fn run() -> Result<Report, CliError> {
    let registry = girih::backends();
    let backends: Vec<BackendFacts> = registry
        .report()
        .into_iter()
        .map(|report| facts(report.backend, report.capabilities))
        .collect();
    let rows = backends.iter().map(|backend| {
        let available = match &backend.reason {
            None => "yes".to_owned(),
            Some(reason) => format!("no: {reason}"),
        };
        vec![
            backend.name.clone(),
            available,
            table::optional(backend.device.as_ref()),
            backend.formats.join(" "),
            backend.dtypes.join(" "),
        ]
    });
    let table = table::with_header(["backend", "available", "runs on", "formats", "dtypes"], rows);
    let text = format!("{table}\n\nThe first that can run a plan is the one --backend auto takes.");
    Report::new(text, &Facts { backends })
}

fn facts(name: String, capabilities: Result<Capabilities, BackendError>) -> BackendFacts {
    match capabilities {
        Ok(Capabilities { formats, dtypes, device }) => BackendFacts {
            name,
            available: true,
            reason: None,
            device: Some(device),
            formats: formats.into_iter().map(FormatKind::name).collect(),
            dtypes: dtypes.into_iter().map(DType::name).collect(),
        },
        Err(error) => BackendFacts {
            name,
            available: false,
            reason: Some(match error {
                BackendError::Unavailable { reason, .. } => reason,
                other => other.to_string(),
            }),
            device: None,
            formats: Vec::new(),
            dtypes: Vec::new(),
        },
    }
}
