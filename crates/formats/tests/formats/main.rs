//! Formats, conversions, generators and files, through the public interface.

mod convert;
mod generate;
mod interop;
mod io;
