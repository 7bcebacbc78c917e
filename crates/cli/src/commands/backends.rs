//! `girih backends`: what can multiply here.

use girih::backend::{BackendError, Capabilities};
use girih::cuda::{DeviceInfo, Jit, Nvrtc, devices, driver_version};
use girih::formats::{DType, FormatKind};
use girih::{CudaOptions, backends_with};
use girih_cuda_libraries::{CublasLt, Cusparse};
use girih_measure::units;
use serde::Serialize;

use crate::error::CliError;
use crate::input::cuda;
use crate::output::report::Report;
use crate::output::table;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct BackendsReport {
    backends: Vec<BackendReport>,
    cuda: CudaReport,
}

#[derive(Debug, Serialize)]
struct BackendReport {
    name: String,
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    formats: Vec<&'static str>,
    dtypes: Vec<&'static str>,
}

/// What of CUDA was found.
#[derive(Debug, Serialize)]
struct CudaReport {
    driver: LibraryReport,
    nvrtc: LibraryReport,
    cusparse: LibraryReport,
    cublaslt: LibraryReport,
    /// The folder of compiled kernels.
    cache: Option<String>,
    devices: Vec<CudaDeviceReport>,
}

/// A library, or what is missing.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum LibraryReport {
    Found {
        version: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    Missing(String),
}

#[derive(Debug, Serialize)]
struct CudaDeviceReport {
    index: usize,
    name: String,
    arch: String,
    multiprocessors: u32,
    memory_bytes: u64,
    l2_bytes: u64,
}

pub(crate) fn run() -> Result<Report, CliError> {
    let options = cuda::options()?;
    let cuda = CudaReport::new(&options);
    let registry = backends_with(options);
    let backends: Vec<BackendReport> = registry
        .report()
        .into_iter()
        .map(|report| describe(report.backend, report.capabilities))
        .collect();
    let rows = backends.iter().map(|backend| {
        // The reasons follow below the table.
        let available = if backend.available { "yes" } else { "no" };
        vec![
            backend.name.clone(),
            available.to_owned(),
            table::optional(backend.device.as_ref()),
            backend.formats.join(" "),
            backend.dtypes.join(" "),
        ]
    });
    let table = table::with_header(["backend", "available", "runs on", "formats", "dtypes"], rows);
    let reasons = backends.iter().filter_map(|backend| {
        Some(format!("{} is not available: {}\n\n", backend.name, backend.reason.as_ref()?))
    });
    let reasons: String = reasons.collect();
    let text = format!(
        "{table}\n\n{reasons}Among the backends that can run a plan, --backend auto takes the one with the least \
         estimated time, copies of B and C included.\n\n{}",
        cuda.text()
    );
    Report::new(text, &BackendsReport { backends, cuda })
}

fn describe(name: String, capabilities: Result<Capabilities, BackendError>) -> BackendReport {
    match capabilities {
        Ok(Capabilities { formats, dtypes, device, .. }) => BackendReport {
            name,
            available: true,
            reason: None,
            device: Some(device),
            formats: formats.into_iter().map(FormatKind::name).collect(),
            dtypes: dtypes.into_iter().map(DType::name).collect(),
        },
        Err(error) => BackendReport {
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

impl CudaReport {
    fn new(options: &CudaOptions) -> Self {
        let version = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        let driver = match driver_version() {
            Ok(found) => LibraryReport::Found { version: version(found), path: None },
            Err(error) => LibraryReport::Missing(error.to_string()),
        };
        let jit = Jit::new(options.libraries.clone(), options.cache.clone(), None);
        let nvrtc = match jit.nvrtc() {
            Ok(nvrtc) => LibraryReport::Found {
                version: version(Nvrtc::version(nvrtc)),
                path: Some(nvrtc.path().to_owned()),
            },
            Err(error) => LibraryReport::Missing(error.to_string()),
        };
        let three = |(major, minor, patch): (u32, u32, u32)| format!("{major}.{minor}.{patch}");
        let cusparse = match Cusparse::load(&options.libraries) {
            Ok(found) => LibraryReport::Found {
                version: three(found.version()),
                path: Some(found.path().to_owned()),
            },
            Err(error) => LibraryReport::Missing(error.to_string()),
        };
        let cublaslt = match CublasLt::load(&options.libraries) {
            Ok(found) => LibraryReport::Found {
                version: three(found.version()),
                path: Some(found.path().to_owned()),
            },
            Err(error) => LibraryReport::Missing(error.to_string()),
        };
        let cache = options.cache.as_ref().map(|folder| folder.display().to_string());
        let devices =
            devices().unwrap_or_default().into_iter().map(CudaDeviceReport::new).collect();
        Self { driver, nvrtc, cusparse, cublaslt, cache, devices }
    }

    fn text(&self) -> String {
        let mut rows = vec![
            ("CUDA driver", self.driver.text()),
            ("NVRTC", self.nvrtc.text()),
            ("cuSPARSE", self.cusparse.text()),
            ("cuBLASLt", self.cublaslt.text()),
            ("kernel cache", table::optional(self.cache.as_ref())),
        ];
        rows.extend(self.devices.iter().map(|device| ("device", device.text())));
        table::pairs(rows)
    }
}

impl LibraryReport {
    fn text(&self) -> String {
        match self {
            Self::Found { version, path: None } => format!("CUDA {version}"),
            Self::Found { version, path: Some(path) } => format!("{version}, {path}"),
            Self::Missing(reason) => format!("missing: {reason}"),
        }
    }
}

impl CudaDeviceReport {
    fn new(info: DeviceInfo) -> Self {
        let DeviceInfo { index, name, arch, multiprocessors, memory_bytes, l2_bytes, .. } = info;
        let arch = arch.to_string();
        Self { index, name, arch, multiprocessors, memory_bytes, l2_bytes }
    }

    fn text(&self) -> String {
        let Self { index, name, arch, multiprocessors, memory_bytes, l2_bytes } = self;
        let (memory, l2) = (units::bytes(*memory_bytes), units::bytes(*l2_bytes));
        format!("{index}: {name}, {arch}, {multiprocessors} SMs, {memory}, L2 {l2}")
    }
}
