//! The shape that schedules are cut for: how many tiles every window has.

use girih_formats::{AnyTiling, Scalar, Tiling, for_any_tiling};

/// Windows and the tiles in them, all that a schedule needs to know of a tiling. Implemented by
/// tilings, and by [`TilePtr`] for tilings that were only counted.
pub trait Windows {
    /// Number of windows.
    fn n_windows(&self) -> usize;

    /// Tiles of all windows before `w`, for `w` up to the number of windows.
    fn tile_ptr(&self, w: usize) -> u64;

    /// Tiles of all windows.
    fn n_tiles(&self) -> u64 {
        self.tile_ptr(self.n_windows())
    }

    /// Whether [`Schedule::by_limit`](super::Schedule::by_limit) may split window `w`: any but those of a hybrid that
    /// are not packed, for their kernel cuts long rows by itself.
    fn may_split(&self, _: usize) -> bool {
        true
    }

    /// Tiles of window `w`.
    fn tiles(&self, w: usize) -> u64 {
        self.tile_ptr(w + 1) - self.tile_ptr(w)
    }
}

impl<T: Scalar> Windows for Tiling<T> {
    fn n_windows(&self) -> usize {
        Tiling::n_windows(self)
    }

    fn tile_ptr(&self, w: usize) -> u64 {
        Tiling::tile_ptr(self, w)
    }

    fn may_split(&self, w: usize) -> bool {
        match self {
            Self::Hybrid(hybrid) => hybrid.is_packed(w),
            _ => true,
        }
    }
}

impl Windows for AnyTiling {
    fn n_windows(&self) -> usize {
        AnyTiling::n_windows(self)
    }

    fn tile_ptr(&self, w: usize) -> u64 {
        AnyTiling::tile_ptr(self, w)
    }

    fn may_split(&self, w: usize) -> bool {
        for_any_tiling!(self, tiling => Windows::may_split(tiling, w))
    }
}

/// The tiles of windows that were counted, as offsets.
///
/// ```
/// use girih_planner::schedule::{TilePtr, Windows};
///
/// let windows = TilePtr::of_counts([3, 0, 4]);
/// assert_eq!((windows.n_windows(), windows.n_tiles(), windows.tiles(2)), (3, 7, 4));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TilePtr(Vec<u64>);

impl TilePtr {
    /// From the number of tiles of every window.
    ///
    /// # Panics
    /// If there are more than 2⁶⁴ − 1 tiles.
    #[must_use]
    pub fn of_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let mut ptr = vec![0u64];
        let mut sum = 0u64;
        for count in counts {
            sum = sum.checked_add(count).expect("fewer than 2⁶⁴ tiles");
            ptr.push(sum);
        }
        Self(ptr)
    }
}

impl Windows for TilePtr {
    fn n_windows(&self) -> usize {
        self.0.len() - 1
    }

    fn tile_ptr(&self, w: usize) -> u64 {
        self.0[w]
    }
}

/// Offsets as a CSR has them: a row is a window, an entry a tile.
impl Windows for [u64] {
    fn n_windows(&self) -> usize {
        self.len().saturating_sub(1)
    }

    fn tile_ptr(&self, w: usize) -> u64 {
        self.get(w).copied().unwrap_or(0)
    }
}
