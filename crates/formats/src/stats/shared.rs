//! Counts that several formats share, made once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::FormatStats;
use crate::dtype::DType;
use crate::error::FormatError;
use crate::layout::RowLayout;
use crate::pattern::CsrPattern;
use crate::tilings::FormatSpec;
use crate::tilings::shared::union::Unions;

/// Members of every window's union, by the height of windows and the width of blocks.
type Counts = HashMap<(usize, u32), Arc<[u32]>>;

/// A pattern, its row order, and what was counted of them so far: the members of every window's union
/// of columns, for each height of windows and width of blocks that was requested.
///
/// WCSR and BMat of one height, and BCSR and Blocked-ELL of one size, rest on the same counts.
///
/// ```
/// use girih_formats::stats::{FormatStats, SharedStats};
/// use girih_formats::{Csr, DType, FormatSpec, RowLayout};
///
/// let a = Csr::try_new(2, 9, vec![0, 2, 3], vec![0, 8, 0], vec![1.0f32, 2.0, 3.0])?;
/// let rows = RowLayout::natural(2, 1)?;
/// let shared = SharedStats::new(a.pattern(), &rows);
/// let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
/// let layout = rows.with_window_rows(16)?;
/// assert_eq!(shared.format(spec, DType::F32)?, FormatStats::of(a.pattern(), spec, &layout, DType::F32)?);
/// assert_eq!(shared.unions(16, 1)?[..], [2]);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
#[derive(Debug)]
pub struct SharedStats<'a> {
    pattern: CsrPattern<'a>,
    layout: &'a RowLayout,
    counts: Mutex<Counts>,
}

impl<'a> SharedStats<'a> {
    /// Of a pattern with its rows in the order of `layout`, whose windows are re-cut to every height.
    /// Counts nothing yet.
    #[must_use]
    pub fn new(pattern: CsrPattern<'a>, layout: &'a RowLayout) -> Self {
        Self { pattern, layout, counts: Mutex::default() }
    }

    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> CsrPattern<'a> {
        self.pattern
    }

    /// The order of the rows.
    #[must_use]
    pub fn layout(&self) -> &'a RowLayout {
        self.layout
    }

    /// What [`FormatStats::of`] gives, counting only what was not counted yet.
    ///
    /// # Errors
    /// As [`FormatStats::of`].
    pub fn format(&self, spec: FormatSpec, dtype: DType) -> Result<FormatStats, FormatError> {
        let window_rows = spec.window_rows();
        let layout = self.layout.with_window_rows(window_rows)?;
        let counts = |width| self.counted(&layout, width);
        FormatStats::counted(self.pattern, spec, &layout, dtype, &counts)
    }

    /// How many columns, or blocks of `width` columns, each window of `window_rows` rows holds:
    /// O(nnz) in parallel for the first to ask.
    ///
    /// # Errors
    /// If windows cannot have that height.
    ///
    /// # Panics
    /// If `width` is 0.
    pub fn unions(&self, window_rows: usize, width: u32) -> Result<Arc<[u32]>, FormatError> {
        Ok(self.counted(&self.layout.with_window_rows(window_rows)?, width))
    }

    fn counted(&self, layout: &RowLayout, width: u32) -> Arc<[u32]> {
        let key = (layout.window_rows(), width);
        let known =
            || self.counts.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(counts) = known() {
            return counts;
        }
        // Not under the lock: counting runs on the pool, whose threads may ask for other counts.
        let made: Arc<[u32]> = Unions { pattern: self.pattern, layout, width }.counts().into();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(key).or_insert(made).clone()
    }
}
