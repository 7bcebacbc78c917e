//! From where B is read: in place, or a panel of columns at a time that is packed first.

use std::ops::Range;

use girih_formats::FormatError;

use super::Prepared;
use crate::formats::{Panel, Share};
use crate::isa::KernelScalar;
use crate::operands::{Input, Output, Source};
use crate::packing::{GROUP_LINES, PACKED_ROWS, Packing, Piece, lanes};
use crate::team::Team;

/// Elements to copy from which on it is worth waking other threads.
const WAKES: usize = 1 << 16;

impl<T: KernelScalar> Prepared<T> {
    /// The product on operands that fit, α ≠ 0.
    pub(super) fn product(&self, b: Input<T>, out: Output<T::Acc>, n: usize) {
        let relaid = self.relaid.as_ref().filter(|relaid| relaid.suits(b.is_column));
        let (kernels, gathers) = (&self.kernels, self.kernels.gathers());
        let whole = Panel { kernels, b, out, width: n, relaid, slab: None, alone: None, gathers };
        let Some(packing) = self.packing.as_ref().filter(|packing| packing.suits(n)) else {
            return self.panel(&whole);
        };
        let count = packing.pieces(n).count();
        if let Some(shares) = packing.shares(count, self.team.threads()) {
            self.team.for_each(count * shares, 1, |i| {
                let Some(piece) = packing.pieces(n).nth(i / shares) else { return };
                let alone = Panel { alone: Some(Share { part: i % shares, of: shares }), ..whole };
                match packing.room() {
                    Some(mut room) => self.packed(&piece, room.elements(), packing, &alone),
                    None => self.panel(&alone.part(&piece.cols)),
                }
            });
        } else if let Some(mut room) = packing.room() {
            let room = room.elements();
            packing.pieces(n).for_each(|piece| self.packed(&piece, room, packing, &whole));
        } else {
            self.panel(&whole);
        }
    }

    /// The product on some columns, which are packed first.
    fn packed(
        &self,
        Piece { cols, of_group }: &Piece,
        room: &mut [T],
        packing: &Packing<T>,
        whole: &Panel<'_, T>,
    ) {
        let (stride, of_group) = (packing.row_stride(), *of_group);
        let panel = whole.part(cols);
        let team = if panel.alone.is_some() { &Team::Alone } else { &self.team };
        let k = self.tiling.ncols();
        let mut multiply = |rows: Range<usize>, slab: Option<usize>| {
            let room = &mut room[..rows.len() * stride];
            self.pack(panel.b.source(), rows.start, panel.width, room, stride, team);
            // Where row 0 would be.
            let ptr = room.as_ptr().wrapping_sub(rows.start * stride);
            let b = Input { ptr, row_stride: stride as isize, of_group, ..panel.b };
            self.panel(&Panel { b, slab, ..panel });
        };
        match panel.relaid {
            Some(relaid) if packing.rows() < k => {
                relaid.slabs(k).enumerate().for_each(|(s, rows)| multiply(rows, Some(s)));
            }
            _ => multiply(0..k, None),
        }
    }

    /// Packs some columns of B, as many rows from `first` on as there is room for.
    fn pack(
        &self,
        b: Source<T>,
        first: usize,
        width: usize,
        room: &mut [T],
        stride: usize,
        team: &Team,
    ) {
        team.for_each_chunk(room, PACKED_ROWS * stride, |i, to| {
            self.kernels.pack(b, first + i * PACKED_ROWS, width, to, stride);
        });
    }

