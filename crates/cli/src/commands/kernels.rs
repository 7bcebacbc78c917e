//! `girih kernels`: the CUDA kernels, compiled ahead of time, listed and checked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use girih::CudaOptions;
use girih::cuda::kernels::{self, Kernel};
use girih::cuda::{Arch, Binary, CudaError, Jit, Origin, devices};
use girih_cuda_libraries::roofline_kernel;
use girih_parallel::prelude::*;
use serde::Serialize;

use crate::args::{KernelsAction, KernelsArgs};
use crate::error::{Class, CliError};
use crate::input::cuda;
use crate::output::progress::Progress;
use crate::output::report::Report;
use crate::output::table;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct KernelsReport {
    arch: String,
    cache: Option<String>,
    /// Of the compiler; `None` if there is none.
    nvrtc: Option<String>,
    /// Whether instructions were looked at.
    disassembled: bool,
    kernels: Vec<KernelReport>,
}

#[derive(Debug, Serialize)]
struct KernelReport {
    kernel: &'static str,
    config: String,
    /// `compiled`, `cached`, `absent`, or `by entry` if the cache has entry points of it that products have needed;
    /// `unsupported` if it is for another architecture.
    state: &'static str,
    path: Option<String>,
    seconds: Option<f64>,
    entries: Vec<EntryReport>,
    wrong: Vec<String>,
}

#[derive(Debug, Serialize)]
struct EntryReport {
    entry: String,
    registers: u32,
    stack_bytes: u32,
    spill_bytes: u32,
    shared_bytes: u32,
    /// The most that a launch adds.
    dynamic_shared_bytes: u32,
}

pub(crate) fn run(args: &KernelsArgs, progress: &Progress) -> Result<Report, CliError> {
    let CudaOptions { libraries, cache, sources, device, .. } = cuda::options()?;
    let cache = args.cache.clone().or(cache);
    if cache.is_none() && !matches!(args.action, KernelsAction::Check) {
        return Err(CliError::usage("there is no cache; --cache FOLDER or GIRIH_CACHE names one"));
    }
    let arch = args.arch.unwrap_or_else(|| {
        let devices = devices().unwrap_or_default();
        devices.get(device).map_or(Arch::SM_90A, |device| device.arch)
    });
    let checks = matches!(args.action, KernelsAction::Check);
    // A check compiles, and leaves no traces.
    let jit = Jit::new(libraries, cache.clone().filter(|_| !checks), sources);
    let nvdisasm = checks.then(|| cuda::program("nvdisasm")).flatten();
    let mut kernels = kernels::all();
    if args.epilogues {
        kernels.extend(kernels::with_epilogue());
    }
    if args.rounded {
        kernels.extend(kernels::rounded());
    }
    if args.aggregations {
        kernels.extend(kernels::with_aggregation());
    }
    kernels.push(roofline_kernel());
    let compiled = progress.counting("compiling kernels".to_owned());
    let (done, total) = (AtomicU64::new(0), kernels.len() as u64);
    // Seconds of one core each, all of them independent.
    let kernels = kernels.par_iter().map(|kernel| {
        let made = make(kernel, arch, args.action, &jit, nvdisasm.as_deref());
        compiled(done.fetch_add(1, Ordering::Relaxed) + 1, total);
        made
    });
    let kernels = kernels.collect::<Result<Vec<_>, CliError>>()?;
    render(&KernelsReport {
        arch: arch.to_string(),
        cache: cache.map(|folder| folder.display().to_string()),
        nvrtc: jit.nvrtc().ok().map(|nvrtc| {
            let (major, minor) = nvrtc.version();
            format!("{major}.{minor}")
        }),
        disassembled: nvdisasm.is_some(),
        kernels,
    })
}

