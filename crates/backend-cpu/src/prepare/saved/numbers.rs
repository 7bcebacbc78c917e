//! The numbers of a matrix that decisions rest on: noted while they are found, and read back.

use std::cell::{Cell, RefCell};

use girih_planner::Fingerprint;
use serde::{Deserialize, Serialize};

use super::NotLoaded;
use crate::analyze::Fetches;
use crate::analyze::Sharing;
use crate::isa::KernelScalar;
use crate::lowering::{Case, Facts, Panels, Sorting, SortingMade, Tiles, TilesMade};
use crate::prepare::Made;

/// The most numbers of a kind that decisions ask for.
const MOST: usize = 64;

/// Answers of [`Facts`], those that were asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Numbers {
    /// The matrix that they are of.
    pub(super) matrix: Option<Fingerprint>,
    sharing: Option<Sharing>,
    /// By rows of B that the cache holds.
    fetches: Vec<(usize, Option<Fetches>)>,
    span: Option<usize>,
    /// By bytes of a row of B, and of the cache.
    unpredicted: Vec<(usize, usize, f64)>,
    leaps: Option<bool>,
    copy: Option<Copy>,
}

/// How a copy of the matrix was made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Copy {
    Tiles(Tiles),
    Sorted(Sorting),
}

impl Numbers {
    /// Whether they can be those of a matrix of this size, so that decisions compute with them as with its own.
    ///
    /// # Errors
    /// Which of them can't.
    pub(super) fn check(&self, case: &Case) -> Result<(), String> {
        let Self { sharing, fetches, span, unpredicted, .. } = self;
        let within = |what: &str, number: usize, most: usize| {
            let fits = number <= most;
            fits.then_some(()).ok_or_else(|| format!("its {what} are {number} of {most}"))
        };
        if fetches.len() > MOST || unpredicted.len() > MOST {
            return Err("it has too many numbers".to_owned());
        }
        if let Some(Sharing { tiles, cols, spared, slabs }) = *sharing {
            within("tiles", tiles, case.m)?;
            within("columns of tiles", cols, case.nnz)?;
            within("spared loads", spared, case.nnz)?;
            slabs.into_iter().try_for_each(|slabs| within("slabs of tiles", slabs, case.nnz))?;
        }
        for fetches in fetches.iter().filter_map(|(_, fetches)| *fetches) {
            within("rows of B that are met", fetches.met, case.k)?;
            within("fetches of rows of B", fetches.fetched, case.nnz)?;
        }
        within("rows of B that a row spans", span.unwrap_or(0), case.k)?;
        if !unpredicted.iter().all(|(.., share)| share.is_finite()) {
            return Err("a share of entries is not finite".to_owned());
        }
        Ok(())
    }
}

/// Facts that are found, and noted.
pub(super) struct Noting<F> {
    facts: F,
    numbers: RefCell<Numbers>,
}

impl<F> Noting<F> {
    pub(super) fn new(facts: F) -> Self {
        Self { facts, numbers: RefCell::default() }
    }

    /// What was made, and the numbers that led to it, of the matrix of a fingerprint.
    pub(super) fn into_parts(self, matrix: Option<Fingerprint>) -> (F, Numbers) {
        (self.facts, Numbers { matrix, ..self.numbers.into_inner() })
    }
}

impl<F: Facts> Facts for Noting<F> {
    fn has_whole_rows(&self) -> bool {
        self.facts.has_whole_rows()
    }

    fn is_numbered(&self) -> bool {
        self.facts.is_numbered()
    }

    fn sharing(&self) -> Sharing {
        *self.numbers.borrow_mut().sharing.get_or_insert_with(|| self.facts.sharing())
    }

    fn fetches(&self, rows: usize) -> Option<Fetches> {
        let fetches = self.facts.fetches(rows);
        self.numbers.borrow_mut().fetches.push((rows, fetches));
        fetches
    }

