//! Cases and numbers for tests of decisions.

use std::slice;

use girih_formats::{Csr, FormatSpec};

use super::{Case, Construct, PanelConfig, SortConfig, SortCounts, TileConfig, TileCounts};
use crate::Isa;
use crate::analyze::{
    CacheMisses, MatrixNumbers, RowSharing, has_scattered_columns, row_span, unpredicted_share,
};
use crate::machine::Machine;

/// A case of CSR in f32 on AVX-512.
pub(crate) fn case(m: usize, k: usize, n: usize, threads: usize, machine: Machine) -> Case {
    let (spec, isa) = (FormatSpec::Csr, Isa::Avx512);
    let (value_bytes, sum_bytes) = (4, 4);
    let once = false;
    Case { spec, m, k, nnz: 0, stored: 0, n, once, threads, value_bytes, sum_bytes, isa, machine }
}

/// The numbers of a matrix.
pub(crate) struct Counted<'a>(pub(crate) &'a Csr<f32>);

impl MatrixNumbers for Counted<'_> {
    fn has_whole_rows(&self) -> bool {
        true
    }
    fn rows_fit_u32(&self) -> bool {
        true
    }
    fn row_sharing(&self) -> RowSharing {
        RowSharing::sample(self.0.pattern(), slice::from_ref(&(0..self.0.nrows())))
    }
    fn cache_misses(&self, rows: usize) -> Option<CacheMisses> {
        CacheMisses::count(&[self.0.col_idx()], self.0.ncols(), rows)
    }
    fn row_span(&self) -> usize {
        row_span(self.0.pattern())
    }
    fn unpredicted_share(&self, row_bytes: usize, cache: usize) -> f64 {
        unpredicted_share(self.0.pattern(), row_bytes, cache)
    }
    fn has_scattered_columns(&self) -> bool {
        has_scattered_columns(self.0.pattern())
    }
}

/// Numbers of no matrix, and whether there is memory for tiles, sorted rows and panels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedNumbers {
    pub(crate) sharing: RowSharing,
    pub(crate) misses: CacheMisses,
    pub(crate) unpredicted: f64,
    pub(crate) whole_rows: bool,
    pub(crate) memory: [bool; 3],
}

impl MatrixNumbers for FixedNumbers {
    fn has_whole_rows(&self) -> bool {
        self.whole_rows
    }
    fn rows_fit_u32(&self) -> bool {
        true
    }
    fn row_sharing(&self) -> RowSharing {
        self.sharing
    }
    fn cache_misses(&self, _: usize) -> Option<CacheMisses> {
        Some(self.misses)
    }
    fn row_span(&self) -> usize {
        usize::MAX
    }
    fn unpredicted_share(&self, _: usize, _: usize) -> f64 {
        self.unpredicted
    }
    fn has_scattered_columns(&self) -> bool {
        true
    }
}

impl Construct for FixedNumbers {
    fn build_tiles(&mut self, _: &TileConfig) -> Option<TileCounts> {
        self.memory[0].then_some(TileCounts { tiles: 100, loads: 64_000 })
    }
    fn build_sorted(&mut self, config: &SortConfig) -> Option<SortCounts> {
        let sliced_rows = if config.slices { 16 } else { 0 };
        let counts = SortCounts { sliced_rows, parts: 1, consecutive: true };
        self.memory[1].then_some(counts)
    }
    fn allocate_panels(&mut self, _: &PanelConfig) -> bool {
        self.memory[2]
    }
}
