//! When the system refuses memory: one line, and the command ends with exit code 1.
//!
//! Large arrays are allocated by functions that return an error. Everything else that allocates cannot, and
//! the standard library would abort the process, after a message that itself allocates. So the allocator of
//! the command ends it, in these steps: it gives back a reserve, removes unfinished output, says what
//! happened, and exits without running what others registered for the end.
#![expect(unsafe_code, reason = "an allocator is unsafe to implement; this one passes calls on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::error::Class;
use crate::output::file;

/// Bytes set aside for the end of the command. So large a block goes back to the system when it is freed.
const RESERVE: Layout = match Layout::from_size_align(1 << 20, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("the layout is a constant"),
};

static RESERVED: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Whether standard output is to get a JSON object.
static JSON: AtomicBool = AtomicBool::new(false);

/// The thread that ends the process, by the address of its mark; 0 if none does.
static ENDING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Its address tells threads apart. It needs neither memory nor a destructor.
    static MARK: u8 = const { 0 };
}

/// The system's allocator, which ends the process where that has no memory.
#[derive(Debug)]
pub(crate) struct EndOnRefusal;

/// Sets memory aside for the end of the command, of which standard output gets a JSON object if `json`.
pub(crate) fn reserve(json: bool) {
    JSON.store(json, Ordering::Relaxed);
    // SAFETY: the layout's size is not 0. A null pointer means that nothing is set aside.
    RESERVED.store(unsafe { System.alloc(RESERVE) }, Ordering::Relaxed);
}

/// Ends the process, which was refused `bytes` more.
#[cold]
fn end(bytes: usize) -> ! {
    let this = MARK.with(|mark| ptr::from_ref(mark).addr());
    match ENDING.compare_exchange(0, this, Ordering::Relaxed, Ordering::Relaxed) {
        // This thread was refused again while it ended the process.
        Err(ending) if ending == this => exit(),
        // Sleeping takes no memory.
        Err(_) => loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
        },
        Ok(_) => {}
    }
    let reserved = RESERVED.swap(ptr::null_mut(), Ordering::Relaxed);
    if !reserved.is_null() {
        // SAFETY: `reserve` allocated it with this allocator and layout, and nobody else takes it.
        unsafe { System.dealloc(reserved, RESERVE) };
    }
    file::remove_unfinished_now();
    let what = format!(
        "out of memory: the system refused {bytes} bytes more; free some, raise the limit of the process, or \
         choose a smaller matrix, n or format"
    );
    write(2, &format!("girih: {what}\n"));
    if JSON.load(Ordering::Relaxed) {
        write(
            1,
            &format!("{{\"error\":\"{what}\",\"exit_code\":{}}}\n", Class::Failed.exit_code()),
        );
    }
    exit()
}

/// Ends the process at once: what runs at an ordinary end may wait for the thread that was refused.
#[cfg(unix)]
fn exit() -> ! {
    // SAFETY: ends the process, whatever state it is in.
    unsafe { libc::_exit(Class::Failed.exit_code().into()) }
}

#[cfg(not(unix))]
fn exit() -> ! {
    std::process::exit(Class::Failed.exit_code().into())
}

/// Writes to a descriptor past the locks of standard streams, which the refused thread may hold.
#[cfg(unix)]
fn write(descriptor: libc::c_int, text: &str) {
    // SAFETY: the range is that of a string. Nobody is left to tell if it cannot be written.
    let _ = unsafe { libc::write(descriptor, text.as_ptr().cast(), text.len()) };
}

#[cfg(not(unix))]
fn write(descriptor: i32, text: &str) {
    use std::io::Write;
    let _ = match descriptor {
        1 => std::io::stdout().write_all(text.as_bytes()),
        _ => std::io::stderr().write_all(text.as_bytes()),
    };
}

// SAFETY: every call is passed on to the system's allocator as it came, and every pointer that is returned is
// one of its own.
unsafe impl GlobalAlloc for EndOnRefusal {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `alloc`'s contract.
        let at = unsafe { System.alloc(layout) };
        if at.is_null() { end(layout.size()) } else { at }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps `alloc_zeroed`'s contract.
        let at = unsafe { System.alloc_zeroed(layout) };
        if at.is_null() { end(layout.size()) } else { at }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps `realloc`'s contract.
        let at = unsafe { System.realloc(at, layout, size) };
        if at.is_null() { end(size) } else { at }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(at, layout) }
    }
}
