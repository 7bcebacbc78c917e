//! Which lane's registers hold which elements.
//!
//! All shapes follow one pattern. In a group of four lanes, each lane holds 32 bits of every
//! 16-byte row of an 8-row tile; A's registers walk over 8 rows, then over 16 bytes of k; B's over
//! 16 bytes of k; accumulators hold pairs of columns. `wgmma` stacks four warps' rows.

/// Row and k of an element of A: `element` counts within `register`, low bits first. `thread` is
/// the lane for `mma`, the thread of the warpgroup (0–127) for `wgmma`; `bytes` is an element's
/// size. For a sparse A, k counts stored elements.
#[must_use]
pub const fn a_position(bytes: u32, thread: u32, register: u32, element: u32) -> (u32, u32) {
    let per_register = 4 / bytes;
    let row = thread / 32 * 16 + thread % 32 / 4 + register % 2 * 8;
    let k = (thread % 4 + register / 2 * 4) * per_register + element;
    (row, k)
}

/// Column and k of an element of B of `mma`.
#[must_use]
pub const fn b_position(bytes: u32, lane: u32, register: u32, element: u32) -> (u32, u32) {
    let per_register = 4 / bytes;
    (lane / 4, (lane % 4 + register * 4) * per_register + element)
}

/// Row and column of the accumulator element with the given number (two to a register for `.f16`:
/// the lower half first).
#[must_use]
pub const fn accumulator_position(thread: u32, element: u32) -> (u32, u32) {
    let row = thread / 32 * 16 + thread % 32 / 4 + element / 2 % 2 * 8;
    let column = element / 4 * 8 + thread % 4 * 2 + element % 2;
    (row, column)
}
