//! The `girih` command: inspect, plan, multiply and verify sparse matrices.
//!
//! A command computes a report; only this file prints it and chooses the exit code. Standard output
//! gets the report and nothing else.

#![deny(unsafe_code)]

mod args;
mod commands;
mod error;
mod input;
mod output;

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::error::CliError;
use crate::output::file;
use crate::output::progress::Progress;
use crate::output::report::{FailureReport, Report};

/// The exit code of a process that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return refuse(&refused),
    };
    let interrupted = ctrlc::set_handler(|| {
        file::remove_unfinished();
        std::process::exit(INTERRUPTED);
    });
    if let Err(error) = interrupted {
        say(&format!("note: an interruption may leave a temporary file behind: {error}"));
    }
    let json = cli.command.json();
    // Otherwise the pool starts at the first parallel loop, where a failure is a panic.
    if let Err(error) = rayon::ThreadPoolBuilder::new().build_global() {
        let hint = "the environment variable RAYON_NUM_THREADS sets their number";
        let failed = CliError::failed(format!("cannot start the threads ({hint})"));
        return fail(&failed.because(error), json);
    }
    let progress = Progress::on_stderr();
    let result = panic::catch_unwind(AssertUnwindSafe(|| commands::run(&cli.command, &progress)))
        .unwrap_or_else(|_| Err(CliError::failed("girih has a bug; the message above says where")));
    progress.done();
    match result {
        Ok(report) => finish(&report, json),
        Err(error) => fail(&error, json),
    }
}

/// Prints a report.
fn finish(report: &Report, json: bool) -> ExitCode {
    let text = if json { format!("{}\n", report.json) } else { format!("{}\n", report.text) };
    if let Err(error) = print(&text) {
        return fail(&error, false);
    }
    match &report.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            say(&format!("girih: {failure}"));
            failure.exit_code().into()
        }
    }
}

/// Prints the error of a command that has no report.
fn fail(error: &CliError, json: bool) -> ExitCode {
    let (message, exit_code) = (error.to_string(), error.exit_code());
    say(&format!("girih: {message}"));
    if json {
        print_failure(message, exit_code);
    }
    exit_code.into()
}

/// Answers options that can't be parsed, and `--help` and `--version`, which are reported alike.
fn refuse(refused: &clap::Error) -> ExitCode {
    // A reader that closed its end has what it wanted.
    let _ = refused.print();
    let exit_code = refused.exit_code() as u8;
    if refused.use_stderr() && std::env::args_os().any(|arg| arg == "--json") {
        print_failure(refused.kind().to_string(), exit_code);
    }
    exit_code.into()
}

fn print_failure(error: String, exit_code: u8) {
    if let Ok(json) = serde_json::to_string(&FailureReport { error, exit_code }) {
        // The message went to standard error already and the exit code stays what it is.
        let _ = print(&format!("{json}\n"));
    }
}

/// Writes to standard output. A reader that stops early, as `head` does, is not an error.
fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CliError::failed("cannot write to standard output").because(error))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error; a closed one is not an error.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
