//! Where kernels ask for entries of A ahead: there the processor does not see that they follow one another.

use girih_formats::{Scalar, Tiling};

use crate::reuse::{hides_a, leaps};
use crate::room::Room;

/// Rows of B of fewer bytes leave A a stream that is seen, unless its columns leap.
const ROW_BYTES: usize = 16;

/// What of A is hidden, whatever B is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// From a product with a single column.
    from_column: bool,
    /// From one with few, and from one with more: A is far away.
    from_few: bool,
    from_more: bool,
    /// So little of it there is that it comes fast enough while B is no further away.
    is_near: bool,
}

impl Hidden {
    /// For a tiling of so many stored values and products with `n` columns: O(entries that are looked at).
    pub(super) fn of<T: Scalar>(tiling: &Tiling<T>, stored: usize, n: usize, room: Room) -> Self {
        if !room.asks {
            return Self::default();
        }
        match tiling {
            Tiling::Csr(a) => {
                let bytes = stored.saturating_mul(size_of::<u32>() + size_of::<T>());
                let (is_far, is_near) = (bytes > room.b, bytes <= room.blocks);
                let is_narrow = n * size_of::<T>() < ROW_BYTES;
                let from_few = is_far && is_narrow && leaps(a.csr());
                let from_column = n == 1 && (from_few || hides_a(a.csr()));
                Self { from_column, from_few, from_more: is_far, is_near }
            }
            // Each block is read some rows at a time.
            Tiling::Bcsr(_) => {
                let is_far = stored.saturating_mul(size_of::<T>()) > room.blocks;
                Self { from_column: is_far, from_few: is_far, from_more: is_far, is_near: false }
            }
            _ => Self::default(),
        }
    }

    /// Whether a B of `k` rows of so many bytes [hides](crate::operands::Input::hides_a) A.
    pub(super) fn by(self, k: usize, row_bytes: usize, is_column: bool, room: Room) -> bool {
        let is_far = if row_bytes < ROW_BYTES { self.from_few } else { self.from_more };
        if is_column {
            return self.from_column;
        }
        let by_b = !self.is_near || k.saturating_mul(row_bytes) > room.b;
        is_far || by_b && room.hides_a(k, row_bytes)
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::{banded, uniform};
    use girih_formats::{Csr, FormatSpec, RowLayout};

    use super::*;

    fn hidden(a: &Csr<f32>, spec: FormatSpec, n: usize, room: Room) -> Hidden {
        let layout = RowLayout::natural(a.nrows(), spec.window_rows()).unwrap();
        let tiling = Tiling::from_csr(a, spec, layout).unwrap();
        let stored = match spec {
            FormatSpec::Bcsr { block_rows, block_cols } => {
                tiling.n_tiles() as usize * block_rows * block_cols
            }
            _ => a.nnz(),
        };
        Hidden::of(&tiling, stored, n, room)
    }

    #[test]
    fn an_a_beyond_the_last_level_cache_is_asked_for_by_narrow_products_where_columns_leap() {
        let asking = Room { asks: true, ..Room::of(1 << 20, 1 << 14) };
        let weights: Csr<f32> = uniform(400, 1000, 300, 1).unwrap();
        let band: Csr<f32> = banded(4000, 4000, 15, 15, 1).unwrap();
        let by = |a: &Csr<f32>, n: usize, room: Room| {
            hidden(a, FormatSpec::Csr, n, room).by(4, 4 * n, n == 1, room)
        };
        assert_eq!([1, 2, 4, 64].map(|n| by(&weights, n, asking)), [true; 4]);
        assert_eq!([1, 2, 4, 64].map(|n| by(&band, n, asking)), [false, false, true, true]);
        let large = Room { asks: true, ..Room::of(8 << 20, 1 << 14) };
        assert_eq!([1, 2, 4, 64].map(|n| by(&weights, n, large)), [false; 4]);
        let silent = Room { asks: false, ..asking };
        assert_eq!([1, 2, 4, 64].map(|n| by(&weights, n, silent)), [false; 4]);
    }

    #[test]
    fn a_small_a_is_asked_for_where_the_last_level_cache_does_not_hold_b() {
        let room = Room { asks: true, ..Room::of(1 << 20, 1 << 14) };
        let by = |m, k| {
            let a: Csr<f32> = uniform(m, 100, 80, 1).unwrap();
            hidden(&a, FormatSpec::Csr, 64, room).by(k, 256, false, room)
        };
        // 640 bytes for each row of A, of which 128 KiB come fast; 640 KiB of B stay.
        assert_eq!([by(200, 2560), by(210, 2560), by(200, 2561)], [false, true, true]);
    }

    #[test]
    fn blocks_are_asked_for_from_an_eighth_of_the_last_level_cache_on() {
        let spec = FormatSpec::Bcsr { block_rows: 8, block_cols: 8 };
        let band: Csr<f32> = banded(1000, 1000, 8, 8, 1).unwrap();
        let by = |last_level: u64, n: usize| {
            let room = Room { asks: true, ..Room::of(last_level, 1 << 14) };
            hidden(&band, spec, n, room).by(4, 4 * n, n == 1, room)
        };
        assert!([1, 2, 8].iter().all(|&n| by(512 << 10, n) && !by(2 << 20, n)));
    }
}
