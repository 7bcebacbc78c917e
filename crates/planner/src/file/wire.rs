//! What versions of the header have in common: bincode, and codes for the small public types.
//!
//! Frozen: a code is the position of a variant in these lists, whatever becomes of the public type
//! that it stands for. New variants go to the end.

use girih_formats::{DType, FormatSpec, ScalesPer};
use girih_reorder::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::PlanFileError;
use super::prologue::MAX_HEADER;
use crate::fingerprint::Fingerprint;
use crate::ordering::{Reorder, Space};
use crate::schedule::Reduction;

fn config() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_little_endian()
        .with_fixed_int_encoding()
        .with_limit::<MAX_HEADER>()
}

/// Decodes all of some bytes.
///
/// No type in them may have elements without bytes: a list of them could claim any length.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PlanFileError> {
    let (this, used): (T, usize) = bincode::serde::decode_from_slice(bytes, config())
        .map_err(|e| PlanFileError::header(format!("it cannot be decoded: {e}")))?;
    if used != bytes.len() {
        let extra = bytes.len() - used;
        return Err(PlanFileError::header(format!("{extra} bytes of it mean nothing")));
    }
    Ok(this)
}

/// Encodes a header, which may have 1 MiB.
pub(super) fn encode(header: &impl Serialize) -> Result<Vec<u8>, PlanFileError> {
    let bytes = bincode::serde::encode_to_vec(header, config())
        .map_err(|e| PlanFileError::header(format!("it cannot be encoded: {e}")))?;
    if bytes.len() > MAX_HEADER {
        return Err(PlanFileError::header("it would be over the limit of 1 MiB"));
    }
    Ok(bytes)
}

/// A size that this machine must be able to count.
pub(super) fn size(x: u64) -> Result<usize, PlanFileError> {
    usize::try_from(x).map_err(|_| PlanFileError::header(format!("{x} is too large a size")))
}

/// An enum of unit variants, and the public one that it stands for.
macro_rules! codes {
    ($($code:ident for $public:ty { $($variant:ident),+ $(,)? })+) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub(super) enum $code { $($variant),+ }

        impl From<$public> for $code {
            fn from(public: $public) -> Self {
                match public { $(<$public>::$variant => Self::$variant),+ }
            }
        }

        impl From<$code> for $public {
            fn from(code: $code) -> Self {
                match code { $($code::$variant => Self::$variant),+ }
            }
        }
    )+};
}
pub(super) use codes;

