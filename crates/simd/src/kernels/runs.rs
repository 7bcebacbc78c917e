//! Columns of A in runs of neighbours.

/// Run `i` covers the columns `starts[i]·pitch + offset ..` for `len` columns, or up to `ncols`.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The first column of each run, in units of `pitch`.
    pub starts: &'a [u32],
    /// Columns of a unit.
    pub pitch: usize,
    /// Added to every column.
    pub offset: usize,
    /// Columns of each run.
    pub len: usize,
    /// Columns of A: rows of B.
    pub ncols: usize,
}

impl<'a> Runs<'a> {
    /// The columns of a list.
    pub fn columns(starts: &'a [u32], ncols: usize) -> Self {
        Self { starts, pitch: 1, offset: 0, len: 1, ncols }
    }

    /// Whether every run is one column.
    #[inline(always)]
    pub fn are_columns(&self) -> bool {
        (self.pitch, self.offset, self.len) == (1, 0, 1)
    }

    /// The first column of a run, and how many of its columns exist.
    #[inline(always)]
    pub fn run(&self, run: u32) -> (usize, usize) {
        let start = run as usize * self.pitch + self.offset;
        (start, self.len.min(self.ncols.saturating_sub(start)))
    }

    /// How many columns of all runs exist; only the last run may have fewer than `len`.
    pub fn count(&self) -> usize {
        match self.starts {
            [whole @ .., last] => whole.len() * self.len + self.run(*last).1,
            [] => 0,
        }
    }
}
