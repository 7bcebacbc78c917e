//! Attachments from a plan file.

use girih_formats::Complex;
use half::{bf16, f16};

use super::{AttachedData, Attachment, AttachmentError, MAX_NAME, check_name, insert};
use crate::file::PlanFileError;
use crate::file::arrays::Arrays;
use crate::file::header::AttachmentRows;
use crate::file::section::{Element, SectionKind};
use crate::file::source::Source;

impl Attachment {
    /// Loads an attachment.
    fn load<S: Source>(
        rows: &AttachmentRows,
        arrays: &Arrays<'_, S>,
    ) -> Result<Self, PlanFileError> {
        let mut this = Self::new(rows.backend.as_str(), rows.key.as_str())?;
        for (name, row) in &rows.arrays {
            check_name("array", name, MAX_NAME)?;
            let place = rows.name_of(name);
            let bad = |reason: &str| PlanFileError::section(&place, reason);
            if row.kind != SectionKind::Attached {
                return Err(bad("it belongs to the plan"));
            }
            let data: AttachedData = match row.element {
                Element::U8 => arrays.read::<u8>(&place, row)?.into(),
                Element::U16 => arrays.read::<u16>(&place, row)?.into(),
                Element::U32 => arrays.read::<u32>(&place, row)?.into(),
                Element::U64 => arrays.read::<u64>(&place, row)?.into(),
                Element::F16 => arrays.read::<f16>(&place, row)?.into(),
                Element::Bf16 => arrays.read::<bf16>(&place, row)?.into(),
                Element::F32 => arrays.read::<f32>(&place, row)?.into(),
                Element::F64 => arrays.read::<f64>(&place, row)?.into(),
                Element::C32 => arrays.read::<Complex<f32>>(&place, row)?.into(),
                Element::C64 => arrays.read::<Complex<f64>>(&place, row)?.into(),
                Element::Task | Element::ColRange | Element::E4m3 => {
                    return Err(bad("it holds what only a plan's own arrays hold"));
                }
            };
            this = this.with_array(name.as_str(), data)?;
        }
        Ok(this)
    }
}

/// Loads all attachments of a plan.
pub(in crate::file) fn load_all<S: Source>(
    rows: &[AttachmentRows],
    arrays: &Arrays<'_, S>,
) -> Result<Vec<Attachment>, PlanFileError> {
    let mut list = Vec::new();
    for rows in rows {
        let attachment = Attachment::load(rows, arrays)?;
        let same = |a: &Attachment| (a.backend(), a.key()) == (&rows.backend, &rows.key);
        if list.iter().any(same) {
            let (what, found) = ("attachment", rows.key.clone());
            return Err(AttachmentError::Twice { what, found }.into());
        }
        insert(&mut list, attachment)?;
    }
    Ok(list)
}
