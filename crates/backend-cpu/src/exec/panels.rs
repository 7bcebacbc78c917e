//! From where B is read: in place, or a panel of columns at a time that is packed first.

use std::ops::Range;

use girih_formats::FormatError;

use super::Prepared;
use crate::exec::formats::{Panel, Share};
use crate::exec::team::Team;
use crate::isa::KernelScalar;
use crate::lowering::{PackedBy, Panels, Piece};
use crate::operands::{GROUP_LINES, lanes};
use crate::operands::{Input, Output, Source};
use crate::thresholds::{PACK_ROWS, THREADS_COPIED};

impl<T: KernelScalar> Prepared<T> {
    /// The product on operands that fit, α ≠ 0.
    pub(super) fn product(&self, b: Input<T>, out: Output<T::Acc>, n: usize) {
        let product = self.lowering.product(n, b.is_column, self.team.threads());
        let (kernels, gathers) = (&self.kernels, product.gathers);
        let (b, relaid) = (self.placed(b, &product), self.relaid.as_ref());
        let relaid = relaid.filter(|_| product.by_layout);
        let whole = Panel { kernels, b, out, width: n, relaid, slab: None, alone: None, gathers };
        let (Some(packed), Some(panels), Some(packing)) =
            (product.packed, &self.lowering.packing.choice, &self.packing)
        else {
            return self.panel(&whole);
        };
        match packed {
            PackedBy::Each { panels: count, shares } => {
                self.team.for_each(count * shares, 1, |i| {
                    let Some(piece) = panels.pieces(n).nth(i / shares) else { return };
                    let share = Share { part: i % shares, of: shares };
                    let alone = Panel { alone: Some(share), ..whole };
                    match packing.scratch() {
                        Some(mut to) => self.packed(&piece, to.elements(), panels, &alone),
                        None => self.panel(&alone.part(&piece.cols)),
                    }
                });
            }
            PackedBy::All { .. } => match packing.scratch() {
                Some(mut to) => {
                    let to = to.elements();
                    panels.pieces(n).for_each(|piece| self.packed(&piece, to, panels, &whole));
                }
                None => self.panel(&whole),
            },
        }
    }

    /// The product on some columns, which are packed first.
    fn packed(
        &self,
        Piece { cols, of_group }: &Piece,
        room: &mut [T],
        panels: &Panels,
        whole: &Panel<'_, T>,
    ) {
        let (stride, of_group) = (panels.row_stride(), *of_group);
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
            Some(relaid) if panels.rows < k => {
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
        #[cfg(test)]
        if let Some(recorder) = self.recorder {
            recorder.packed(width);
        }
        team.for_each_chunk(room, PACK_ROWS * stride, |i, to| {
            self.kernels.pack(b, first + i * PACK_ROWS, width, to, stride);
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
        let team = if len < THREADS_COPIED { &Team::Alone } else { &self.team };
        self.copies.with(len, |room| {
            for j in (0..n).step_by(stride) {
                let width = stride.min(n - j);
                self.pack(b.at_col(j), 0, width, room, stride, team);
                let copy = Input::new(room.as_ptr(), stride as isize, n);
                self.product(copy, out.at_col(j), width);
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
    use crate::exec::scratch::packing::Packing;
    use crate::lowering::Decided;

    /// Panels of four lines for rows of any width that is packed, or none, whatever was decided.
    fn pack(prepared: &mut Prepared<f32>, rows: Option<usize>) {
        let panels = rows.map(|rows| Panels::new(&prepared.lowering.case, 4, 512, rows));
        prepared.packing = panels.map(|panels| Packing::new(&panels).unwrap());
        prepared.lowering.packing = Decided::new(panels, "a test");
    }

    /// Whether or not packing is profitable: panels of all threads, of each, and in shares, windows in parts too.
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
        let (team, isa) = (Team::Alone, Isa::best());
        let mut prepared = Prepared::new(isa, team, &tiling, &schedule, n).unwrap();
        assert_eq!(prepared.relaid.as_ref().unwrap().slabs(k).count(), 3);
        let mut product = |packs: bool, skip: usize| {
            pack(&mut prepared, packs.then_some(256));
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
                let isa = Isa::best();
                let mut prepared = Prepared::new(isa, team, &tiling, &schedule, n).unwrap();
                if let Some(relaid) = prepared.relaid.as_ref().filter(|_| rows < 700) {
                    assert_eq!(relaid.slabs(700).next(), Some(0..rows));
                }
                pack(&mut prepared, packs.then_some(rows));
                if let Some(panels) = &prepared.lowering.packing.choice {
                    let count = panels.pieces(n).count();
                    assert_eq!(panels.shares(count, threads), shares, "n = {n}");
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
