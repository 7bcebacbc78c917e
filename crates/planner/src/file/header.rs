//! The header: everything about a plan but its arrays.

use girih_formats::{DType, FormatSpec, Tiling, for_any_tiling};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::prologue::MAX_HEADER;
use super::section::SectionRow;
use super::{PlanFileError, v1};
use crate::{Explanation, Fingerprint, Plan, PlanOptions, Reduction};

/// Encoded with serde and bincode, so the order of fields and of enum variants, here and in every
/// type below, is the format. A change of it takes a new major version, and the old one to [`v1`]'s
/// side.
///
/// No type in it may have elements without bytes: a list of them could claim any length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) nrows: u64,
    pub(super) ncols: u64,
    pub(super) nnz: u64,
    pub(super) dtype: DType,
    pub(super) accumulator: DType,
    pub(super) spec: FormatSpec,
    /// Slots of a window of the row layout.
    pub(super) window_rows: u64,
    /// Block slots of a Blocked-ELL block row; 0 in other formats.
    pub(super) ell_width: u64,
    pub(super) reduction: Reduction,
    /// Columns of C that tasks were cut for; 0 if they are for all columns.
    pub(super) cut_for: u32,
    pub(super) options: PlanOptions,
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) explanation: Explanation,
    pub(super) sections: Vec<SectionRow>,
}

fn config() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_little_endian()
        .with_fixed_int_encoding()
        .with_limit::<MAX_HEADER>()
}

/// Decodes all of some bytes.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, PlanFileError> {
    let (this, used): (T, usize) = bincode::serde::decode_from_slice(bytes, config())
        .map_err(|e| PlanFileError::header(format!("it cannot be decoded: {e}")))?;
    if used != bytes.len() {
        let extra = bytes.len() - used;
        return Err(PlanFileError::header(format!("{extra} bytes of it mean nothing")));
    }
    Ok(this)
}

impl Header {
    pub(super) fn of(plan: &Plan, sections: Vec<SectionRow>) -> Self {
        let ell_width = for_any_tiling!(&plan.tiling, t => match t {
            Tiling::BlockedEll(t) => t.ell_width(),
            _ => 0,
        });
        Self {
            nrows: plan.nrows() as u64,
            ncols: plan.ncols() as u64,
            nnz: plan.nnz() as u64,
            dtype: plan.dtype(),
            accumulator: plan.dtype().accumulator(),
            spec: plan.spec(),
            window_rows: plan.tiling.layout().window_rows() as u64,
            ell_width: ell_width as u64,
            reduction: plan.schedule.reduction(),
            cut_for: plan.schedule.columns().map_or(0, |columns| columns.cut_for),
            options: plan.options.clone(),
            fingerprint: plan.fingerprint,
            explanation: plan.explanation.clone(),
            sections,
        }
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, PlanFileError> {
        let bytes = bincode::serde::encode_to_vec(self, config())
            .map_err(|e| PlanFileError::header(format!("it cannot be encoded: {e}")))?;
        if bytes.len() > MAX_HEADER {
            return Err(PlanFileError::header("it would be over the limit of 1 MiB"));
        }
        Ok(bytes)
    }

    /// Decodes a header of a major version that is known.
    pub(super) fn decode(bytes: &[u8], major: u16) -> Result<Self, PlanFileError> {
        if major == 1 {
            return v1::header(bytes);
        }
        let this: Self = decode(bytes)?;
        this.check()?;
        Ok(this)
    }

    pub(super) fn check(&self) -> Result<(), PlanFileError> {
        if self.accumulator != self.dtype.accumulator() {
            return Err(PlanFileError::header(format!(
                "products of {} are not accumulated in {}",
                self.dtype, self.accumulator
            )));
        }
        self.options.target.check().map_err(|reason| {
            PlanFileError::header(format!("the target is not a machine: {reason}"))
        })?;
        if self.explanation.texts().any(|text| text.chars().any(char::is_control)) {
            return Err(PlanFileError::header("a text holds control characters"));
        }
        Ok(())
    }
}
