//! What is decided about CSR, made: its copies, and scratch for panels of B. And the numbers it is decided by.

use std::ops::Range;

use girih_formats::{Buffer, PAD_ROW, RowCsr, Tiling};
use girih_planner::{Attachment, Task};

use crate::analyze::Sharing;
use crate::analyze::{Fetches, leaps, span, unpredicted};
use crate::exec::scratch::packing::Packing;
use crate::exec::split::Split;
use crate::isa::KernelScalar;
use crate::layout::Relaid;
use crate::layout::sorted::Sorted;
use crate::layout::tiles::Patterns;
use crate::lowering::{Facts, Panels, Sorting, SortingMade, Tiles, TilesMade};

/// Where copies of a matrix come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// They are not made, only counted.
    Nowhere,
    /// From the matrix.
    Matrix,
    /// From what the plan keeps.
    Saved(&'a Attachment),
}

/// A tiling and its tasks, and what is made of them; other tilings than CSR have panels alone.
pub(crate) struct Made<'a, T: KernelScalar> {
    a: Option<&'a RowCsr<T>>,
    /// Slots of each task, none of those that are parts of a window.
    pub(crate) tasks: Vec<Range<usize>>,
    /// Entries of each task, in the order in which they are run.
    in_order: Vec<Range<usize>>,
    /// Where copies come from; if from nowhere, no scratch is allocated either.
    source: Source<'a>,
    /// Why what the plan keeps is no copy, if it is none.
    pub(crate) broken: Option<String>,
    pub(crate) relaid: Option<Relaid<T>>,
    pub(crate) packing: Option<Packing<T>>,
}

impl<'a, T: KernelScalar> Made<'a, T> {
    /// Nothing yet.
    pub(crate) fn new(
        tiling: &'a Tiling<T>,
        tasks: &Buffer<Task>,
        split: &Split<T::Acc>,
        source: Source<'a>,
    ) -> Self {
        let mut this = Self {
            a: None,
            tasks: Vec::new(),
            in_order: Vec::new(),
            source,
            broken: None,
            relaid: None,
            packing: None,
        };
        if let Tiling::Csr(a) = tiling {
            let whole = |(i, task): (usize, &Task)| match split.of_task(i) {
                Some(_) => 0..0,
                None => task.windows(),
            };
            let entries = |i: usize| tasks[i].tile_start as usize..tasks[i].tile_end as usize;
            this.a = Some(a);
            this.tasks = tasks.iter().enumerate().map(whole).collect();
            this.in_order = (0..tasks.len()).map(|i| entries(split.nth(i))).collect();
        }
        this
    }

    /// What was loaded; if it is none, why is noted.
    fn whole<C>(&mut self, loaded: Result<C, String>) -> Option<C> {
        loaded.map_err(|reason| self.broken = Some(reason)).ok()
    }
}

impl<T: KernelScalar> Facts for Made<'_, T> {
    fn has_whole_rows(&self) -> bool {
        self.tasks.iter().all(|slots| !slots.is_empty())
    }

    fn is_numbered(&self) -> bool {
        self.a.is_some_and(|a| a.layout().nrows() < PAD_ROW as usize)
    }

    fn sharing(&self) -> Sharing {
        self.a.map_or_else(Sharing::default, |a| Sharing::of(a.csr(), &self.tasks))
    }

    fn fetches(&self, rows: usize) -> Option<Fetches> {
        let csr = self.a?.csr();
        let col_idx = csr.col_idx();
        let cols: Vec<_> = self.in_order.iter().map(|entries| &col_idx[entries.clone()]).collect();
        Fetches::of(&cols, csr.ncols(), rows)
    }

    fn span(&self) -> usize {
        self.a.map_or(0, |a| span(a.csr()))
    }

    fn unpredicted(&self, row_bytes: usize, cache: usize) -> f64 {
        self.a.map_or(0.0, |a| unpredicted(a.csr(), row_bytes, cache))
    }

    fn leaps(&self) -> bool {
        self.a.is_some_and(|a| leaps(a.csr()))
    }

    fn make_tiles(&mut self, how: &Tiles) -> Option<TilesMade> {
        let a = self.a?;
        let patterns = match self.source {
            Source::Nowhere => return Some(Patterns::count(a.csr(), &self.tasks)),
            Source::Matrix => Patterns::new(a, &self.tasks, how)?,
            Source::Saved(from) => self.whole(Patterns::load(a, &self.tasks, how, from))?,
        };
        let made = patterns.made();
        self.relaid = Some(Relaid::Patterns(patterns));
        Some(made)
    }

    fn make_sorted(&mut self, how: &Sorting) -> Option<SortingMade> {
        let a = self.a?;
        let (sorted, made) = match self.source {
            Source::Nowhere => return Some(Sorted::count(a, &self.tasks, how)),
            Source::Matrix => Sorted::new(a, &self.tasks, how)?,
            Source::Saved(from) => self.whole(Sorted::load(a, &self.tasks, how, from))?,
        };
        self.relaid = Some(Relaid::Sorted(sorted));
        Some(made)
    }

    fn make_panels(&mut self, panels: &Panels) -> bool {
        if let Source::Nowhere = self.source {
            return true;
        }
        self.packing = Packing::new(panels);
        self.packing.is_some()
    }
}
