//! Commands and what goes wrong with them.

mod argument;
mod check;
mod map;
mod run;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ptx_emu::{LaunchError, ParseError};
use thiserror::Error;

/// Runs Hopper PTX on the CPU.
#[derive(Debug, clap::Parser)]
#[command(version)]
pub(crate) enum Command {
    /// Reads a file and says what is in it: kernels, what they take, which instructions they use;
    /// or what is wrong with it, line by line.
    Check(check::Check),
    /// Runs a kernel, and says what it executed or what it did wrong.
    Run(Box<run::Run>),
}

impl Command {
    pub(crate) fn execute(&self, out: &mut dyn Write) -> Result<(), CommandError> {
        match self {
            Self::Check(check) => check.execute(out),
            Self::Run(run) => run.execute(out),
        }
    }
}

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum CommandError {
    /// A file that cannot be read.
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// Standard output that cannot be written.
    #[error("writing the answer: {0}")]
    Write(#[from] io::Error),
    /// A file that cannot be written.
    #[error("{}: {source}", path.display())]
    Output { path: PathBuf, source: io::Error },
    /// A launch of one among several kernels.
    #[error("{} has the kernels {}: choose one with --entry", path.display(), names.join(", "))]
    Entry { path: PathBuf, names: Vec<String> },
    /// A name that no `--buffer` has.
    #[error("no --buffer is named {0}")]
    Buffer(String),
    /// An argument that cannot be made.
    #[error(transparent)]
    Argument(#[from] argument::ArgumentError),
    /// A launch that the device would refuse, or that found something wrong.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A file that is not PTX, or uses what is not executed here.
    #[error("{}", in_file(path, errors))]
    Parse { path: PathBuf, errors: Vec<ParseError> },
}

impl CommandError {
    /// 3 for what a kernel did wrong, 2 for bad input, 1 for all else.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Write(_) | Self::Output { .. } => 1,
            Self::Launch(LaunchError::Fault(_)) => 3,
            _ => 2,
        }
    }
}

fn in_file(path: &Path, errors: &[ParseError]) -> String {
    let lines: Vec<_> = errors.iter().map(|error| format!("{}: {error}", path.display())).collect();
    lines.join("\nerror: ")
}

fn read(path: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(path)
        .map_err(|source| CommandError::Read { path: path.to_owned(), source })
}
