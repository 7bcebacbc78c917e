//! What the operating system does to a command: memory it refuses, signals it sends, threads it starts.

pub(crate) mod memory;
pub(crate) mod signals;
pub(crate) mod threads;
