//! `girih kernels`: the CUDA kernels, compiled ahead of time, listed and checked.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, Subcommand};
use girih::CudaOptions;
use girih::cuda::kernels::{self, Kernel};
use girih::cuda::{Arch, Binary, CudaError, Jit, Origin, devices};
use serde::Serialize;

use crate::args::Json;
use crate::cuda;
use crate::error::{Class, CliError};
use crate::progress::Progress;
use crate::report::Report;
use crate::table;

/// Compile the CUDA kernels ahead of time, list them, or check them
///
/// Kernels are otherwise compiled when they are first needed. A cache that was built elsewhere, by any
/// version of the compiler, serves machines that have none.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Action,
    /// Architecture to compile for [default: the device's own, or that of Hopper]
    #[arg(long, global = true, value_name = "ARCH")]
    arch: Option<Arch>,
    /// Folder of compiled kernels [default: as `girih backends` shows]
    #[arg(long, global = true, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Compile every kernel in every configuration into the cache
    Build,
    /// Show every kernel, and what the cache has of it
    List,
    /// Compile every kernel anew, and check registers, spills, shared memory and, where nvdisasm is at
    /// hand, the instructions that it promises
    Check,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Facts {
    arch: String,
    cache: Option<String>,
    /// Of the compiler; `None` if there is none.
    nvrtc: Option<String>,
    /// Whether instructions were looked at.
    disassembled: bool,
    kernels: Vec<KernelFacts>,
}

#[derive(Debug, Serialize)]
struct KernelFacts {
    kernel: &'static str,
    config: String,
    /// `compiled`, `cached` or `absent`; `unsupported` if it is for another architecture.
    state: &'static str,
    path: Option<String>,
    seconds: Option<f64>,
    entries: Vec<EntryFacts>,
    wrong: Vec<String>,
}

#[derive(Debug, Serialize)]
struct EntryFacts {
    entry: String,
    registers: u32,
    stack_bytes: u32,
    spill_bytes: u32,
    shared_bytes: u32,
    /// The most that a launch adds.
    dynamic_shared_bytes: u32,
}

pub(crate) fn run(options: &Options, progress: &Progress) -> Result<Report, CliError> {
    let CudaOptions { libraries, cache, sources, device } = cuda::options()?;
    let cache = options.cache.clone().or(cache);
    if cache.is_none() && !matches!(options.action, Action::Check) {
        return Err(CliError::usage("there is no cache; --cache FOLDER or GIRIH_CACHE names one"));
    }
    let arch = options.arch.unwrap_or_else(|| {
        let devices = devices().unwrap_or_default();
        devices.get(device).map_or(Arch::SM_90A, |device| device.arch)
    });
    let checks = matches!(options.action, Action::Check);
    // A check compiles, and leaves no traces.
    let jit = Jit::new(libraries, cache.clone().filter(|_| !checks), sources);
    let nvdisasm = checks.then(|| cuda::program("nvdisasm")).flatten();
    let mut facts = Facts {
        arch: arch.to_string(),
        cache: cache.map(|folder| folder.display().to_string()),
        nvrtc: jit.nvrtc().ok().map(|nvrtc| {
            let (major, minor) = nvrtc.version();
            format!("{major}.{minor}")
        }),
        disassembled: nvdisasm.is_some(),
        kernels: Vec::new(),
    };
    for kernel in kernels::all() {
        if !kernel.is_for(arch) {
            let mut absent = KernelFacts::new(&kernel, None, 0.0, Vec::new());
            absent.state = "unsupported";
            facts.kernels.push(absent);
            continue;
        }
        progress.stage(format!("compiling {kernel}"));
        let start = Instant::now();
        let binary = match options.action {
            Action::List => jit.cached(&kernel, arch),
            Action::Build => jit.compile(&kernel, arch, true).map(Some),
            Action::Check => jit.compile(&kernel, arch, false).map(Some),
        };
        let binary = binary.map_err(|error| refused(&error))?;
        let seconds = start.elapsed().as_secs_f64();
        let wrong = match &binary {
            Some(binary) if checks => {
                let sass = nvdisasm.as_ref().map(|tool| kernels::disassemble(tool, binary));
                let sass = sass.transpose().map_err(|error| {
                    CliError::failed("cannot disassemble with nvdisasm").because(error)
                })?;
                kernels::check(&kernel, binary, sass.as_deref())
            }
            _ => Vec::new(),
        };
        facts.kernels.push(KernelFacts::new(&kernel, binary.as_ref(), seconds, wrong));
    }
    report(&facts)
}

