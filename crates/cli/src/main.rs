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
mod system;

use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::error::CliError;
use crate::output::escape::controls;
use crate::output::file;
use crate::output::progress::Progress;
use crate::output::report::{FailureReport, Report};
use crate::system::{memory, signals, threads};

#[global_allocator]
static ALLOCATOR: memory::EndOnRefusal = memory::EndOnRefusal;

/// The exit code of a process that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => return refuse(&refused),
    };
    let json = cli.command.json();
    memory::reserve(json);
    end_on_panic(json);
    signals::survive_file_size_limit();
    let interrupted = ctrlc::set_handler(|| {
        file::remove_unfinished();
        std::process::exit(INTERRUPTED);
    });
    if let Err(error) = interrupted {
        say(&format!("note: an interruption may leave a temporary file behind: {error}"));
    }
    if let Err(error) = threads::start() {
        return fail(&error, json);
    }
    let progress = Progress::on_stderr();
    let result = commands::run(&cli.command, &progress);
    progress.done();
    match result {
        Ok(report) => finish(&report, json),
        Err(error) => fail(&error, json),
    }
}

/// Has a panic on any thread end the process, once its message is printed. The program is compiled without
/// unwinding, which takes a tenth of its size.
fn end_on_panic(json: bool) {
    let print_message = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        print_message(panic);
        file::remove_unfinished_now();
        let bug = CliError::failed("girih has a bug; the message above says where");
        let _ = fail(&bug, json);
        std::process::exit(bug.exit_code().into());
    }));
}

/// Prints a report.
fn finish(report: &Report, json: bool) -> ExitCode {
    let text =
        if json { format!("{}\n", report.json) } else { format!("{}\n", controls(&report.text)) };
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
    let printed = if refused.use_stderr() && has_controls() {
        // The message repeats arguments as they are.
        say(controls(&refused.render().to_string()).trim_end());
        Ok(())
    } else {
        refused.print().and_then(|()| io::stdout().flush())
    };
    // A reader that closed its end has what it wanted.
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
        && !refused.use_stderr()
    {
        let unwritten = CliError::failed("cannot write to standard output").because(error);
        return fail(&unwritten, false);
    }
    let exit_code = refused.exit_code() as u8;
    if refused.use_stderr() && std::env::args_os().any(|arg| arg == "--json") {
        print_failure(refused.kind().to_string(), exit_code);
    }
    exit_code.into()
}

/// Whether an argument could steer a terminal.
fn has_controls() -> bool {
    std::env::args_os().any(|arg| arg.to_string_lossy().contains(char::is_control))
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
    let _ = writeln!(io::stderr(), "{}", controls(line));
}
