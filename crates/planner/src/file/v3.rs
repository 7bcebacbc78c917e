//! Version 3 of the header, which is written: bincode of types that are the file's own.
//!
//! Frozen: a change of these types takes a new major version. What is likely to grow is text that names
//! its fields: the options, their target and the explanation are JSON. Version 3.0 has the target as TOML, as
//! in a device's file. Version 3.2 has the codes of complex value types, and is written for these alone; version 3.3
//! those of hybrids and of values in e4m3, and is written for plans that name one.

use serde::{Deserialize, Serialize};

use super::header::{AttachmentRows, Header};
use super::section::SectionRow;
use super::wire::{self, DTypeCode, FingerprintCode, ReductionCode, SpecCode};
use super::{PlanFileError, explanation, options};

/// The section table comes last.
#[derive(Serialize, Deserialize)]
struct HeaderV3 {
    nrows: u64,
    ncols: u64,
    nnz: u64,
    dtype: DTypeCode,
    accumulator: DTypeCode,
    spec: SpecCode,
    window_rows: u64,
    ell_width: u64,
    reduction: ReductionCode,
    cut_for: u32,
    fingerprint: Option<FingerprintCode>,
    /// JSON.
    options: String,
    /// JSON, in version 3.0 TOML.
    target: String,
    /// JSON.
    explanation: String,
    attachments: Vec<AttachmentV3>,
    sections: Vec<SectionRow>,
}

#[derive(Serialize, Deserialize)]
struct AttachmentV3 {
    backend: String,
    key: String,
    arrays: Vec<ArrayV3>,
}

#[derive(Serialize, Deserialize)]
struct ArrayV3 {
    name: String,
    row: SectionRow,
}

/// Encodes a header.
pub(super) fn encode(header: &Header) -> Result<Vec<u8>, PlanFileError> {
    let (options, target) = options::encode(&header.options)?;
    let attachment = |attachment: &AttachmentRows| AttachmentV3 {
        backend: attachment.backend.clone(),
        key: attachment.key.clone(),
        arrays: attachment
            .arrays
            .iter()
            .map(|(name, row)| ArrayV3 { name: name.clone(), row: *row })
            .collect(),
    };
    wire::encode(&HeaderV3 {
        nrows: header.nrows,
        ncols: header.ncols,
        nnz: header.nnz,
        dtype: header.dtype.into(),
        accumulator: header.accumulator.into(),
        spec: header.spec.into(),
        window_rows: header.window_rows,
        ell_width: header.ell_width,
        reduction: header.reduction.into(),
        cut_for: header.cut_for,
        fingerprint: header.fingerprint.map(Into::into),
        options,
        target,
        explanation: explanation::encode(&header.explanation)?,
        attachments: header.attachments.iter().map(attachment).collect(),
        sections: header.sections.clone(),
    })
}

/// Decodes a header of version 3.
pub(super) fn header(bytes: &[u8]) -> Result<Header, PlanFileError> {
    let this: HeaderV3 = wire::decode(bytes)?;
    let attachment = |AttachmentV3 { backend, key, arrays }| {
        let arrays = arrays.into_iter().map(|ArrayV3 { name, row }| (name, row)).collect();
        AttachmentRows { backend, key, arrays }
    };
    Ok(Header {
        nrows: this.nrows,
        ncols: this.ncols,
        nnz: this.nnz,
        dtype: this.dtype.into(),
        accumulator: this.accumulator.into(),
        spec: this.spec.try_into()?,
        window_rows: this.window_rows,
        ell_width: this.ell_width,
        reduction: this.reduction.into(),
        cut_for: this.cut_for,
        options: options::decode(&this.options, &this.target)?,
        fingerprint: this.fingerprint.map(Into::into),
        explanation: explanation::decode(&this.explanation)?,
        sections: this.sections,
        attachments: this.attachments.into_iter().map(attachment).collect(),
    })
}