    fn span(&self) -> usize {
        *self.numbers.borrow_mut().span.get_or_insert_with(|| self.facts.span())
    }

    fn unpredicted(&self, row_bytes: usize, cache: usize) -> f64 {
        let share = self.facts.unpredicted(row_bytes, cache);
        self.numbers.borrow_mut().unpredicted.push((row_bytes, cache, share));
        share
    }

    fn leaps(&self) -> bool {
        *self.numbers.borrow_mut().leaps.get_or_insert_with(|| self.facts.leaps())
    }

    fn make_tiles(&mut self, how: &Tiles) -> Option<TilesMade> {
        self.numbers.get_mut().copy = Some(Copy::Tiles(*how));
        self.facts.make_tiles(how)
    }

    fn make_sorted(&mut self, how: &Sorting) -> Option<SortingMade> {
        self.numbers.get_mut().copy = Some(Copy::Sorted(*how));
        self.facts.make_sorted(how)
    }

    fn make_panels(&mut self, panels: &Panels) -> bool {
        self.facts.make_panels(panels)
    }
}

/// Facts by numbers that were noted, and a copy that was kept. What was not noted makes it outdated.
pub(super) struct Noted<'a, T: KernelScalar> {
    made: Made<'a, T>,
    numbers: Numbers,
    lacks: Cell<bool>,
}

impl<'a, T: KernelScalar> Noted<'a, T> {
    /// `made` takes copies from an attachment.
    pub(super) fn new(made: Made<'a, T>, numbers: Numbers) -> Self {
        Self { made, numbers, lacks: Cell::new(false) }
    }

    /// What was loaded.
    ///
    /// # Errors
    /// If a number was not noted, another copy was decided, or the copy is none.
    pub(super) fn into_made(self) -> Result<Made<'a, T>, NotLoaded> {
        match self.made.broken {
            Some(reason) => Err(NotLoaded::Broken(reason)),
            None if self.lacks.get() => Err(NotLoaded::Outdated),
            None => Ok(self.made),
        }
    }

    fn noted<N: Default>(&self, number: Option<N>) -> N {
        number.unwrap_or_else(|| {
            self.lacks.set(true);
            N::default()
        })
    }

    fn is_kept(&self, copy: Copy) -> Option<()> {
        let kept = self.numbers.copy == Some(copy);
        self.noted(kept.then_some(Some(())))
    }
}

impl<T: KernelScalar> Facts for Noted<'_, T> {
    fn has_whole_rows(&self) -> bool {
        self.made.has_whole_rows()
    }

    fn is_numbered(&self) -> bool {
        self.made.is_numbered()
    }

    fn sharing(&self) -> Sharing {
        self.noted(self.numbers.sharing)
    }

    fn fetches(&self, rows: usize) -> Option<Fetches> {
        let of_cache = |&&(noted, _): &&(usize, _)| noted == rows;
        self.noted(self.numbers.fetches.iter().find(of_cache).map(|&(_, fetches)| fetches))
    }

    fn span(&self) -> usize {
        self.noted(self.numbers.span)
    }

    fn unpredicted(&self, row_bytes: usize, cache: usize) -> f64 {
        let of = |&&(row, held, _): &&(usize, usize, f64)| (row, held) == (row_bytes, cache);
        self.noted(self.numbers.unpredicted.iter().find(of).map(|&(.., share)| share))
    }

    fn leaps(&self) -> bool {
        self.noted(self.numbers.leaps)
    }

    fn make_tiles(&mut self, how: &Tiles) -> Option<TilesMade> {
        self.is_kept(Copy::Tiles(*how))?;
        self.made.make_tiles(how)
    }

    fn make_sorted(&mut self, how: &Sorting) -> Option<SortingMade> {
        self.is_kept(Copy::Sorted(*how))?;
        self.made.make_sorted(how)
    }

    fn make_panels(&mut self, panels: &Panels) -> bool {
        self.made.make_panels(panels)
    }
}
