//! A copy of B in rows of whole vectors, by `pack_b.cu`: what kernels read in place of a B whose rows are none.
//!
//! # What bounds it
//! Memory: B is read once, and written once. What is written is read again while it is in the second-level cache.

#[cfg(test)]
mod faults;

use bytemuck::bytes_of;

use super::shared::passed::passed;
use super::{Budget, Kernel};
use crate::CudaError;
use crate::launch::{Each, Launch};
use crate::operand::Place;

/// Its name.
pub(crate) const STEM: &str = "pack_b";

/// Threads of a block.
const THREADS: u32 = 256;
/// Rows of a block.
const ROWS: u64 = 32;

passed! {
    "pack_b/passed.cuh";

    /// What the entry points are passed. Addresses are of device memory, strides count elements.
    struct Params {
        to: u64 as "void*",
        from: u64 as "const void*",
        rows: u64,
        cols: u64,
        /// From one row of the copy to the next: whole vectors.
        pitch: u64,
        row_stride: u64,
        col_stride: u64,
        tiles_of_columns: u64,
    }
}

/// The kernel.
#[must_use]
pub(crate) fn kernel() -> Kernel {
    Kernel {
        stem: STEM,
        config: "all".to_owned(),
        source: include_str!("pack_b.cu"),
        defines: Vec::new(),
        only: None,
        budget: Budget {
            registers: 64,
            shared: 32 * (256 + 16),
            dynamic_shared: 0,
            entries: &["pack_b_2", "pack_b_4", "pack_b_8"],
            instructions: &["STG.E.128"],
        },
    }
}

/// Elements from one row of a copy to the next, of `cols` columns of elements of `size` bytes.
fn pitch(cols: u64, size: u64) -> u64 {
    cols.next_multiple_of(16 / size)
}

/// Bytes of a copy of that many rows and columns; `None` if there are more than are counted.
pub(crate) fn bytes(rows: u64, cols: u64, size: u64) -> Option<u64> {
    let cols = cols.checked_next_multiple_of(16 / size)?;
    rows.checked_mul(cols)?.checked_mul(size)
}

/// Hands the launch to `each` that copies B, of elements of `size` bytes, to an address on 16 bytes; its number is
/// `kernel`. Returns the copy.
///
/// # Errors
/// Those of `each`, and [`CudaError::Operand`] if B is more than a grid has blocks for.
pub(crate) fn launch(
    (b, size): (&Place, u64),
    to: u64,
    kernel: usize,
    each: Each<'_>,
) -> Result<Place, CudaError> {
    let (entry, columns) = match size {
        2 => ("pack_b_2", 64),
        4 => ("pack_b_4", 32),
        8 => ("pack_b_8", 32),
        _ => unreachable!("elements of {size} bytes are vectors"),
    };
    let (rows, cols, pitch) = (b.rows as u64, b.cols as u64, pitch(b.cols as u64, size));
    let tiles_of_columns = pitch.div_ceil(columns);
    let blocks = rows.div_ceil(ROWS).saturating_mul(tiles_of_columns);
    let Ok(blocks) = i32::try_from(blocks) else {
        let reason = "has more elements than one launch copies".to_owned();
        return Err(CudaError::Operand { operand: "B", reason });
    };
    let &Place { address: from, row_stride, col_stride, .. } = b;
    let params = Params { to, from, rows, cols, pitch, row_stride, col_stride, tiles_of_columns };
    each(&Launch {
        kernel,
        entry,
        grid: [blocks as u32, 1, 1],
        block: THREADS,
        params: bytes_of(&params),
        ..Launch::default()
    })?;
    let spare = pitch - cols;
    Ok(Place { address: to, row_stride: pitch, col_stride: 1, spare, ..*b })
}
