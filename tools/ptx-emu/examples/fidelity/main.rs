//! Runs public Hopper kernels in the interpreter and compares their results with the host's.
//!
//! `fidelity FOLDER [--only NAME] [--quick]`, where FOLDER holds the kernels' PTX; a kernel whose
//! file is not there is skipped. The README's section "Fidelity" says which kernels these are.

#![expect(clippy::print_stdout, reason = "it is a command")]
#![expect(clippy::precedence, reason = "shifts and masks read better without parentheses")]

mod bcsr;
mod case;
mod deep_gemm;
mod expected;
mod fast_cu;
mod maps;
mod own;
mod reference;
mod thunder_kittens;
mod voltrix;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use case::{Case, Expected, Failure, Kernel, Mode};

/// How a case went under one mode.
enum Verdict {
    AsExpected { instructions: u64, seconds: f64 },
    Reported,
    Unexpected(String),
}

fn judge(case: &Case, kernel: &Kernel, mode: Mode) -> Verdict {
    let start = Instant::now();
    let result = (case.run)(kernel, mode);
    let seconds = start.elapsed().as_secs_f64();
    match (result, &case.expected) {
        (Ok(launched), Expected::Right) => {
            Verdict::AsExpected { instructions: launched.statistics.total.threads, seconds }
        }
        (Ok(_), Expected::Report(parts)) => Verdict::Unexpected(format!("no report of {parts:?}")),
        (Err(Failure::Launch(fault)), Expected::Report(parts))
            if parts.iter().any(|part| fault.to_string().contains(part)) =>
        {
            Verdict::Reported
        }
        (Err(Failure::Launch(fault)), _) => Verdict::Unexpected(fault.to_string()),
        (Err(Failure::Wrong(message)), _) => Verdict::Unexpected(message),
    }
}

/// Runs a case under every mode; false if anything was not as expected.
fn run(case: &Case, folder: &Path, modes: &[Mode]) -> bool {
    let path = folder.join(case.file).with_extension("ptx");
    let label = format!("{} {}", case.name, case.size);
    let Ok(ptx) = std::fs::read_to_string(&path) else {
        println!("{label}: skipped, no {}", path.display());
        return true;
    };
    let (ptx, label) = match case.repair {
        Some(repair) => (repair(&ptx), format!("{label}, mended")),
        None => (ptx, label),
    };
    let kernel = match Kernel::new(&ptx, case.entry) {
        Ok(kernel) => kernel,
        Err(message) => {
            println!("{label}: {message}");
            return false;
        }
    };
    let (mut right, mut reported, mut instructions, mut seconds) = (0, 0, 0, 0.0);
    let mut unexpected: BTreeMap<String, Vec<Mode>> = BTreeMap::new();
    for &mode in modes {
        match judge(case, &kernel, mode) {
            Verdict::AsExpected { instructions: n, seconds: s } => {
                right += 1;
                instructions += n;
                seconds += s;
            }
            Verdict::Reported => reported += 1,
            Verdict::Unexpected(message) => unexpected.entry(message).or_default().push(mode),
        }
    }
    for (message, modes) in &unexpected {
        println!("{label}: in {} modes, first {:?}: {message}", modes.len(), modes[0]);
    }
    let good = unexpected.is_empty();
    let speed = instructions as f64 / seconds.max(1e-9) / 1e6;
    let n = modes.len();
    println!(
        "{label}: {right} of {n} modes right, {reported} reported; {instructions} thread-instructions, {speed:.0} M/s with the host's side"
    );
    good
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(folder) = arguments.first().filter(|argument| !argument.starts_with("--")) else {
        println!("skipped: no folder of PTX given");
        return ExitCode::SUCCESS;
    };
    let only = arguments.iter().skip_while(|argument| *argument != "--only").nth(1);
    let mut modes = Mode::all();
    if arguments.iter().any(|argument| argument == "--quick") {
        modes.truncate(1);
    }
    let cases = [
        fast_cu::cases(),
        thunder_kittens::cases(),
        deep_gemm::cases(),
        voltrix::cases(),
        own::cases(),
        bcsr::cases(),
    ];
    let chosen = cases
        .iter()
        .flatten()
        .filter(|case| only.is_none_or(|only| case.name.contains(only.as_str())));
    let failed = chosen.filter(|case| !run(case, Path::new(folder), &modes)).count();
    let good = failed == 0;
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
