//! What a kernel keeps in shared memory: the arithmetic, in one place.

use girih_formats::{DType, FormatSpec};

/// Columns of A that a stage holds where packed columns are many to a step: the depth of a
/// 128-byte-swizzled row in 16-bit values.
const STAGE_COLS: u64 = 64;

/// Bytes of a stage beside its tiles: two barriers of 8 bytes, and which rows of the block it is for.
const STAGE_EXTRA: u64 = 2 * 8 + 4;

/// Bytes that the hardware keeps of a block's shared memory for itself.
const RESERVED: u64 = 1024;

/// One stage of a kernel's ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Bytes of the tile of A, with its indices.
    pub a_bytes: u64,
    /// Bytes of the tile of B.
    pub b_bytes: u64,
}

impl Ring {
    /// Bytes of a stage, barriers included.
    #[must_use]
    pub const fn stage_bytes(&self) -> u64 {
        self.a_bytes + self.b_bytes + STAGE_EXTRA
    }

    /// Bytes of a block's shared memory with so many stages.
    #[must_use]
    pub const fn block_bytes(&self, stages: u64) -> u64 {
        self.stage_bytes() * stages
    }

    /// Most stages that fit into `bytes`; 0 if none does.
    #[must_use]
    pub const fn stages_in(&self, bytes: u64) -> u64 {
        bytes / self.stage_bytes()
    }

    /// Blocks of so many stages that a multiprocessor with `bytes` has room for.
    #[must_use]
    pub const fn blocks_in(&self, stages: u64, bytes: u64) -> u64 {
        bytes / (self.block_bytes(stages) + RESERVED)
    }
}

/// The stage of a format's kernel for blocks of `cols` columns of C; `None` for kernels that keep no
/// ring.
#[must_use]
pub fn ring(spec: FormatSpec, dtype: DType, cols: u64) -> Option<Ring> {
    let size = dtype.size() as u64;
    let tile = |rows: usize, depth: u64| Ring {
        a_bytes: rows as u64 * depth * size,
        b_bytes: depth * cols * size,
    };
    match spec {
        FormatSpec::Csr => None,
        // A whole block of A, as many rows of B as it has columns.
        FormatSpec::Bcsr { block_rows, block_cols } => Some(tile(block_rows, block_cols as u64)),
        FormatSpec::BlockedEll { block_size } => Some(tile(block_size, block_size as u64)),
        FormatSpec::Wcsr { window_rows, .. } => {
            let tile = tile(window_rows, STAGE_COLS);
            Some(Ring { a_bytes: tile.a_bytes + 4 * STAGE_COLS, ..tile })
        }
        // Four words of bits, eight column indices, the values of a full tile at most; eight rows of B.
        FormatSpec::BMat { .. } => {
            Some(Ring { a_bytes: 4 * 4 + 8 * 4 + 16 * 8 * size, b_bytes: 8 * cols * size })
        }
        // Half of the values, two bits for each of them, against all rows of B.
        FormatSpec::TwoFour => Some(Ring {
            a_bytes: 64 * STAGE_COLS / 2 * size + 64 * STAGE_COLS / 8,
            b_bytes: STAGE_COLS * cols * size,
        }),
    }
}
