//! Whether B is copied into cache lines before it is multiplied.
//!
//! A row that begins beside a cache line takes one line more than it must, and each of its vectors is loaded from two.

use std::fmt;

use girih_simd::Isa;

use super::{CpuLowering, Kernel, LayoutChoice, ProductLowering};
use crate::thresholds::{
    HEADED_PAST_VECTORS, LINE_BYTES, LINE_HALVES_ROW_BYTES, LINE_LOADS, LINE_LOADS_EACH,
    LINE_LOADS_PRIVATE, LINE_ROW_BYTES, LINE_SHARED,
};

/// A copy of B in cache lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lines {
    /// Elements from a row to the next.
    pub(super) stride: usize,
    /// How many times entries load each row of B on average, and how many are needed.
    loads: f64,
    needed: usize,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { loads, needed, .. } = self;
        write!(f, "each row of B is loaded {loads:.1} times; {needed} are needed")
    }
}

/// Why B is not copied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NoLines {
    /// Kernels load a row of B for several entries, and multiply meanwhile.
    Shared,
    /// Values are widened as they are loaded, which takes longer than loading them from two lines.
    Widened,
    /// Rows have few bytes, of which a cache line holds several.
    Narrow { row_bytes: usize },
    /// Every other row begins with a cache line.
    Halves { row_bytes: usize },
    /// Vectors begin with cache lines anyway, before the first column, and those of C may go past the caches.
    Headed,
    /// The last-level cache does not hold the copy.
    Far { bytes: usize },
    /// Entries load each row of B too few times.
    Seldom(Lines),
}

impl fmt::Display for NoLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared => write!(f, "kernels load a row of B for several entries"),
            Self::Widened => write!(f, "values of B are widened as they are loaded"),
            Self::Narrow { row_bytes } => {
                write!(f, "rows of B have {row_bytes} bytes; more than {LINE_ROW_BYTES} are needed")
            }
            Self::Halves { row_bytes } => {
                write!(f, "every other row of {row_bytes} bytes begins with a cache line anyway")
            }
            Self::Headed => write!(f, "vectors begin with cache lines, before the first column"),
            Self::Far { bytes } => {
                write!(f, "the last-level cache does not hold a copy of {bytes} bytes")
            }
            Self::Seldom(lines) => lines.fmt(f),
        }
    }
}

impl CpuLowering {
    /// The copy of a B of `n` columns, if rows of CSR read it often enough. Several threads need more loads: each fetches the copy
    /// from the cores that made it.
    ///
    /// # Errors
    /// The reason against a copy.
    pub(super) fn lines(
        &self,
        product: &ProductLowering,
        n: usize,
        threads: usize,
    ) -> Result<Lines, NoLines> {
        let case = &self.case;
        let loads = match (&self.layout.choice, self.kernel(product)) {
            (LayoutChoice::Tiles(_, counts), Kernel::Tiles) => counts.loads,
            (_, Kernel::Rows | Kernel::Sorted) => case.nnz,
            _ => return Err(NoLines::Shared),
        };
        if case.nnz >= LINE_SHARED.saturating_mul(loads) {
            return Err(NoLines::Shared);
        }
        if !case.is_wide() {
            return Err(NoLines::Widened);
        }
        let row_bytes = case.row_bytes(n);
        if row_bytes <= LINE_ROW_BYTES {
            return Err(NoLines::Narrow { row_bytes });
        }
        let in_halves = row_bytes % LINE_BYTES == LINE_BYTES / 2;
        if in_halves && row_bytes >= LINE_HALVES_ROW_BYTES {
            return Err(NoLines::Halves { row_bytes });
        }
        let stride = case.line_stride(n);
        let is_whole = stride == n && row_bytes >= LINE_BYTES;
        let has_heads = case.isa == Isa::Avx512 && n >= HEADED_PAST_VECTORS * case.lanes();
        if is_whole && has_heads {
            return Err(NoLines::Headed);
        }
        let bytes = case.k.saturating_mul(case.row_bytes(stride));
        if bytes > case.machine.b_budget {
            return Err(NoLines::Far { bytes });
        }
        let needed = match self.workers(product, n, threads) {
            1 if bytes <= case.machine.private => LINE_LOADS_PRIVATE,
            1 => LINE_LOADS,
            workers => LINE_LOADS_EACH * workers,
        };
        let lines = Lines { stride, loads: loads as f64 / case.k as f64, needed };
        let is_seldom = loads < needed.saturating_mul(case.k);
        if is_seldom { Err(NoLines::Seldom(lines)) } else { Ok(lines) }
    }
}
