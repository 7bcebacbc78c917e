//! What the library promises its users, timed: whole jobs beside sprs, scipy and torch, products with the transpose,
//! new values, pairs, sampled products and batches.
//!
//! ```sh
//! cargo run --release -p girih-measure --example library              # every section
//! cargo run --release -p girih-measure --example library -- jobs sddmm
//! cargo run --release -p girih-measure --example library -- --suite FILE.toml
//! ```
//!
//! `GIRIH_MATRICES` names a folder of Matrix Market files; those that `suite.toml` names and the folder lacks are left
//! out, and said so. `GIRIH_PYTHON` names an interpreter with scipy, torch or both, to stand beside.
//! Every output is checked before it is timed. Sides take turns, and times are the least of several: see `clock.rs`.
//! A ratio is how many times as fast girih is as what it stands beside.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark's report")]

mod batches;
mod clock;
mod jobs;
mod pairs;
mod peer;
mod problem;
mod refresh;
mod report;
mod sddmm;
mod suite;
mod transposed;
mod value;

use std::process::ExitCode;

use girih_measure::machine::Machine;
use peer::Peer;
use report::Report;
use suite::Suite;

/// What anything here fails with: it ends the run.
type Failure = Box<dyn std::error::Error>;

/// A section: its name, and what measures it.
type Section = (&'static str, fn(&Suite, &mut Option<Peer>, &mut Report) -> Result<(), Failure>);

const SECTIONS: [Section; 6] = [
    ("jobs", jobs::measure),
    ("transposed", transposed::measure),
    ("refresh", refresh::measure),
    ("pairs", pairs::measure),
    ("sddmm", sddmm::measure),
    ("batches", batches::measure),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let (mut suite, mut wanted) = (Suite::standard()?, Vec::new());
    while let Some(arg) = args.next() {
        match &*arg {
            "--suite" => suite = Suite::read(&args.next().ok_or("--suite needs a file")?)?,
            name if SECTIONS.iter().any(|section| section.0 == name) => wanted.push(arg),
            other => return Err(format!("no section {other:?}").into()),
        }
    }
    let mut peer = Peer::start()?;
    let threads = rayon::current_num_threads();
    let cpu = Machine::this().cpu.unwrap_or_else(|| "a processor without a name".to_owned());
    println!("{cpu}, {threads} threads");
    let mut report = Report::default();
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            measure(&suite, &mut peer, &mut report)?;
        }
    }
    report.summary();
    Ok(())
}
