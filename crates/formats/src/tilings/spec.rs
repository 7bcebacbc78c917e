//! Formats by name and size, and the checks the tilings share.

use std::fmt::{self, Display};
use std::str::FromStr;

use girih_parallel::prelude::*;
use serde::{Deserialize, Serialize};

use crate::MAX_DIM;
use crate::PAD_COL;
use crate::csr::{check_index_list, first_error};
use crate::dtype::DType;
use crate::error::FormatError;
use crate::tilings::hybrid::is_packed;

/// A format, without its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FormatKind {
    /// Compressed sparse rows.
    Csr,
    /// Block compressed sparse rows.
    Bcsr,
    /// Window compressed sparse rows.
    Wcsr,
    /// Blocked ELLPACK.
    BlockedEll,
    /// Bitmask tiles.
    BMat,
    /// 2:4 structured sparsity.
    TwoFour,
    /// Packed windows beside windows of rows.
    Hybrid,
}

impl FormatKind {
    /// Every format.
    pub const ALL: [Self; 7] = [
        Self::Csr,
        Self::Bcsr,
        Self::Wcsr,
        Self::BlockedEll,
        Self::BMat,
        Self::TwoFour,
        Self::Hybrid,
    ];

    /// The name used by the command line and in plan files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csr => "csr",
            Self::Bcsr => "bcsr",
            Self::Wcsr => "wcsr",
            Self::BlockedEll => "blocked-ell",
            Self::BMat => "bmat",
            Self::TwoFour => "two-four",
            Self::Hybrid => "hybrid",
        }
    }
}

impl Display for FormatKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FormatKind {
    type Err = FormatError;

    fn from_str(s: &str) -> Result<Self, FormatError> {
        Self::ALL.into_iter().find(|k| k.name() == s).ok_or_else(|| FormatError::UnknownName {
            what: "format",
            found: s.to_owned(),
            expected: "csr, bcsr, wcsr, blocked-ell, bmat, two-four or hybrid",
        })
    }
}

/// A format with its sizes: what to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FormatSpec {
    /// CSR, one row per window.
    Csr,
    /// BCSR.
    Bcsr {
        /// Rows of a block.
        block_rows: usize,
        /// Columns of a block.
        block_cols: usize,
    },
    /// WCSR.
    Wcsr {
        /// Rows of a window.
        window_rows: usize,
        /// What a window's packed columns are padded to a multiple of.
        pad_cols: usize,
    },
    /// Blocked ELLPACK.
    BlockedEll {
        /// Rows and columns of a block.
        block_size: usize,
    },
    /// BMat: 16-row windows, 16×8 tiles.
    BMat {
        /// Store the pattern only; every entry stands for 1.
        pattern_only: bool,
    },
    /// 2:4.
    TwoFour,
    /// 2:4, whose values are stored in e4m3.
    TwoFourE4m3 {
        /// What has a scale of its own.
        scales: ScalesPer,
    },
    /// Windows that are dense enough as in WCSR, the rows of the others as in CSR.
    Hybrid {
        /// Rows of a window.
        window_rows: usize,
        /// What a packed window's columns are padded to a multiple of: the columns of its tiles.
        pad_cols: usize,
        /// The fewest entries, on average, of the tiles of a window that is packed.
        tile_entries: usize,
    },
}

/// What of a matrix has a scale of its own, where values are stored in a type that is too narrow for their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScalesPer {
    /// All of it: one scale.
    Tensor,
    /// Each row.
    Row,
}

impl ScalesPer {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Tensor, Self::Row];

    /// The name used by the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Row => "row",
        }
    }
}

impl FormatSpec {
    /// The format.
    #[must_use]
    pub const fn kind(self) -> FormatKind {
        match self {
            Self::Csr => FormatKind::Csr,
            Self::Bcsr { .. } => FormatKind::Bcsr,
            Self::Wcsr { .. } => FormatKind::Wcsr,
            Self::BlockedEll { .. } => FormatKind::BlockedEll,
            Self::BMat { .. } => FormatKind::BMat,
            Self::TwoFour | Self::TwoFourE4m3 { .. } => FormatKind::TwoFour,
            Self::Hybrid { .. } => FormatKind::Hybrid,
        }
    }

