//! Errors across the ABI: kept per thread until the next one.

use std::cell::RefCell;
use std::error::Error;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of an ABI function; an error or a panic is kept for [`girih_last_error`]. Where the library is
/// compiled without unwinding, as in this workspace's release profile, a panic ends the process.
pub(crate) fn guard<T>(body: impl FnOnce() -> Outcome<T>) -> Option<T> {
    // Nothing that a panic could leave half-done outlives the call: results are built inside, and
    // of C only elements may have been written.
    let message = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => chain(&*error),
        Err(_) => "a bug: the library panicked".to_owned(),
    };
    let bytes: Vec<u8> = message.into_bytes().into_iter().filter(|&byte| byte != 0).collect();
    LAST.with(|last| *last.borrow_mut() = CString::new(bytes).unwrap_or_default());
    None
}

fn chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        // Some errors speak their source's words.
        if !message.ends_with(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        source = cause.source();
    }
    message
}

/// A C string as UTF-8.
///
/// # Safety
/// Null, or a string that ends in a zero byte and lives as long as the result.
pub(crate) unsafe fn text<'a>(what: &str, string: *const c_char) -> Outcome<&'a str> {
    if string.is_null() {
        return Err(format!("{what} is null").into());
    }
    // SAFETY: not null, and the caller vouches for the rest.
    let string = unsafe { CStr::from_ptr(string) };
    string.to_str().map_err(|error| format!("{what} is not UTF-8: {error}").into())
}

/// Why the last call on this thread that failed did: a string that lives until the next failure on
/// this thread, empty if none has failed.
#[unsafe(no_mangle)]
pub extern "C" fn girih_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}