    /// The same, with a B whose columns are not next to each other: copied a group of columns at a time,
    /// which makes each a panel of a product that has them next to each other.
    ///
    /// # Errors
    /// If there is no memory for a copy.
    pub(super) fn copied(
        &self,
        b: Source<T>,
        out: Output<T::Acc>,
        n: usize,
    ) -> Result<(), FormatError> {
        // A schedule that cuts windows by columns cuts those of the whole product.
        let stride = if self.columns.is_some() { n } else { n.min(GROUP_LINES * lanes::<T>()) };
        let len = self.tiling.ncols().saturating_mul(stride);
        let team = if len < WAKES { &Team::Alone } else { &self.team };
        self.copies.with(len, |room| {
            for j in (0..n).step_by(stride) {
                let width = stride.min(n - j);
                self.pack(b.at_col(j), 0, width, room, stride, team);
                let copy = Input::new(room.as_ptr(), stride as isize, n);
                self.product(self.placed(copy, width), out.at_col(j), width);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use girih_backend::PreparedSpmm;
    use girih_formats::generate::{power_law_rows, uniform};
    use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
    use girih_planner::Schedule;
    use ndarray::{Array2, s};

    use super::*;
    use crate::Isa;
    use crate::packing::Panels;

    /// Whether or not packing pays: panels of all threads, of each, and in shares, windows in parts too.
    #[test]
    fn packed_panels_and_shares_of_them_change_no_bit() {
        let a: Csr<f32> = power_law_rows(60, 700, 200, 3).unwrap();
        for spec in [FormatSpec::Csr, FormatSpec::Bcsr { block_rows: 4, block_cols: 8 }] {
            agree(&a, spec, 90, 700);
        }
    }

    /// Whole panels, and slab by slab.
    #[test]
    fn packed_slabs_change_no_bit() {
        let a: Csr<f32> = uniform(60, 700, 200, 3).unwrap();
        agree(&a, FormatSpec::Csr, 4000, 700);
        agree(&a, FormatSpec::Csr, 4000, 256);
    }

    #[test]
    fn slabs_add_to_a_c_whose_lines_would_else_go_past_the_caches() {
        let (m, k, n) = (2100, 600, 512);
        let a: Csr<f32> = uniform(m, k, 200, 3).unwrap();
        let layout = RowLayout::natural(m, 1).unwrap();
        let tiling = Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap();
        let schedule = Schedule::by_tiles(&tiling, 40_000);
        let b = Array2::from_shape_fn((k, n), |(i, j)| ((i + 3 * j) % 29) as f32 / 7.0);
        let (team, isa, room) = (Team::Alone, Isa::best(), crate::room::Room::here());
        let mut prepared = Prepared::new(isa, team, &tiling, &schedule, n).unwrap();
        assert_eq!(prepared.relaid.as_ref().unwrap().slabs(k).count(), 3);
        let mut product = |packs: bool, skip: usize| {
            prepared.packing = packs.then(|| Packing::new(Panels::any(), 256, 1, room).unwrap());
            let mut c = Array2::from_elem((m, n + 32), f32::NAN);
            let first = c.as_ptr().align_offset(64) + skip;
            let mut c = c.slice_mut(s![.., first..first + n]);
            let lines = Output::new(&mut c, 1.0, 0.0).in_tiles().streams();
            assert_eq!(lines, skip == 0);
            prepared.execute(1.5, b.view().into(), 0.0, c.view_mut().into()).unwrap();
            c.to_owned()
        };
        let plain = product(false, 1);
        assert!(product(false, 0) == plain && product(true, 0) == plain);
    }

    /// Packed `rows` at a time, a matrix of 60×700 gives the bits that it gives where B is not packed, by one thread,
    /// whatever C was if it is overwritten, and added to it otherwise.
    fn agree(a: &Csr<f32>, spec: FormatSpec, task: u64, rows: usize) {
        let layout = RowLayout::natural(60, spec.window_rows()).unwrap();
        let tiling = Tiling::from_csr(a, spec, layout).unwrap();
        let schedule = Schedule::by_tiles(&tiling, task);
        for (n, threads, shares) in [
            (128, 1, None),
            (128, 2, Some(1)),
            (130, 2, None),
            (150, 2, None),
            (128, 4, Some(2)),
            (193, 8, Some(2)),
        ] {
            let b = Array2::from_shape_fn((700, n), |(i, j)| ((i + 3 * j) % 29) as f32 / 7.0);
            let product = |packs: bool, threads: usize, beta: f64| {
                let team = Team::of(threads).unwrap();
                let (isa, room) = (Isa::best(), crate::room::Room::here());
                let mut prepared = Prepared::new(isa, team, &tiling, &schedule, n).unwrap();
                if let Some(relaid) = prepared.relaid.as_ref().filter(|_| rows < 700) {
                    assert_eq!(relaid.slabs(700).next(), Some(0..rows));
                }
                prepared.packing =
                    packs.then(|| Packing::new(Panels::any(), rows, threads, room).unwrap());
                if let Some(packing) = &prepared.packing {
                    let count = packing.pieces(n).count();
                    assert_eq!(packing.shares(count, threads), shares, "n = {n}");
                }
                let before = if beta == 0.0 { f32::NAN } else { 3.0 };
                let mut c = Array2::from_elem((60, n), before);
                prepared.execute(1.5, b.view().into(), beta, c.view_mut().into()).unwrap();
                c
            };
            for beta in [0.0, 0.3] {
                let plain = product(false, 1, beta);
                let same = product(true, threads, beta) == plain;
                assert!(same && product(false, threads, beta) == plain, "{spec}, n = {n}");
            }
        }
    }
}
