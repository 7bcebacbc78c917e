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

/// Has the process say why it ends when a file that it has mapped is cut off: the system has no error for that, but
/// a signal (SIGBUS).
#[cfg(unix)]
pub(crate) fn explain_truncation() {
    extern "C" fn explain(_: libc::c_int) {
        let line = b"girih: a mapped file was changed while it was in use; run the command again, without --mmap\n";
        // SAFETY: both functions may be called in a handler, the range is that of a constant, and nothing runs
        // after them.
        unsafe {
            libc::write(2, line.as_ptr().cast(), line.len());
            libc::_exit(crate::error::Class::Failed.exit_code().into());
        }
    }
    let handler: extern "C" fn(libc::c_int) = explain;
    // SAFETY: the handler does nothing but what handlers may do, and does not return.
    unsafe { libc::signal(libc::SIGBUS, handler as libc::sighandler_t) };
}

/// There is no such signal.
#[cfg(not(unix))]
pub(crate) fn explain_truncation() {}
