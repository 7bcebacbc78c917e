//! What a caller may ask of the window ordering.

use serde::{Deserialize, Serialize};

/// How much time the window ordering may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WindowEffort {
    /// The best of a few orders, with windows closed early where that saves columns: no refinement.
    Fast,
    /// Refined on every level of one hierarchy, then until a sweep gains little.
    #[default]
    Normal,
    /// More hierarchies, and more pairs of windows on each level.
    High,
}

/// Refining two starts of a hypergraph of this many pins is a matter of a second.
const CHEAP_PINS: usize = 1 << 19;

/// What an effort means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Hierarchies that are built and refined, one after another.
    pub(super) cycles: usize,
    /// Sweeps on each level of a hierarchy, at most.
    pub(super) sweeps: usize,
    /// Sweeps at the end, at most.
    pub(super) last_sweeps: usize,
    /// Windows that each window is paired with in a sweep.
    pub(super) partners: usize,
}

impl WindowEffort {
    /// How many of the starts go on: the best of them before refinement need not be the best after.
    pub(super) fn n_starts(self, n_pins: usize) -> usize {
        match self {
            Self::Fast => 1,
            Self::Normal => 1 + usize::from(n_pins <= CHEAP_PINS),
            Self::High => 2,
        }
    }

    /// `None`: no refinement.
    pub(super) fn limits(self) -> Option<Limits> {
        match self {
            Self::Fast => None,
            Self::Normal => Some(Limits { cycles: 1, sweeps: 2, last_sweeps: 4, partners: 10 }),
            Self::High => Some(Limits { cycles: 3, sweeps: 3, last_sweeps: 8, partners: 16 }),
        }
    }
}

/// Options of [`window`](crate::window()).
///
/// ```
/// use girih_reorder::{WindowEffort, WindowOptions};
///
/// let options = WindowOptions::new(64).effort(WindowEffort::High).seed(7);
/// assert_eq!(options.window_rows, 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WindowOptions {
    /// Rows that a window holds at most; at least 1.
    pub window_rows: usize,
    /// Decides ties and hash functions. The same seed gives the same layout.
    pub seed: u64,
    /// Time against quality.
    pub effort: WindowEffort,
}

impl WindowOptions {
    /// Windows of at most `window_rows` rows, seed 0, [`WindowEffort::Normal`].
    #[must_use]
    pub fn new(window_rows: usize) -> Self {
        Self { window_rows, seed: 0, effort: WindowEffort::default() }
    }

    /// With another seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// With another effort.
    #[must_use]
    pub fn effort(self, effort: WindowEffort) -> Self {
        Self { effort, ..self }
    }
}

/// Options of [`blocks`](crate::blocks()).
///
/// ```
/// use girih_reorder::{BlockOptions, WindowEffort};
///
/// let options = BlockOptions::new(64, 32).effort(WindowEffort::Fast).seed(7);
/// assert_eq!((options.block_rows, options.block_cols), (64, 32));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BlockOptions {
    /// Rows of a block; at least 1.
    pub block_rows: usize,
    /// Columns of a block; at least 1.
    pub block_cols: usize,
    /// Decides ties and hash functions. The same seed gives the same order.
    pub seed: u64,
    /// Time against quality.
    pub effort: WindowEffort,
}

impl BlockOptions {
    /// Blocks of `block_rows`×`block_cols`, seed 0, [`WindowEffort::Normal`].
    #[must_use]
    pub fn new(block_rows: usize, block_cols: usize) -> Self {
        Self { block_rows, block_cols, seed: 0, effort: WindowEffort::default() }
    }

    /// With another seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// With another effort.
    #[must_use]
    pub fn effort(self, effort: WindowEffort) -> Self {
        Self { effort, ..self }
    }
}
