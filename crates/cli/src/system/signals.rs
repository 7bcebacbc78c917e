//! Signals that would end a command before it could tidy up.
#![expect(unsafe_code, reason = "the standard library has no functions for signals")]

/// Has a write past the limit of a file's size fail, rather than end the process: the error is reported, and
/// the unfinished file removed.
#[cfg(unix)]
pub(crate) fn survive_file_size_limit() {
    // SAFETY: no handler is installed that could run at a bad time; the signal is ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// There is no such limit.
#[cfg(not(unix))]
pub(crate) fn survive_file_size_limit() {}
