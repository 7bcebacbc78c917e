//! What decisions ask of a matrix.

use super::csr::{Sorting, SortingMade, Tiles, TilesMade};
use super::packing::Panels;
use crate::analyze::Fetches;
use crate::analyze::Sharing;

/// Numbers of a CSR matrix and its tasks, each found when it is first needed, since some take as long as a product;
/// and a hand that makes what was decided, or only counts it.
pub(crate) trait Facts {
    /// Whether no row is multiplied in parts.
    fn has_whole_rows(&self) -> bool;
    /// Whether the rows of the layout can be numbered in 32 bits.
    fn is_numbered(&self) -> bool;
    /// What neighbouring rows share, judged by some of the tasks.
    fn sharing(&self) -> Sharing;
    /// How often a cache for so many rows of B fetches them; `None` if there is no memory to find out.
    fn fetches(&self, rows: usize) -> Option<Fetches>;
    /// Rows of B between the first and the last that a row of A meets, on average over the entries.
    fn span(&self) -> usize;
    /// The share of entries whose row of B, of so many bytes, comes unpredicted from beyond a cache.
    fn unpredicted(&self, row_bytes: usize, cache: usize) -> f64;
    /// Whether most entries do not follow the one before by a column.
    fn leaps(&self) -> bool;

    /// Copies the matrix in tiles; `None` if there is no memory for it.
    fn make_tiles(&mut self, tiles: &Tiles) -> Option<TilesMade>;
    /// Copies the matrix with its rows sorted; `None` if there is no memory for it.
    fn make_sorted(&mut self, sorting: &Sorting) -> Option<SortingMade>;
    /// Allocates scratch for packed panels; whether there was memory for it.
    fn make_panels(&mut self, panels: &Panels) -> bool;
}

#[cfg(test)]
pub(super) mod testing {
    use std::slice;

    use girih_formats::{Csr, FormatSpec};

    use super::*;
    use crate::Isa;
    use crate::analyze::{leaps, span, unpredicted};
    use crate::lowering::Case;
    use crate::machine::Machine;

    /// A case of CSR in f32 on AVX-512.
    pub(crate) fn case(m: usize, k: usize, n: usize, threads: usize, machine: Machine) -> Case {
        let (spec, isa) = (FormatSpec::Csr, Isa::Avx512);
        let (value_bytes, sum_bytes) = (4, 4);
        Case { spec, m, k, nnz: 0, stored: 0, n, threads, value_bytes, sum_bytes, isa, machine }
    }

    /// The numbers of a matrix, of which nothing is made.
    pub(crate) struct Of<'a>(pub(crate) &'a Csr<f32>);

    impl Facts for Of<'_> {
        fn has_whole_rows(&self) -> bool {
            true
        }
        fn is_numbered(&self) -> bool {
            true
        }
        fn sharing(&self) -> Sharing {
            Sharing::of(self.0, slice::from_ref(&(0..self.0.nrows())))
        }
        fn fetches(&self, rows: usize) -> Option<Fetches> {
            Fetches::of(&[self.0.col_idx()], self.0.ncols(), rows)
        }
        fn span(&self) -> usize {
            span(self.0)
        }
        fn unpredicted(&self, row_bytes: usize, cache: usize) -> f64 {
            unpredicted(self.0, row_bytes, cache)
        }
        fn leaps(&self) -> bool {
            leaps(self.0)
        }
        fn make_tiles(&mut self, _: &Tiles) -> Option<TilesMade> {
            None
        }
        fn make_sorted(&mut self, _: &Sorting) -> Option<SortingMade> {
            None
        }
        fn make_panels(&mut self, _: &Panels) -> bool {
            false
        }
    }

    /// Numbers of no matrix, and whether there is memory for what is made.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Numbers {
        pub(crate) sharing: Sharing,
        pub(crate) fetches: Fetches,
        pub(crate) unpredicted: f64,
        pub(crate) whole_rows: bool,
        pub(crate) memory: [bool; 3],
    }

    impl Facts for Numbers {
        fn has_whole_rows(&self) -> bool {
            self.whole_rows
        }
        fn is_numbered(&self) -> bool {
            true
        }
        fn sharing(&self) -> Sharing {
            self.sharing
        }
        fn fetches(&self, _: usize) -> Option<Fetches> {
            Some(self.fetches)
        }
        fn span(&self) -> usize {
            usize::MAX
        }
        fn unpredicted(&self, _: usize, _: usize) -> f64 {
            self.unpredicted
        }
        fn leaps(&self) -> bool {
            true
        }
        fn make_tiles(&mut self, _: &Tiles) -> Option<TilesMade> {
            self.memory[0].then_some(TilesMade { tiles: 100, loads: 64_000 })
        }
        fn make_sorted(&mut self, how: &Sorting) -> Option<SortingMade> {
            let sliced_rows = if how.slices { 16 } else { 0 };
            let made = SortingMade { sliced_rows, parts: 1, consecutive: true };
            self.memory[1].then_some(made)
        }
        fn make_panels(&mut self, _: &Panels) -> bool {
            self.memory[2]
        }
    }
}
