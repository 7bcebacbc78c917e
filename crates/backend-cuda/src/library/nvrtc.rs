//! NVRTC, the run-time compiler.
//!
//! Its functions are looked up here rather than through cudarc: so the library may lie anywhere, one
//! that lacks a function is an error and not a panic, and results are numbers, whatever a newer
//! release returns.

use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::path::Path;
use std::ptr;

use libloading::Library;

use super::{FoundLibrary, LibrarySearch, load};
use crate::CudaError;

type Handle = *mut std::ffi::c_void;
type Status = c_int;

const SUCCESS: Status = 0;
const COMPILATION: Status = 6;

const LIBRARY: &str = "NVRTC";

/// The releases looked for, newest first, then whatever is the machine's default.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

library_functions! {
    version = "nvrtcVersion": fn(*mut c_int, *mut c_int) -> Status;
    error_string = "nvrtcGetErrorString": fn(Status) -> *const c_char;
    create = "nvrtcCreateProgram": fn(
        *mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
    ) -> Status;
    destroy = "nvrtcDestroyProgram": fn(*mut Handle) -> Status;
    compile = "nvrtcCompileProgram": fn(Handle, c_int, *const *const c_char) -> Status;
    log_size = "nvrtcGetProgramLogSize": fn(Handle, *mut usize) -> Status;
    log = "nvrtcGetProgramLog": fn(Handle, *mut c_char) -> Status;
    cubin_size = "nvrtcGetCUBINSize": fn(Handle, *mut usize) -> Status;
    cubin = "nvrtcGetCUBIN": fn(Handle, *mut c_char) -> Status;
    ptx_size = "nvrtcGetPTXSize": fn(Handle, *mut usize) -> Status;
    ptx = "nvrtcGetPTX": fn(Handle, *mut c_char) -> Status;
}

/// What is compiled: a source, the headers it includes, and options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program<'a> {
    /// The source's name, for messages.
    pub(crate) name: &'a str,
    /// The source.
    pub(crate) source: &'a str,
    /// Headers by the name they are included by.
    pub(crate) headers: &'a [(String, String)],
    /// Command-line options.
    pub(crate) options: &'a [String],
}

/// What NVRTC made of a program.
#[derive(Debug)]
pub(crate) struct Compiled {
    /// Nothing if the program does not compile.
    pub(crate) code: Option<Code>,
    /// What the compiler and assembler printed.
    pub(crate) log: String,
}

/// A program as code.
#[derive(Debug)]
pub(crate) struct Code {
    /// What was assembled, or would be.
    pub(crate) ptx: String,
    /// The machine code; empty for a virtual architecture, which has none.
    pub(crate) cubin: Vec<u8>,
}

/// NVRTC, loaded.
pub struct Nvrtc {
    functions: Functions,
    /// What the functions are in.
    library: FoundLibrary,
    version: (u32, u32),
    /// What they load by name: it must be loaded already where the loader would not find it.
    _builtins: Vec<Library>,
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, version, .. } = self;
        f.debug_struct("Nvrtc").field("path", &library.path).field("version", version).finish()
    }
}

impl Nvrtc {
    /// Finds and loads it.
    ///
    /// # Errors
    /// [`CudaError::LibraryNotFound`], or [`CudaError::FunctionMissing`] if it is too old.
    pub fn load(search: &LibrarySearch) -> Result<Self, CudaError> {
        let library = search.open(LIBRARY, &NAMES)?;
        let functions = Functions::of(&library)?;
        let builtins = library.folder.as_deref().map(builtins).unwrap_or_default();
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both point to integers.
        let status = unsafe { (functions.version)(&raw mut major, &raw mut minor) };
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        let this = Self { functions, library, version, _builtins: builtins };
        this.check("tell its version", status)?;
        Ok(this)
    }

    /// Where it was found: a path, or the name that the loader knew.
    #[must_use]
    pub fn path(&self) -> &str {
        self.library.path()
    }

