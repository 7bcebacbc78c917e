//! 2:4: both stored positions of every group, without those past the last column.

use girih_formats::{Scalar, TwoFour};

pub(super) fn visit<T: Scalar>(t: &TwoFour<T>, slot: usize, mut visit: impl FnMut(usize, T)) {
    let values = &t.values()[slot * t.row_stride()..][..t.row_stride()];
    for (group, pair) in values.chunks_exact(2).enumerate() {
        for (position, &value) in t.positions(slot, group).into_iter().zip(pair) {
            let col = 4 * group + position;
            if col < t.ncols() {
                visit(col, value);
            }
        }
    }
}