    /// Rows of a window of this format: the `window_rows` of the layout it is built with.
    #[must_use]
    pub const fn window_rows(self) -> usize {
        match self {
            Self::Csr | Self::TwoFour | Self::TwoFourE4m3 { .. } => 1,
            Self::Bcsr { block_rows, .. } => block_rows,
            Self::Wcsr { window_rows, .. } | Self::Hybrid { window_rows, .. } => window_rows,
            Self::BlockedEll { block_size } => block_size,
            Self::BMat { .. } => 16,
        }
    }

    /// Whether a hybrid of these sizes packs a window with these entries and columns in its union; no other format
    /// has a choice.
    ///
    /// ```
    /// use girih_formats::FormatSpec;
    ///
    /// // Five columns are two tiles of four.
    /// let hybrid = FormatSpec::Hybrid { window_rows: 16, pad_cols: 4, tile_entries: 9 };
    /// assert_eq!([17, 18].map(|entries| hybrid.packs(entries, 5)), [false, true]);
    /// ```
    #[must_use]
    pub const fn packs(self, entries: usize, columns: usize) -> bool {
        match self {
            Self::Hybrid { pad_cols, tile_entries, .. } => {
                is_packed(entries, columns, (pad_cols, tile_entries))
            }
            _ => false,
        }
    }

    /// What a tile of this format is.
    #[must_use]
    pub const fn tile(self) -> TileShape {
        let (cols, values, union_width) = match self {
            Self::Csr => (1, Some(1), None),
            Self::Bcsr { block_rows, block_cols } => {
                (block_cols, Some(block_rows.saturating_mul(block_cols)), Some(block_cols))
            }
            Self::Wcsr { window_rows, pad_cols } => {
                (pad_cols, Some(window_rows.saturating_mul(pad_cols)), Some(1))
            }
            Self::BlockedEll { block_size } => {
                (block_size, Some(block_size.saturating_mul(block_size)), Some(block_size))
            }
            Self::BMat { .. } => (8, None, Some(1)),
            Self::TwoFour | Self::TwoFourE4m3 { .. } => (4, Some(2), None),
            Self::Hybrid { pad_cols, .. } => (pad_cols, None, Some(1)),
        };
        TileShape { cols, values, union_width }
    }

    /// Bytes of a stored value of a matrix of this value type.
    #[must_use]
    pub const fn value_bytes(self, dtype: DType) -> usize {
        match self {
            Self::TwoFourE4m3 { .. } => 1,
            _ => dtype.size(),
        }
    }
}

/// What a tile of a format is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TileShape {
    /// Columns of A that it covers.
    pub cols: usize,
    /// Values that are stored for it; `None` if they differ from tile to tile.
    pub values: Option<usize>,
    /// Columns that count as one in the unions of the windows from which the tiles follow; `None` if they
    /// follow from none.
    pub union_width: Option<usize>,
}

impl Display for FormatSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bcsr { block_rows, block_cols } => write!(f, "bcsr {block_rows}x{block_cols}"),
            Self::Wcsr { window_rows, pad_cols } => write!(f, "wcsr {window_rows}/{pad_cols}"),
            Self::Hybrid { window_rows, pad_cols, tile_entries } => {
                write!(f, "hybrid {window_rows}/{pad_cols}/{tile_entries}")
            }
            Self::BlockedEll { block_size } => write!(f, "blocked-ell {block_size}x{block_size}"),
            Self::BMat { pattern_only: true } => write!(f, "bmat (pattern)"),
            Self::TwoFourE4m3 { scales } => write!(f, "two-four e4m3/{}", scales.name()),
            Self::Csr | Self::BMat { .. } | Self::TwoFour => Display::fmt(&self.kind(), f),
        }
    }
}

