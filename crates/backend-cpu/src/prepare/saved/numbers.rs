//! The numbers of a matrix on which decisions rest: recorded while they are counted, and replayed from a
//! plan.

use std::cell::{Cell, RefCell};

use girih_planner::Fingerprint;
use serde::{Deserialize, Serialize};

use super::LoadError;
use crate::analyze::{CacheMisses, MatrixNumbers, RowSharing};
use crate::kernels::CpuScalar;
use crate::lowering::{
    Case, Construct, PanelConfig, SortConfig, SortCounts, TileConfig, TileCounts,
};
use crate::prepare::LayoutBuilder;

/// The most numbers of a kind that decisions need.
const MOST: usize = 64;

/// The [`MatrixNumbers`] that decisions needed. Field names in JSON are part of the file format.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedNumbers {
    /// The matrix that they describe.
    pub(super) matrix: Option<Fingerprint>,
    sharing: Option<RowSharing>,
    /// By rows of B that the cache holds.
    #[serde(rename = "fetches")]
    cache_misses: Vec<(usize, Option<CacheMisses>)>,
    #[serde(rename = "span")]
    row_span: Option<usize>,
    /// By bytes of a row of B, and of the cache.
    unpredicted: Vec<(usize, usize, f64)>,
    #[serde(rename = "leaps")]
    has_scattered_columns: Option<bool>,
    copy: Option<SavedCopy>,
}

/// How a copy of the matrix was made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum SavedCopy {
    Tiles(TileConfig),
    Sorted(SortConfig),
}

impl SavedNumbers {
    /// Checks that a matrix of this size can have these numbers, so that decisions compute with them as with
    /// its own.
    ///
    /// # Errors
    /// Which number it can't have.
    pub(super) fn check(&self, case: &Case) -> Result<(), String> {
        let Self { sharing, cache_misses, row_span, unpredicted, .. } = self;
        let within = |what: &str, number: usize, most: usize| {
            let fits = number <= most;
            fits.then_some(()).ok_or_else(|| format!("its {what} are {number} of {most}"))
        };
        if cache_misses.len() > MOST || unpredicted.len() > MOST {
            return Err("it has too many numbers".to_owned());
        }
        if let Some(RowSharing { tiles, cols, spared, changes, slabs }) = *sharing {
            within("tiles", tiles, case.m)?;
            within("columns of tiles", cols, case.nnz)?;
            within("spared loads", spared, case.nnz)?;
            within("changes of patterns", changes, case.nnz)?;
            slabs.into_iter().try_for_each(|slabs| within("slabs of tiles", slabs, case.nnz))?;
        }
        for misses in cache_misses.iter().filter_map(|(_, misses)| *misses) {
            within("rows of B that are used", misses.used_rows, case.k)?;
            within("fetches of rows of B", misses.misses, case.nnz)?;
        }
        within("rows of B that a row spans", row_span.unwrap_or(0), case.k)?;
        if !unpredicted.iter().all(|(.., share)| share.is_finite()) {
            return Err("a share of entries is not finite".to_owned());
        }
        Ok(())
    }
}

/// Counts numbers and records them.
pub(super) struct RecordedNumbers<M> {
    matrix: M,
    numbers: RefCell<SavedNumbers>,
}

impl<M> RecordedNumbers<M> {
    pub(super) fn new(matrix: M) -> Self {
        Self { matrix, numbers: RefCell::default() }
    }

    /// What was made, and the numbers that led to it, with the fingerprint of the matrix.
    pub(super) fn into_parts(self, matrix: Option<Fingerprint>) -> (M, SavedNumbers) {
        (self.matrix, SavedNumbers { matrix, ..self.numbers.into_inner() })
    }
}

impl<M: MatrixNumbers> MatrixNumbers for RecordedNumbers<M> {
    fn has_whole_rows(&self) -> bool {
        self.matrix.has_whole_rows()
    }

    fn rows_fit_u32(&self) -> bool {
        self.matrix.rows_fit_u32()
    }

    fn row_sharing(&self) -> RowSharing {
        *self.numbers.borrow_mut().sharing.get_or_insert_with(|| self.matrix.row_sharing())
    }

    fn cache_misses(&self, rows: usize) -> Option<CacheMisses> {
        let misses = self.matrix.cache_misses(rows);
        self.numbers.borrow_mut().cache_misses.push((rows, misses));
        misses
    }