/// Compiles a kernel, or looks for it in the cache, and checks it if that is the action.
fn make(
    kernel: &Kernel,
    arch: Arch,
    action: KernelsAction,
    jit: &Jit,
    nvdisasm: Option<&Path>,
) -> Result<KernelReport, CliError> {
    if !kernel.is_for(arch) {
        return Ok(KernelReport::new(kernel, "unsupported", &[], 0.0, Vec::new()));
    }
    let start = Instant::now();
    let found = match action {
        KernelsAction::List => cached(kernel, arch, jit),
        KernelsAction::Build => jit.compile(kernel, arch, true).map(|it| ("compiled", vec![it])),
        KernelsAction::Check => jit.compile(kernel, arch, false).map(|it| ("compiled", vec![it])),
    };
    let (state, binaries) = found.map_err(|error| kernel_error(&error))?;
    let seconds = start.elapsed().as_secs_f64();
    let wrong = match &binaries[..] {
        [binary] if matches!(action, KernelsAction::Check) => {
            let sass = nvdisasm.map(|tool| kernels::disassemble(tool, binary));
            let sass = sass.transpose().map_err(|error| {
                CliError::failed("cannot disassemble with nvdisasm").because(error)
            })?;
            kernels::check(kernel, binary, sass.as_deref())
        }
        _ => Vec::new(),
    };
    Ok(KernelReport::new(kernel, state, &binaries, seconds, wrong))
}

/// What the cache has of a kernel: the whole, or entry points of it, one binary each.
fn cached(
    kernel: &Kernel,
    arch: Arch,
    jit: &Jit,
) -> Result<(&'static str, Vec<Binary>), Arc<CudaError>> {
    if let Some(whole) = jit.cached(kernel, arch)? {
        return Ok(("cached", vec![whole]));
    }
    let entries = jit.cached_entries(kernel, arch)?;
    Ok((if entries.is_empty() { "absent" } else { "by entry" }, entries))
}

impl KernelReport {
    fn new(
        kernel: &Kernel,
        state: &'static str,
        binaries: &[Binary],
        seconds: f64,
        wrong: Vec<String>,
    ) -> Self {
        let path = match binaries {
            [Binary { origin: Origin::Compiled(path), .. }] => path.as_ref(),
            [Binary { origin: Origin::Cache(path), .. }] => Some(path),
            _ => None,
        };
        let entries = binaries.iter().flat_map(Binary::resources).map(|r| EntryReport {
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

fn render(report: &KernelsReport) -> Result<Report, CliError> {
    let mut rows = Vec::new();
    for kernel in &report.kernels {
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
    let nvrtc = report.nvrtc.as_ref().map_or("no NVRTC".to_owned(), |v| format!("NVRTC {v}"));
    let text = format!("{} with {nvrtc}\n\n{}", report.arch, table::with_header(header, rows));
    let wrong: Vec<String> = report
        .kernels
        .iter()
        .flat_map(|k| k.wrong.iter().map(|wrong| format!("{} {}: {wrong}", k.kernel, k.config)))
        .collect();
    let failure = (!wrong.is_empty()).then(|| {
        CliError::failed(format!("kernels break their promises:\n  {}", wrong.join("\n  ")))
    });
    Ok(Report::new(text, report)?.with_failure(failure))
}

/// Puts a failure into the class its exit code comes from.
fn kernel_error(error: &CudaError) -> CliError {
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

#[cfg(test)]
mod tests {
    use girih::cuda::LibrarySearch;
    use girih_testkit::machine;

    use super::*;

    #[test]
    fn a_kernel_is_whole_or_there_by_entry() {
        let folder = tempfile::tempdir().unwrap();
        let search =
            machine::cuda_folders().into_iter().fold(LibrarySearch::new(), LibrarySearch::folder);
        let search = machine::site_packages().iter().fold(search, LibrarySearch::site_packages);
        let jit = Jit::new(search, Some(folder.path().to_owned()), None);
        if let Err(error) = jit.nvrtc() {
            return machine::note(error);
        }
        let arch = Arch::SM_90A;
        // Kernels of one entry point are whole with it only once they are built.
        for entries in [1, 2] {
            let kernel = kernels::all().into_iter().find(|it| it.budget.entries.len() == entries);
            let kernel = &kernel.unwrap();
            let listed = || {
                let (state, binaries) = cached(kernel, arch, &jit).unwrap();
                let report = KernelReport::new(kernel, state, &binaries, 0.0, Vec::new());
                (report.state, report.entries.len())
            };
            assert_eq!(listed(), ("absent", 0), "{kernel}");
            jit.binary_of_entry(kernel, kernel.budget.entries[0], arch).unwrap();
            assert_eq!(listed(), ("by entry", 1), "{kernel}");
            jit.binary(kernel, arch).unwrap();
            assert_eq!(listed(), ("cached", entries), "{kernel}");
        }
    }
}
