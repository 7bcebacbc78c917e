//! The sizes of tiles.

use girih::formats::{DType, FormatKind, FormatSpec};

/// Rows and columns of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// At least 1.
    pub rows: usize,
    /// At least 1.
    pub cols: usize,
}

/// Reads a block: `64x32`, or `64` for a square one.
///
/// # Errors
/// A message, if the text is no block.
pub fn parse_block(s: &str) -> Result<Block, String> {
    let expected =
        || format!("{s:?} is not a block; write ROWSxCOLS, for example 64x64, or one number");
    let side = |text: &str| {
        text.parse::<u32>().ok().filter(|&n| n > 0).map(|n| n as usize).ok_or_else(expected)
    };
    match s.split_once(['x', 'X', '×']) {
        Some((rows, cols)) => Ok(Block { rows: side(rows)?, cols: side(cols)? }),
        None => side(s).map(|n| Block { rows: n, cols: n }),
    }
}

/// Sizes of tiles that were given, and the value type that decides some of the others.
#[derive(Clone, Copy, Debug)]
pub struct TileSizes {
    /// The value type of the tiles.
    pub dtype: DType,
    /// The block of BCSR and Blocked-ELL; 64×64 if it is `None`.
    pub block: Option<Block>,
    /// The rows of a window of WCSR and of hybrids; 64 if it is `None`.
    pub window: Option<u32>,
    /// The fewest entries, on average, of the tiles of a window that a hybrid packs. If it is `None`, 1½ for each
    /// column of a tile: about what a packed column costs at n = 128, by the fits of an H100.
    pub tile_entries: Option<u32>,
}

impl TileSizes {
    /// The format of a kind with these sizes.
    ///
    /// # Errors
    /// A message, if a size does not suit the format.
    pub fn spec(&self, kind: FormatKind) -> Result<FormatSpec, String> {
        let Block { rows, cols } = self.block.unwrap_or(Block { rows: 64, cols: 64 });
        Ok(match kind {
            FormatKind::Csr => FormatSpec::Csr,
            FormatKind::Bcsr => FormatSpec::Bcsr { block_rows: rows, block_cols: cols },
            FormatKind::Wcsr => FormatSpec::Wcsr {
                window_rows: self.window.unwrap_or(64) as usize,
                pad_cols: pad_cols(self.dtype),
            },
            FormatKind::BlockedEll if rows == cols => FormatSpec::BlockedEll { block_size: rows },
            FormatKind::BlockedEll => {
                return Err(format!(
                    "blocked-ell has square blocks, but --block is {rows}x{cols}; write --block {rows}"
                ));
            }
            FormatKind::BMat => FormatSpec::BMat { pattern_only: false },
            FormatKind::TwoFour => FormatSpec::TwoFour,
            FormatKind::Hybrid => {
                let (window_rows, pad_cols) = (self.window.unwrap_or(64), pad_cols(self.dtype));
                FormatSpec::Hybrid {
                    window_rows: window_rows as usize,
                    pad_cols,
                    tile_entries: self
                        .tile_entries
                        .map_or(pad_cols + pad_cols / 2, |entries| entries as usize),
                }
            }
        })
    }
}

/// WCSR pads a window's packed columns to a multiple of this: the depth of one tensor-core step, which
/// also keeps rows of tiles on 32-byte boundaries.
const fn pad_cols(dtype: DType) -> usize {
    match dtype {
        DType::F16 | DType::Bf16 => 16,
        DType::F32 | DType::F64 | DType::C32 | DType::C64 => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read() {
        assert_eq!(parse_block("64x32"), Ok(Block { rows: 64, cols: 32 }));
        assert_eq!(parse_block("16"), Ok(Block { rows: 16, cols: 16 }));
        for text in ["", "x", "0x4", "4x0", "4x4x4", "-4", "4294967296"] {
            assert!(parse_block(text).is_err(), "{text}");
        }
    }
}
