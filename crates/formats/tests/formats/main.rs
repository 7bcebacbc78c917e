//! Formats, conversions and files, through the public interface.

mod convert;
mod interop;
mod io;