impl KernelFacts {
    fn new(kernel: &Kernel, binary: Option<&Binary>, seconds: f64, wrong: Vec<String>) -> Self {
        let (state, path) = match binary.map(|binary| &binary.origin) {
            None => ("absent", None),
            Some(Origin::Cache(path)) => ("cached", Some(path)),
            Some(Origin::Compiled(path)) => ("compiled", path.as_ref()),
        };
        let entries = binary.map(Binary::resources).unwrap_or_default();
        let entries = entries.into_iter().map(|r| EntryFacts {
            entry: r.entry,
            registers: r.registers,
            stack_bytes: r.stack,
            spill_bytes: r.spill_stores + r.spill_loads,
            shared_bytes: r.shared,
            dynamic_shared_bytes: kernel.budget.dynamic_shared,
        });
        Self {
            kernel: kernel.stem,
            config: kernel.config.clone(),
            state,
            path: path.map(|path| path.display().to_string()),
            seconds: (state == "compiled").then_some(seconds),
            entries: entries.collect(),
            wrong,
        }
    }
}

fn report(facts: &Facts) -> Result<Report, CliError> {
    let mut rows = Vec::new();
    for kernel in &facts.kernels {
        let state = match kernel.seconds {
            Some(seconds) => format!("{} in {seconds:.2} s", kernel.state),
            None => kernel.state.to_owned(),
        };
        let (name, config) = (kernel.kernel.to_owned(), kernel.config.clone());
        let dashes = || std::iter::repeat_n("-".to_owned(), 6);
        if kernel.entries.is_empty() {
            rows.push([name, config, state].into_iter().chain(dashes()).collect());
            continue;
        }
        for entry in &kernel.entries {
            rows.push(vec![
                name.clone(),
                config.clone(),
                state.clone(),
                entry.entry.clone(),
                entry.registers.to_string(),
                entry.stack_bytes.to_string(),
                entry.spill_bytes.to_string(),
                entry.shared_bytes.to_string(),
                entry.dynamic_shared_bytes.to_string(),
            ]);
        }
    }
    let header = [
        "kernel",
        "config",
        "state",
        "entry",
        ">registers",
        ">stack",
        ">spilled",
        ">shared",
        ">dynamic shared",
    ];
    let nvrtc = facts.nvrtc.as_ref().map_or("no NVRTC".to_owned(), |v| format!("NVRTC {v}"));
    let text = format!("{} with {nvrtc}\n\n{}", facts.arch, table::with_header(header, rows));
    let wrong: Vec<String> = facts
        .kernels
        .iter()
        .flat_map(|k| k.wrong.iter().map(|wrong| format!("{} {}: {wrong}", k.kernel, k.config)))
        .collect();
    let failure = (!wrong.is_empty()).then(|| {
        CliError::failed(format!("kernels break their promises:\n  {}", wrong.join("\n  ")))
    });
    Ok(Report::new(text, facts)?.with_failure(failure))
}

/// Puts a failure into the class its exit code comes from.
fn refused(error: &CudaError) -> CliError {
    let class = match error {
        CudaError::LibraryNotFound { .. } | CudaError::FunctionMissing { .. } => Class::Unavailable,
        CudaError::Arch { .. } => Class::Unsupported,
        CudaError::Source { .. } | CudaError::Compile { .. } => Class::Input,
        _ => Class::Failed,
    };
    let advice = match error {
        CudaError::LibraryNotFound { .. } => {
            "; install NVIDIA's wheel nvidia-cuda-nvrtc in the active Python environment, or name \
             the library's folder in GIRIH_CUDA_LIBRARIES"
        }
        _ => "",
    };
    CliError::new(class, format!("{error}{advice}"))
}
