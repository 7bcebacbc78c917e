//! The threads of a command.

use std::env;
use std::num::NonZero;
use std::thread;

use crate::error::CliError;

/// The variable that says how many threads there are to be.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Threads that a command starts at the most for each CPU, and whatever the machine.
const MOST_PER_CPU: usize = 8;
const MOST_ANYWHERE: usize = 256;

/// Starts the threads of parallel loops: one for each CPU, or as many as `RAYON_NUM_THREADS` says.
///
/// # Errors
/// If that is out of reason, or the system starts no more.
pub(crate) fn start() -> Result<(), CliError> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let most = (MOST_PER_CPU * cpus).max(MOST_ANYWHERE);
    // What is no number, rayon ignores.
    let wanted = env::var(VARIABLE).ok().and_then(|value| value.parse::<usize>().ok());
    if let Some(wanted) = wanted
        && wanted > most
    {
        return Err(CliError::usage(format!(
            "{VARIABLE} is {wanted}; this machine has {cpus} CPUs, and more than {most} threads would only wait \
             for them"
        )));
    }
    // Otherwise the pool starts at the first parallel loop, where a failure is a panic.
    rayon::ThreadPoolBuilder::new().build_global().map_err(|error| {
        let hint = "the environment variable RAYON_NUM_THREADS sets their number";
        CliError::failed(format!("cannot start the threads ({hint})")).because(error)
    })
}
