//! Where a problem was met.

use std::fmt;

/// A line of the source that the PTX was compiled from, known where `.loc` directives are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// Path as the `.file` directive has it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1, or 0 where the compiler does not say.
    pub column: u32,
}

/// One thread of a grid, or all threads of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadName {
    /// `%ctaid`.
    pub cta: [u32; 3],
    /// Warp in the CTA.
    pub warp: u32,
    /// Lane, or `None` for the whole warp.
    pub lane: Option<u32>,
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.cta;
        write!(f, "CTA ({x}, {y}, {z}), ")?;
        match self.lane {
            Some(lane) => {
                write!(f, "thread {} (warp {}, lane {lane})", self.warp * 32 + lane, self.warp)
            }
            None => write!(f, "warp {}", self.warp),
        }
    }
}

/// An instruction and who was executing it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Line of the PTX, from 1.
    pub line: u32,
    /// The instruction as written.
    pub text: String,
    /// Line of the source, where it is known.
    pub source: Option<SourceLine>,
    /// Cluster, in the order of the grid.
    pub cluster: u32,
    /// Who.
    pub thread: ThreadName,
    /// Instructions that the cluster's warps had executed before.
    pub step: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)?;
        if let Some(source) = &self.source {
            write!(f, " [{}:{}]", source.file, source.line)?;
        }
        write!(f, ", {}", self.thread)
    }
}
