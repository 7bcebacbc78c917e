//! From tiles to kernels: what each format hands to which kernel.
//!
//! One file for each format; [`csr_copies`] is for the copies of CSR, [`finished`] for both where sums are not stored as
//! they are, [`packed_strip`] for dense strips of many rows.

mod bmat;
mod csr;
mod csr_copies;
mod dense;
mod finished;
mod hybrid;
mod packed_strip;
mod two_four;

use std::ops::Range;

use girih_formats::{Real, Scalar, Tiling};
use girih_simd::{Output, RowMap};

use crate::kernels::{BPanel, CpuScalar, Kernels};
use crate::layout::CsrLayout;
use crate::thresholds::{SUMS_CARRIED_COLS, SUMS_CARRIED_ROWS};

/// A panel of a product: what all windows have in common.
#[derive(Clone, Copy)]
pub(crate) struct Panel<'a, T: Real> {
    pub(crate) kernels: &'a Kernels<T>,
    pub(crate) b: BPanel<T>,
    pub(crate) out: Output<T::Acc>,
    /// Columns of the panel.
    pub(crate) width: usize,
    /// The copy of a CSR matrix that this product reads, if it reads one.
    pub(crate) csr_layout: Option<&'a CsrLayout<T>>,
    /// The slab of the copy whose rows of B are in `b`, if not all rows are.
    pub(crate) slab: Option<usize>,
    /// The share of the tasks that this thread multiplies alone, while others have other panels or shares.
    pub(crate) share: Option<TaskShare>,
    /// Whether windows of many rows pack the rows of B that they use.
    pub(crate) packs_strips: bool,
}

/// A share of the tasks: share `part` of `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskShare {
    pub(crate) part: usize,
    pub(crate) of: usize,
}

impl TaskShare {
    /// Which of `count` indices belong to it.
    pub(crate) fn indices(self, count: usize) -> Range<usize> {
        count * self.part / self.of..count * (self.part + 1) / self.of
    }
}

impl<T: Real> Panel<'_, T> {
    /// Some of its columns.
    pub(crate) fn part(&self, cols: &Range<usize>) -> Self {
        let (b, out) = (self.b.at_col(cols.start), self.out.at_col(cols.start));
        Self { b, out, width: cols.len(), ..*self }
    }
}

/// A format that can multiply some of its rows.
pub(crate) trait Multiply<T: Real> {
    /// Multiplies the rows in `slots` by those of their tiles that lie in `tiles`. The slots are those of
    /// whole windows, or some of one window; `map` says where each slot's row goes.
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>);
}

impl<T: CpuScalar> Multiply<T> for Tiling<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        match self {
            Self::Csr(t) => t.multiply(slots, tiles, map, on),
            Self::Bcsr(t) => t.multiply(slots, tiles, map, on),
            Self::Wcsr(t) => t.multiply(slots, tiles, map, on),
            Self::BlockedEll(t) => t.multiply(slots, tiles, map, on),
            Self::BMat(t) => t.multiply(slots, tiles, map, on),
            Self::TwoFour(t) => t.multiply(slots, tiles, map, on),
            Self::Hybrid(t) => t.multiply(slots, tiles, map, on),
        }
    }
}

/// Calls `f` for every window that has some of `slots`: with the window, its slots among them, and how many
/// of `slots` come before these.
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

/// The part of `range` within `bounds`; empty if they don't overlap.
fn clamp(range: Range<u64>, bounds: &Range<u64>) -> Range<usize> {
    let start = range.start.max(bounds.start);
    start as usize..range.end.min(bounds.end).max(start) as usize
}

/// Multiplies rows piece by piece and adds the pieces up in order. A piece is what scratch on the stack can
/// hold.
///
/// `next` gives the end of the piece that begins at its argument; `piece` multiplies one.
pub(crate) fn add_up<T: CpuScalar>(
    range: Range<usize>,
    next: impl Fn(usize) -> usize,
    map: RowMap<'_>,
    on: &Panel<'_, T>,
    mut piece: impl FnMut(Range<usize>, RowMap<'_>, &Panel<'_, T>),
) {
    if range.is_empty() || next(range.start) >= range.end {
        return piece(range, map, on);
    }
    assert!(map.len() <= SUMS_CARRIED_ROWS);
    let rows = RowMap::Consecutive { first: 0, len: map.len() };
    let mut sums = [T::Acc::ZERO; SUMS_CARRIED_ROWS * SUMS_CARRIED_COLS];
    for j in (0..on.width).step_by(SUMS_CARRIED_COLS) {
        let width = SUMS_CARRIED_COLS.min(on.width - j);
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

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, FormatSpec, RealNumber, RowLayout};
    use girih_generate::uniform;
    use girih_simd::Input;
    use half::bf16;
    use ndarray::Array2;

    use super::*;
    use crate::Isa;

    /// Whether or not this processor gains by them.
    #[test]
    fn neither_prefetching_a_nor_packing_strips_nor_reading_whole_rows_changes_a_bit() {
        bits_agree::<f32>();
        bits_agree::<f64>();
        bits_agree::<bf16>();
    }

    fn bits_agree<T: CpuScalar>() {
        // Sums that go on from part to part, and a last block that is not whole.
        let (m, k) = (150, 610);
        let a: Csr<T> = uniform(m, k, 80, 1).unwrap();
        for spec in [
            FormatSpec::Csr,
            FormatSpec::Bcsr { block_rows: 5, block_cols: 20 },
            FormatSpec::Bcsr { block_rows: 40, block_cols: 20 },
            FormatSpec::BlockedEll { block_size: 32 },
            FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 },
            FormatSpec::BMat { pattern_only: false },
            FormatSpec::Hybrid { window_rows: 64, pad_cols: 8, tile_entries: 80 },
        ] {
            let layout = RowLayout::natural(m, spec.window_rows()).unwrap();
            let tiles = Tiling::from_csr(&a, spec, layout).unwrap();
            let map = RowMap::for_slots(tiles.layout(), 0, m);
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                for n in [1, 8, 16, 40, 64, 150, 550] {
                    let b = Array2::from_shape_fn((k, n), |(i, j)| {
                        T::from_f64((i + 2 * j) as f64 / 7.0)
                    });
                    let product = |prefetch_a, packs_strips, is_far| {
                        let mut c = Array2::from_elem((m, n), T::Acc::from_f64(f64::NAN));
                        let panel = Panel {
                            kernels: &Kernels::<T>::new(isa),
                            b: BPanel::Given(Input {
                                prefetch_a,
                                is_far,
                                ..Input::in_place(&b.view()).unwrap()
                            }),
                            out: Output::new(
                                &mut c.view_mut(),
                                T::Acc::from_f64(1.5),
                                T::Acc::ZERO,
                            ),
                            width: n,
                            csr_layout: None,
                            slab: None,
                            share: None,
                            packs_strips,
                        };
                        tiles.multiply(0..m, 0..u64::MAX, map, &panel);
                        c
                    };
                    let plain = product(false, false, false);
                    let same = product(true, false, false) == plain
                        && product(false, true, false) == plain
                        && product(true, false, true) == plain;
                    assert!(same, "{spec}, {}, {isa}, n = {n}", T::DTYPE);
                }
            }
        }
    }
}
