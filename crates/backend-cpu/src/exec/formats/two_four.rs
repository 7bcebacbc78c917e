//! 2:4: each row is decoded to its columns, a chunk at a time.

use std::ops::Range;

use girih_formats::{Scalar, TwoFour};
use girih_simd::{RowBlock, RowMap};

use super::{Multiply, Panel, add_up, clamp};
use crate::kernels::CpuScalar;
use crate::thresholds::STACK_TWO_FOUR_GROUPS;

impl<T: CpuScalar> Multiply<T> for TwoFour<T> {
    fn multiply(&self, slots: Range<usize>, tiles: Range<u64>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let groups = Self::groups_of(self.ncols());
        let mut col_idx = [0; 2 * STACK_TWO_FOUR_GROUPS];
        let mut wide = [T::Acc::ZERO; 2 * STACK_TWO_FOUR_GROUPS];
        for (i, slot) in slots.enumerate() {
            let before = slot * groups;
            let own = clamp(before as u64..(before + groups) as u64, &tiles);
            add_up(
                own,
                |group| group + STACK_TWO_FOUR_GROUPS,
                map.part(i, 1),
                on,
                |range, map, on| {
                    let stored = &self.values()[2 * range.start..2 * range.end];
                    let mut n = 0;
                    for group in
                        range.start - before.min(range.start)..range.end - before.min(range.end)
                    {
                        for position in self.positions(slot, group) {
                            col_idx[n] = (4 * group + position) as u32;
                            n += 1;
                        }
                    }
                    // Positions beyond the last column come last, with zeros.
                    while n > 0 && col_idx[n - 1] as usize >= self.ncols() {
                        n -= 1;
                    }
                    let values = match T::as_acc(stored) {
                        Some(values) => &values[..n],
                        None => {
                            on.kernels.widen(&stored[..n], &mut wide[..n]);
                            &wide[..n]
                        }
                    };
                    let block = RowBlock {
                        row_ptr: &[0, n as u64],
                        entries: (0, n as u64),
                        first: 0,
                        col_idx: &col_idx[..n],
                        values,
                    };
                    on.kernels.rows(&block, on.b, &on.out, map, on.width);
                },
            );
        }
    }
}