/// Checks a block or padding size.
pub(crate) fn check_size(what: &'static str, found: usize) -> Result<(), FormatError> {
    if (1..=MAX_DIM).contains(&found) {
        return Ok(());
    }
    Err(FormatError::Parameter { what, found, expected: "it must be at least 1 and below 2³²" })
}

/// The product of `factors`, refused if it does not fit an address space.
pub(crate) fn checked_elements(factors: &[usize]) -> Result<usize, FormatError> {
    let product = factors.iter().fold(1u128, |p, &f| p.saturating_mul(f as u128));
    if product <= (isize::MAX / 8) as u128 {
        return Ok(product as usize);
    }
    Err(FormatError::TooManyElements { found: product })
}

/// Checks that `nnz` entries fit the stored elements.
pub(crate) fn check_nnz(nnz: usize, elements: usize) -> Result<(), FormatError> {
    if nnz <= elements {
        return Ok(());
    }
    Err(FormatError::Mismatch { what: "nnz", found: nnz as u64, expected: elements as u64 })
}

/// `nnz / elements`, and 1 where nothing is stored.
pub(crate) fn fill_ratio(nnz: usize, elements: usize) -> f64 {
    if elements == 0 { 1.0 } else { nnz as f64 / elements as f64 }
}

/// Checks windows of packed columns: each a multiple of `pad` long and a valid padded list.
pub(crate) fn check_padded_lists(
    ptr_name: &'static str,
    what: &'static str,
    ptr: &[u64],
    idx: &[u32],
    pad: usize,
    limit: usize,
) -> Result<(), FormatError> {
    first_error(ptr.par_windows(2).enumerate(), |(w, bounds)| {
        let (start, end) = (bounds[0] as usize, bounds[1] as usize);
        if (end - start) % pad != 0 {
            return Err(FormatError::Offsets {
                what: ptr_name,
                position: w + 1,
                found: end as u64,
                reason: "not a whole number of padded groups after the one before",
            });
        }
        check_padded_list(what, w, start, &idx[start..end], limit)
    })
}

/// Checks one list of indices: strictly increasing, in range, then nothing but padding.
pub(crate) fn check_padded_list(
    what: &'static str,
    row: usize,
    start: usize,
    list: &[u32],
    limit: usize,
) -> Result<(), FormatError> {
    let used = list.iter().position(|&c| c == PAD_COL).unwrap_or(list.len());
    if let Some(i) = list[used..].iter().position(|&c| c != PAD_COL) {
        return Err(FormatError::Inconsistent {
            what,
            position: start + used + i,
            reason: "an index follows padding",
        });
    }
    check_index_list(what, row, start, &list[..used], limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tilings::{BMat, TwoFour};

    #[test]
    fn names_round_trip() {
        for kind in FormatKind::ALL {
            assert_eq!(kind.name().parse::<FormatKind>().unwrap(), kind);
        }
        let error = "coo".parse::<FormatKind>().unwrap_err().to_string();
        assert!(error.contains("coo") && error.contains("blocked-ell"), "{error}");
    }

    #[test]
    fn tiles_are_as_large_as_their_types_say() {
        let bmat = FormatSpec::BMat { pattern_only: false };
        assert_eq!(bmat.tile().cols, BMat::<f32>::TILE_COLS);
        assert_eq!(bmat.window_rows(), BMat::<f32>::WINDOW_ROWS);
        let cols = FormatSpec::TwoFour.tile().cols;
        assert_eq!((TwoFour::<f32>::groups_of(cols), TwoFour::<f32>::groups_of(cols + 1)), (1, 2));
        let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
        assert_eq!((wcsr.tile().cols, wcsr.tile().values), (8, Some(128)));
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        assert_eq!(checked_elements(&[3, 4]), Ok(12));
        assert!(checked_elements(&[usize::MAX, usize::MAX, usize::MAX]).is_err());
    }
}
