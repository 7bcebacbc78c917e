//! The `ptx-emu` command: runs a kernel of a PTX file, or says what is in one.

#![forbid(unsafe_code)]

mod cli;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let result = cli::Command::parse().execute(&mut std::io::stdout().lock());
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the answer has read enough.
        Err(cli::CommandError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            // There is nobody left to tell where standard error is closed.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
