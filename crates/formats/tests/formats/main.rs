//! Formats, conversions and files, through the public interface.

mod algebra;
mod convert;
mod interop;
mod io;
mod softmax;