    fn row_span(&self) -> usize {
        *self.numbers.borrow_mut().row_span.get_or_insert_with(|| self.matrix.row_span())
    }

    fn unpredicted_share(&self, row_bytes: usize, cache: usize) -> f64 {
        let share = self.matrix.unpredicted_share(row_bytes, cache);
        self.numbers.borrow_mut().unpredicted.push((row_bytes, cache, share));
        share
    }

    fn has_scattered_columns(&self) -> bool {
        let found = &mut self.numbers.borrow_mut().has_scattered_columns;
        *found.get_or_insert_with(|| self.matrix.has_scattered_columns())
    }
}

impl<M: Construct> Construct for RecordedNumbers<M> {
    fn build_tiles(&mut self, config: &TileConfig) -> Option<TileCounts> {
        self.numbers.get_mut().copy = Some(SavedCopy::Tiles(*config));
        self.matrix.build_tiles(config)
    }

    fn build_sorted(&mut self, config: &SortConfig) -> Option<SortCounts> {
        self.numbers.get_mut().copy = Some(SavedCopy::Sorted(*config));
        self.matrix.build_sorted(config)
    }

    fn allocate_panels(&mut self, config: &PanelConfig) -> bool {
        self.matrix.allocate_panels(config)
    }
}

/// Replays saved numbers and takes a saved copy. A number that was not saved makes the layout outdated.
pub(super) struct ReplayedNumbers<'a, T: CpuScalar> {
    built: LayoutBuilder<'a, T>,
    numbers: SavedNumbers,
    is_outdated: Cell<bool>,
}

impl<'a, T: CpuScalar> ReplayedNumbers<'a, T> {
    /// `built` takes copies from an attachment.
    pub(super) fn new(built: LayoutBuilder<'a, T>, numbers: SavedNumbers) -> Self {
        Self { built, numbers, is_outdated: Cell::new(false) }
    }

    /// What was loaded.
    ///
    /// # Errors
    /// If a number was not saved, another copy was decided, or the copy is none.
    pub(super) fn into_built(self) -> Result<LayoutBuilder<'a, T>, LoadError> {
        match self.built.broken {
            Some(reason) => Err(LoadError::Broken(reason)),
            None if self.is_outdated.get() => Err(LoadError::Outdated),
            None => Ok(self.built),
        }
    }

    fn saved<N: Default>(&self, number: Option<N>) -> N {
        number.unwrap_or_else(|| {
            self.is_outdated.set(true);
            N::default()
        })
    }

    fn require_copy(&self, copy: SavedCopy) -> Option<()> {
        let is_saved = self.numbers.copy == Some(copy);
        self.saved(is_saved.then_some(Some(())))
    }
}

impl<T: CpuScalar> MatrixNumbers for ReplayedNumbers<'_, T> {
    fn has_whole_rows(&self) -> bool {
        self.built.has_whole_rows()
    }

    fn rows_fit_u32(&self) -> bool {
        self.built.rows_fit_u32()
    }

    fn row_sharing(&self) -> RowSharing {
        self.saved(self.numbers.sharing)
    }

    fn cache_misses(&self, rows: usize) -> Option<CacheMisses> {
        let mut saved = self.numbers.cache_misses.iter();
        self.saved(saved.find(|(of_rows, _)| *of_rows == rows).map(|&(_, misses)| misses))
    }

    fn row_span(&self) -> usize {
        self.saved(self.numbers.row_span)
    }

    fn unpredicted_share(&self, row_bytes: usize, cache: usize) -> f64 {
        let mut saved = self.numbers.unpredicted.iter();
        let found = saved.find(|&&(row, held, _)| (row, held) == (row_bytes, cache));
        self.saved(found.map(|&(.., share)| share))
    }

    fn has_scattered_columns(&self) -> bool {
        self.saved(self.numbers.has_scattered_columns)
    }
}

impl<T: CpuScalar> Construct for ReplayedNumbers<'_, T> {
    fn build_tiles(&mut self, config: &TileConfig) -> Option<TileCounts> {
        self.require_copy(SavedCopy::Tiles(*config))?;
        self.built.build_tiles(config)
    }

    fn build_sorted(&mut self, config: &SortConfig) -> Option<SortCounts> {
        self.require_copy(SavedCopy::Sorted(*config))?;
        self.built.build_sorted(config)
    }

    fn allocate_panels(&mut self, config: &PanelConfig) -> bool {
        self.built.allocate_panels(config)
    }
}
