//! The header: everything about a plan but its arrays.

use girih_formats::{DType, FormatSpec, Tiling, for_any_tiling};

use super::section::SectionRow;
use super::text::MAX_LIST;
use super::{PlanFileError, v1, v2, v3};
use crate::explanation::Explanation;
use crate::fingerprint::Fingerprint;
use crate::options::PlanOptions;
use crate::plan::Plan;
use crate::schedule::Reduction;

/// What every version of the header says, each in its own encoding: [`v3`] is written, [`v2`] and
/// [`v1`] are read.
#[derive(Clone, Debug, PartialEq)]
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
    pub(super) attachments: Vec<AttachmentRows>,
}

/// An attachment, and where its arrays lie.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AttachmentRows {
    pub(super) backend: String,
    pub(super) key: String,
    pub(super) arrays: Vec<(String, SectionRow)>,
}

impl AttachmentRows {
    /// How an error names an array.
    pub(super) fn name_of(&self, array: &str) -> String {
        format!("{array:?} of the attachment {:?} of {:?}", self.key, self.backend)
    }
}

impl Header {
    pub(super) fn of(
        plan: &Plan,
        sections: Vec<SectionRow>,
        attachments: Vec<AttachmentRows>,
    ) -> Self {
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
            attachments,
        }
    }

    /// Encodes a header that [`decode`](Self::decode) accepts.
    pub(super) fn encode(&self) -> Result<Vec<u8>, PlanFileError> {
        self.check()?;
        v3::encode(self)
    }

    /// Decodes a header of a major version that is known.
    pub(super) fn decode(bytes: &[u8], major: u16) -> Result<Self, PlanFileError> {
        let this = match major {
            1 => v1::header(bytes)?,
            2 => v2::header(bytes)?,
            _ => v3::header(bytes)?,
        };
        this.check()?;
        Ok(this)
    }

    /// The sections in the order of the file, with their names.
    pub(super) fn table(&self) -> Vec<(String, SectionRow)> {
        let own = self.sections.iter().map(|row| (row.kind.to_string(), *row));
        let attached = self.attachments.iter().flat_map(|attachment| {
            attachment.arrays.iter().map(|(name, row)| (attachment.name_of(name), *row))
        });
        own.chain(attached).collect()
    }

    fn check(&self) -> Result<(), PlanFileError> {
        if self.accumulator != self.dtype.accumulator() {
            return Err(PlanFileError::header(format!(
                "products of {} are not accumulated in {}",
                self.dtype, self.accumulator
            )));
        }
        let target = |reason: &'static str| PlanFileError::Target { reason: reason.to_owned() };
        self.options.target.check().map_err(target)?;
        if self.options.planning_seconds.is_some_and(|s| s.is_nan() || s < 0.0) {
            return Err(PlanFileError::header("planning seconds are not a number of seconds"));
        }
        let Explanation { candidates, schedules, orderings, .. } = &self.explanation;
        if [candidates.len(), schedules.len(), orderings.len()].iter().any(|&len| len > MAX_LIST) {
            let reason = format!("it lists more than {MAX_LIST} of something");
            return Err(PlanFileError::Explanation { reason });
        }
        if self.explanation.texts().any(|text| text.chars().any(char::is_control)) {
            return Err(PlanFileError::header("a text holds control characters"));
        }
        Ok(())
    }
}
