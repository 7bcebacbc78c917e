//! From tiles to kernels: what each format hands to which kernel.

mod bmat;
mod csr;
mod dense;
mod two_four;

use std::ops::Range;

use girih_formats::{Scalar, Tiling};

use crate::isa::{KernelScalar, Kernels};
use crate::operands::{Input, Output, RowMap};
pub(crate) use csr::{Relaid, suited};

/// A panel of a product: what all windows have in common.
#[derive(Clone, Copy)]
pub(crate) struct Panel<'a, T: Scalar> {
    pub(crate) kernels: &'a Kernels<T>,
    pub(crate) b: Input<T>,
    pub(crate) out: Output<T::Acc>,
    /// Columns of the panel.
    pub(crate) width: usize,
    /// A CSR matrix as it suits this product.
    pub(crate) relaid: Option<&'a Relaid<T>>,
    /// Whether this thread multiplies all of it, while others have panels of their own.
    pub(crate) alone: bool,
}

impl<T: Scalar> Panel<'_, T> {
    /// Some of its columns.
    pub(crate) fn part(&self, cols: &Range<usize>) -> Self {
        let (b, out) = (self.b.at_col(cols.start), self.out.at_col(cols.start));
        Self { b, out, width: cols.len(), ..*self }
    }
}

/// A format that can multiply some of its rows.
pub(crate) trait Multiply<T: Scalar> {
    /// Multiplies the rows in `slots` — of whole windows, or some of one window — over those of
    /// their tiles that lie in `tiles`; `map` says where each slot's row goes.
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>);
}

impl<T: KernelScalar> Multiply<T> for Tiling<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        match self {
            Self::Csr(t) => t.multiply(slots, tiles, map, on),
            Self::Bcsr(t) => t.multiply(slots, tiles, map, on),
            Self::Wcsr(t) => t.multiply(slots, tiles, map, on),
            Self::BlockedEll(t) => t.multiply(slots, tiles, map, on),
            Self::BMat(t) => t.multiply(slots, tiles, map, on),
            Self::TwoFour(t) => t.multiply(slots, tiles, map, on),
        }
    }
}

/// Calls `f` with every window that has some of `slots`, its slots among them, and how many of
/// `slots` come before.
fn for_each_window(
    window_rows: usize,
    slots: Range<usize>,
    mut f: impl FnMut(usize, Range<usize>, usize),
) {
    let mut slot = slots.start;
    while slot < slots.end {
        let window = slot / window_rows;
        let end = slots.end.min((window + 1) * window_rows);
        f(window, slot..end, slot - slots.start);
        slot = end;
    }
}

/// `range` within `bounds`, empty if they don't meet.
fn clamp(range: Range<u64>, bounds: &Range<u64>) -> Range<usize> {
    let start = range.start.max(bounds.start);
    start as usize..range.end.min(bounds.end).max(start) as usize
}

/// The most rows [`add_up`] takes.
pub(crate) const CARRIED_ROWS: usize = 16;

/// Columns of the sums that [`add_up`] keeps: a whole number of 256-byte groups.
const CARRIED_COLS: usize = 256;

/// Multiplies rows piece by piece where a piece is all that scratch on the stack can hold, adding
/// the pieces up in order.
///
/// `next` gives the end of the piece that begins at its argument; `piece` multiplies one.
pub(crate) fn add_up<T: KernelScalar>(
    range: Range<usize>,
    next: impl Fn(usize) -> usize,
    map: RowMap<'_>,
    on: &Panel<'_, T>,
    mut piece: impl FnMut(Range<usize>, RowMap<'_>, &Panel<'_, T>),
) {
    if range.is_empty() || next(range.start) >= range.end {
        return piece(range, map, on);
    }
    assert!(map.len() <= CARRIED_ROWS);
    let rows = RowMap::Consecutive { first: 0, len: map.len() };
    let mut sums = [T::Acc::ZERO; CARRIED_ROWS * CARRIED_COLS];
    for j in (0..on.width).step_by(CARRIED_COLS) {
        let width = CARRIED_COLS.min(on.width - j);
        let b = on.b.at_col(j);
        let mut start = range.start;
        while start < range.end {
            let end = next(start).min(range.end);
            let out = Output::sums(&mut sums, width, start > range.start);
            piece(start..end, rows, &Panel { b, out, width, ..*on });
            start = end;
        }
        on.kernels.combine(&sums, 1, &on.out.at_col(j), map, width);
    }
}
