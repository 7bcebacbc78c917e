//! What a caller may ask of the window ordering.

use serde::{Deserialize, Serialize};

/// Options of [`window`](crate::window()).
///
/// ```
/// use girih_reorder::WindowOptions;
///
/// let options = WindowOptions::new(64).seed(7);
/// assert_eq!(options.window_rows, 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WindowOptions {
    /// Rows that a window holds at most; at least 1.
    pub window_rows: usize,
    /// Decides ties and hash functions. The same seed gives the same layout.
    pub seed: u64,
}

impl WindowOptions {
    /// Windows of at most `window_rows` rows, seed 0.
    #[must_use]
    pub fn new(window_rows: usize) -> Self {
        Self { window_rows, seed: 0 }
    }

    /// With another seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}
