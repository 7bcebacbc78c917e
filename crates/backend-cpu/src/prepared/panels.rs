//! From where B is read: in place, or a panel of columns at a time that is packed first.

use girih_formats::FormatError;

use super::Prepared;
use crate::formats::Panel;
use crate::isa::KernelScalar;
use crate::operands::{Input, Output, Source};
use crate::packing::{GROUP_LINES, PACKED_ROWS, Packing, Piece, lanes};
use crate::team::Team;

/// Elements that are copied at a time, from which on other threads are waked for it.
const SHARED: usize = 1 << 16;

impl<T: KernelScalar> Prepared<T> {
    /// The product on operands that fit, α ≠ 0.
    pub(super) fn product(&self, b: Input<T>, out: Output<T::Acc>, n: usize) {
        let relaid = self.relaid.as_ref().filter(|relaid| relaid.suits(b.is_column));
        let (kernels, gathers) = (&self.kernels, self.kernels.gathers());
        let whole = Panel { kernels, b, out, width: n, relaid, alone: false, gathers };
        let Some(packing) = self.packing.as_ref().filter(|packing| packing.suits(n)) else {
            return self.panel(&whole);
        };
        let count = packing.pieces(n).count();
        if packing.apart(count, self.team.threads()) {
            let alone = Panel { alone: true, ..whole };
            self.team.for_each(count, 1, |i| {
                let Some(piece) = packing.pieces(n).nth(i) else { return };
                match packing.room() {
                    Some(mut room) => self.packed(&piece, room.make_mut(), packing, &alone),
                    None => self.panel(&alone.part(&piece.cols)),
                }
            });
        } else if let Some(mut room) = packing.room() {
            let room = room.make_mut();
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
        let team = if panel.alone { &Team::Alone } else { &self.team };
        self.pack(panel.b.source(), panel.width, room, stride, team);
        let row_stride = stride as isize;
        let packed = Input { ptr: room.as_ptr(), row_stride, of_group, ..panel.b };
        self.panel(&Panel { b: packed, ..panel });
    }

    /// Packs some columns of B.
    fn pack(&self, b: Source<T>, width: usize, room: &mut [T], stride: usize, team: &Team) {
        team.for_each_chunk(room, PACKED_ROWS * stride, |i, to| {
            self.kernels.pack(b, i * PACKED_ROWS, width, to, stride);
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
        let team = if len < SHARED { &Team::Alone } else { &self.team };
        self.copies.with(len, |room| {
            for j in (0..n).step_by(stride) {
                let width = stride.min(n - j);
                self.pack(b.at_col(j), width, room, stride, team);
                let copy = Input::new(room.as_ptr(), stride as isize, n);
                self.product(self.placed(copy, width), out.at_col(j), width);
            }
        })
    }
}