    /// Its major and minor version.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Compiles a program: to machine code too if its options name an architecture that has some.
    ///
    /// # Errors
    /// [`CudaError::Nvrtc`] if NVRTC fails; a program with errors is no such failure.
    pub(crate) fn compile(&self, program: &Program<'_>) -> Result<Compiled, CudaError> {
        let strings = Strings::of(program)?;
        let mut handle = ptr::null_mut();
        // SAFETY: strings end with a zero, both arrays have as many as is said, and all outlive
        // the program.
        let status = unsafe {
            (self.functions.create)(
                &raw mut handle,
                strings.source.as_ptr(),
                strings.name.as_ptr(),
                strings.headers.len() as c_int,
                strings.headers.as_ptr(),
                strings.header_names.as_ptr(),
            )
        };
        self.check("take a program", status)?;
        let handle = Guard { nvrtc: self, handle };
        // SAFETY: the program is alive and there are as many options as is said.
        let status = unsafe {
            let options = &strings.options;
            (self.functions.compile)(handle.handle, options.len() as c_int, options.as_ptr())
        };
        let log = self.output(&handle, self.functions.log_size, self.functions.log)?;
        let log = text(log).trim().to_owned();
        if status == COMPILATION {
            return Ok(Compiled { code: None, log });
        }
        self.check("compile", status).map_err(|error| match error {
            CudaError::Nvrtc { operation, reason } if !log.is_empty() => {
                CudaError::Nvrtc { operation, reason: format!("{reason}\n{log}") }
            }
            error => error,
        })?;
        let ptx = text(self.output(&handle, self.functions.ptx_size, self.functions.ptx)?);
        let cubin = self.output(&handle, self.functions.cubin_size, self.functions.cubin)?;
        Ok(Compiled { code: Some(Code { ptx, cubin }), log })
    }

    /// What a function writes whose size another tells; nothing if that is zero.
    fn output(
        &self,
        program: &Guard<'_>,
        size: unsafe extern "C" fn(Handle, *mut usize) -> Status,
        get: unsafe extern "C" fn(Handle, *mut c_char) -> Status,
    ) -> Result<Vec<u8>, CudaError> {
        let mut len = 0;
        // SAFETY: the program is alive and the size is written to an integer.
        self.check("tell a size", unsafe { size(program.handle, &raw mut len) })?;
        if len == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0u8; len];
        // SAFETY: as many bytes as NVRTC said.
        self.check("hand over", unsafe { get(program.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    fn check(&self, operation: &'static str, status: Status) -> Result<(), CudaError> {
        if status == SUCCESS {
            return Ok(());
        }
        // SAFETY: any number has a text, which is the library's and static.
        let text = unsafe { (self.functions.error_string)(status) };
        let reason = if text.is_null() {
            format!("error {status}")
        } else {
            // SAFETY: it is not null and ends with a zero.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(CudaError::Nvrtc { operation, reason })
    }
}

/// Bytes up to the first zero, as text.
fn text(mut bytes: Vec<u8>) -> String {
    bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A program, destroyed when dropped.
struct Guard<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. There is nobody to tell of a failure.
        unsafe { (self.nvrtc.functions.destroy)(&raw mut self.handle) };
    }
}

/// A program's strings as C has them.
struct Strings {
    source: CString,
    name: CString,
    headers: Vec<*const c_char>,
    header_names: Vec<*const c_char>,
    options: Vec<*const c_char>,
    /// What the pointers point into.
    _owned: Vec<CString>,
}

impl Strings {
    fn of(program: &Program<'_>) -> Result<Self, CudaError> {
        let string = |text: &str| {
            CString::new(text).map_err(|_| CudaError::Nvrtc {
                operation: "take a program",
                reason: format!("{} holds a zero byte", program.name),
            })
        };
        let mut owned = Vec::new();
        let mut pointer = |text: &str| {
            let string = string(text)?;
            let pointer = string.as_ptr();
            owned.push(string);
            Ok(pointer)
        };
        let texts = program.headers.iter().map(|(_, text)| pointer(text));
        let headers = texts.collect::<Result<Vec<_>, CudaError>>()?;
        let names = program.headers.iter().map(|(name, _)| pointer(name));
        let header_names = names.collect::<Result<Vec<_>, CudaError>>()?;
        let options = program.options.iter().map(|option| pointer(option));
        let options = options.collect::<Result<Vec<_>, CudaError>>()?;
        let (source, name) = (string(program.source)?, string(program.name)?);
        Ok(Self { source, name, headers, header_names, options, _owned: owned })
    }
}

/// The built-in functions that NVRTC loads by name, from the folder it lies in.
fn builtins(folder: &Path) -> Vec<Library> {
    let Ok(files) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<_> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("libnvrtc-builtins.so")
        })
        .collect();
    paths.sort();
    // One that does not load is reported by NVRTC, which has the better message.
    paths.iter().filter_map(|path| load(path.as_os_str()).ok()).collect()
}
