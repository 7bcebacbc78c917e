//! `ldmatrix` and `stmatrix` on 8×8 matrices of 16-bit elements (`.m8n8`, `.b16`), the only form
//! that `sm_90a` has.
//!
//! Matrix `i` is what register `i` holds; its row `r` is the 16 bytes at the address that lane
//! `8 i + r` gives.

/// The lane whose address is that of a matrix's row.
#[must_use]
pub const fn address_lane(matrix: u32, row: u32) -> u32 {
    matrix * 8 + row
}

/// Row and column of the elements in the lower and upper half of a lane's register, or their places
/// in memory exchanged for `.trans`.
#[must_use]
pub const fn positions(lane: u32, transposed: bool) -> [(u32, u32); 2] {
    let (row, column) = (lane / 4, lane % 4 * 2);
    if transposed { [(column, row), (column + 1, row)] } else { [(row, column), (row, column + 1)] }
}

/// What the 32 lanes receive of one matrix, given as the 8 elements of its 8 rows.
#[must_use]
pub fn load(rows: &[[u16; 8]; 8], transposed: bool) -> [u32; 32] {
    std::array::from_fn(|lane| {
        let [low, high] = positions(lane as u32, transposed)
            .map(|(row, column)| u32::from(rows[row as usize][column as usize]));
        low | high << 16
    })
}

/// The rows of one matrix, given what the 32 lanes hold.
#[must_use]
pub fn store(registers: &[u32; 32], transposed: bool) -> [[u16; 8]; 8] {
    let mut rows = [[0; 8]; 8];
    for (lane, register) in (0..).zip(registers) {
        let [low, high] = positions(lane, transposed);
        rows[low.0 as usize][low.1 as usize] = *register as u16;
        rows[high.0 as usize][high.1 as usize] = (register >> 16) as u16;
    }
    rows
}