codes! {
    DTypeCode for DType { F16, Bf16, F32, F64, C32, C64 }
    SpaceCode for Space { Caller, Permuted }
    ReductionCode for Reduction { TwoPass, Atomic }
    ScalesCode for ScalesPer { Tensor, Row }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SpecCode {
    Csr,
    Bcsr { block_rows: u64, block_cols: u64 },
    Wcsr { window_rows: u64, pad_cols: u64 },
    BlockedEll { block_size: u64 },
    BMat { pattern_only: bool },
    TwoFour,
    Hybrid { window_rows: u64, pad_cols: u64, tile_entries: u64 },
    TwoFourE4m3 { scales: ScalesCode },
}

impl From<FormatSpec> for SpecCode {
    fn from(spec: FormatSpec) -> Self {
        match spec {
            FormatSpec::Csr => Self::Csr,
            FormatSpec::Bcsr { block_rows, block_cols } => {
                Self::Bcsr { block_rows: block_rows as u64, block_cols: block_cols as u64 }
            }
            FormatSpec::Wcsr { window_rows, pad_cols } => {
                Self::Wcsr { window_rows: window_rows as u64, pad_cols: pad_cols as u64 }
            }
            FormatSpec::BlockedEll { block_size } => {
                Self::BlockedEll { block_size: block_size as u64 }
            }
            FormatSpec::BMat { pattern_only } => Self::BMat { pattern_only },
            FormatSpec::TwoFour => Self::TwoFour,
            FormatSpec::Hybrid { window_rows, pad_cols, tile_entries } => Self::Hybrid {
                window_rows: window_rows as u64,
                pad_cols: pad_cols as u64,
                tile_entries: tile_entries as u64,
            },
            FormatSpec::TwoFourE4m3 { scales } => Self::TwoFourE4m3 { scales: scales.into() },
        }
    }
}

impl TryFrom<SpecCode> for FormatSpec {
    type Error = PlanFileError;

    fn try_from(code: SpecCode) -> Result<Self, PlanFileError> {
        Ok(match code {
            SpecCode::Csr => Self::Csr,
            SpecCode::Bcsr { block_rows, block_cols } => {
                Self::Bcsr { block_rows: size(block_rows)?, block_cols: size(block_cols)? }
            }
            SpecCode::Wcsr { window_rows, pad_cols } => {
                Self::Wcsr { window_rows: size(window_rows)?, pad_cols: size(pad_cols)? }
            }
            SpecCode::BlockedEll { block_size } => {
                Self::BlockedEll { block_size: size(block_size)? }
            }
            SpecCode::BMat { pattern_only } => Self::BMat { pattern_only },
            SpecCode::TwoFour => Self::TwoFour,
            SpecCode::Hybrid { window_rows, pad_cols, tile_entries } => Self::Hybrid {
                window_rows: size(window_rows)?,
                pad_cols: size(pad_cols)?,
                tile_entries: size(tile_entries)?,
            },
            SpecCode::TwoFourE4m3 { scales } => Self::TwoFourE4m3 { scales: scales.into() },
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum MethodCode {
    Rcm,
    Window { window_rows: Option<u32> },
    Degree,
    Reverse,
    Random { seed: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ReorderCode {
    None,
    Auto,
    By(MethodCode),
    Given,
}

impl From<Reorder> for ReorderCode {
    fn from(reorder: Reorder) -> Self {
        match reorder {
            Reorder::None => Self::None,
            Reorder::Auto => Self::Auto,
            Reorder::By(method) => Self::By(match method {
                Method::Rcm => MethodCode::Rcm,
                Method::Window { window_rows } => MethodCode::Window { window_rows },
                Method::Degree => MethodCode::Degree,
                Method::Reverse => MethodCode::Reverse,
                Method::Random { seed } => MethodCode::Random { seed },
            }),
            Reorder::Given => Self::Given,
        }
    }
}

impl From<ReorderCode> for Reorder {
    fn from(code: ReorderCode) -> Self {
        match code {
            ReorderCode::None => Self::None,
            ReorderCode::Auto => Self::Auto,
            ReorderCode::By(method) => Self::By(match method {
                MethodCode::Rcm => Method::Rcm,
                MethodCode::Window { window_rows } => Method::Window { window_rows },
                MethodCode::Degree => Method::Degree,
                MethodCode::Reverse => Method::Reverse,
                MethodCode::Random { seed } => Method::Random { seed },
            }),
            ReorderCode::Given => Self::Given,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FingerprintCode {
    dtype: DTypeCode,
    pattern: u64,
    values: u64,
}

impl From<Fingerprint> for FingerprintCode {
    fn from(Fingerprint { dtype, pattern, values }: Fingerprint) -> Self {
        Self { dtype: dtype.into(), pattern, values }
    }
}

impl From<FingerprintCode> for Fingerprint {
    fn from(FingerprintCode { dtype, pattern, values }: FingerprintCode) -> Self {
        Self { dtype: dtype.into(), pattern, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::section::{Element, SectionKind};

    /// The bytes themselves: what files of every version hold.
    #[test]
    fn codes_are_what_they_were() {
        let of = |x: DType| encode(&DTypeCode::from(x)).unwrap();
        let codes = DType::ALL.map(|dtype| of(dtype)[0]);
        assert_eq!((codes, of(DType::C64)), ([0, 1, 2, 3, 4, 5], vec![5, 0, 0, 0]));
        let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
        assert_eq!(
            encode(&SpecCode::from(spec)).unwrap(),
            [2, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]
        );
        let two_four = encode(&SpecCode::from(FormatSpec::TwoFour)).unwrap();
        assert_eq!(two_four, [5, 0, 0, 0]);
        let hybrid = FormatSpec::Hybrid { window_rows: 32, pad_cols: 8, tile_entries: 12 };
        let hybrid = encode(&SpecCode::from(hybrid)).unwrap();
        assert_eq!((&hybrid[..5], hybrid.len()), (&[6, 0, 0, 0, 32][..], 4 + 3 * 8));
        let last = FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row };
        assert_eq!(encode(&SpecCode::from(last)).unwrap(), [7, 0, 0, 0, 1, 0, 0, 0]);
        let by = Reorder::By(Method::Window { window_rows: Some(16) });
        assert_eq!(
            encode(&ReorderCode::from(by)).unwrap(),
            [2, 0, 0, 0, 1, 0, 0, 0, 1, 16, 0, 0, 0]
        );
        assert_eq!(encode(&SpaceCode::from(Space::Permuted)).unwrap(), [1, 0, 0, 0]);
        assert_eq!(encode(&ReductionCode::from(Reduction::Atomic)).unwrap(), [1, 0, 0, 0]);
        assert_eq!(encode(&SectionKind::RowSlots).unwrap(), [0; 4]);
        assert_eq!(encode(&SectionKind::Attached).unwrap(), [20, 0, 0, 0]);
        assert_eq!(encode(&SectionKind::Scales).unwrap(), [22, 0, 0, 0]);
        assert_eq!(encode(&Element::U16).unwrap(), [0; 4]);
        assert_eq!(encode(&Element::U8).unwrap(), [9, 0, 0, 0]);
        assert_eq!(encode(&Element::C64).unwrap(), [11, 0, 0, 0]);
        assert_eq!(encode(&Element::E4m3).unwrap(), [12, 0, 0, 0]);
    }
}
