//! The numbers of a tiling, and the copies and scratch that are made of it.

use std::ops::Range;

use girih_formats::{Buffer, PAD_ROW, RowCsr, Tiling};
use girih_planner::file::Attachment;
use girih_planner::schedule::Task;

use crate::analyze::{
    CacheMisses, MatrixNumbers, RowSharing, has_scattered_columns, row_span, unpredicted_share,
};
use crate::exec::scratch::PanelScratch;
use crate::exec::split::SplitWindows;
use crate::kernels::CpuScalar;
use crate::layout::CsrLayout;
use crate::layout::sorted::SortedCsr;
use crate::layout::tiles::TiledCsr;
use crate::lowering::{Construct, PanelConfig, SortConfig, SortCounts, TileConfig, TileCounts};

/// Where copies of a matrix come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LayoutSource<'a> {
    /// They are only counted, and no scratch is allocated.
    CountOnly,
    /// From the matrix.
    Matrix,
    /// From what the plan has saved.
    Saved(&'a Attachment),
}

/// A tiling and its tasks, and what is made of them. Only CSR is copied; other tilings have panels alone.
pub(crate) struct LayoutBuilder<'a, T: CpuScalar> {
    csr: Option<&'a RowCsr<T>>,
    /// Slots of each task; none for tasks that are parts of a window.
    tasks: Vec<Range<usize>>,
    /// Entries of each task, in the order in which tasks run.
    entries_in_order: Vec<Range<usize>>,
    source: LayoutSource<'a>,
    /// Why what the plan has saved is not a copy, if it is none.
    pub(crate) broken: Option<String>,
    pub(crate) csr_layout: Option<CsrLayout<T>>,
    pub(crate) panel_scratch: Option<PanelScratch<T>>,
}

impl<'a, T: CpuScalar> LayoutBuilder<'a, T> {
    /// Makes nothing yet.
    pub(crate) fn new(
        tiling: &'a Tiling<T>,
        tasks: &Buffer<Task>,
        split: &SplitWindows<T::Acc>,
        source: LayoutSource<'a>,
    ) -> Self {
        let mut this = Self {
            csr: None,
            tasks: Vec::new(),
            entries_in_order: Vec::new(),
            source,
            broken: None,
            csr_layout: None,
            panel_scratch: None,
        };
        if let Tiling::Csr(csr) = tiling {
            let whole = |(i, task): (usize, &Task)| match split.window_of(i) {
                Some(_) => 0..0,
                None => task.windows(),
            };
            let entries = |i: usize| tasks[i].tile_start as usize..tasks[i].tile_end as usize;
            this.csr = Some(csr);
            this.tasks = tasks.iter().enumerate().map(whole).collect();
            this.entries_in_order = (0..tasks.len()).map(|i| entries(split.nth(i))).collect();
        }
        this
    }

    /// What was loaded; else notes the reason why it was not.
    fn loaded<C>(&mut self, result: Result<C, String>) -> Option<C> {
        result.map_err(|reason| self.broken = Some(reason)).ok()
    }
}

impl<T: CpuScalar> MatrixNumbers for LayoutBuilder<'_, T> {
    fn has_whole_rows(&self) -> bool {
        self.tasks.iter().all(|slots| !slots.is_empty())
    }

    fn rows_fit_u32(&self) -> bool {
        self.csr.is_some_and(|a| a.layout().nrows() < PAD_ROW as usize)
    }

    fn row_sharing(&self) -> RowSharing {
        self.csr.map_or_else(RowSharing::default, |a| {
            RowSharing::sample(a.csr().pattern(), &self.tasks)
        })
    }

    fn cache_misses(&self, rows: usize) -> Option<CacheMisses> {
        let csr = self.csr?.csr();
        let cols = self.entries_in_order.iter().map(|entries| &csr.col_idx()[entries.clone()]);
        CacheMisses::count(&cols.collect::<Vec<_>>(), csr.ncols(), rows)
    }

    fn row_span(&self) -> usize {
        self.csr.map_or(0, |a| row_span(a.csr().pattern()))
    }

    fn unpredicted_share(&self, row_bytes: usize, cache: usize) -> f64 {
        self.csr.map_or(0.0, |a| unpredicted_share(a.csr().pattern(), row_bytes, cache))
    }

    fn has_scattered_columns(&self) -> bool {
        self.csr.is_some_and(|a| has_scattered_columns(a.csr().pattern()))
    }
}

impl<T: CpuScalar> Construct for LayoutBuilder<'_, T> {
    fn build_tiles(&mut self, config: &TileConfig) -> Option<TileCounts> {
        let csr = self.csr?;
        let tiled = match self.source {
            LayoutSource::CountOnly => return Some(TiledCsr::count(csr.csr(), &self.tasks)),
            LayoutSource::Matrix => TiledCsr::new(csr, &self.tasks, config)?,
            LayoutSource::Saved(from) => {
                self.loaded(TiledCsr::load(csr, &self.tasks, config, from))?
            }
        };
        let counts = tiled.counts();
        self.csr_layout = Some(CsrLayout::Tiles(tiled));
        Some(counts)
    }

    fn build_sorted(&mut self, config: &SortConfig) -> Option<SortCounts> {
        let csr = self.csr?;
        let (sorted, counts) = match self.source {
            LayoutSource::CountOnly => return Some(SortedCsr::count(csr, &self.tasks, config)),
            LayoutSource::Matrix => SortedCsr::new(csr, &self.tasks, config)?,
            LayoutSource::Saved(from) => {
                self.loaded(SortedCsr::load(csr, &self.tasks, config, from))?
            }
        };
        self.csr_layout = Some(CsrLayout::Sorted(sorted));
        Some(counts)
    }

    fn allocate_panels(&mut self, config: &PanelConfig) -> bool {
        if let LayoutSource::CountOnly = self.source {
            return true;
        }
        self.panel_scratch = PanelScratch::new(config);
        self.panel_scratch.is_some()
    }
}
