//! Writing plan files.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::Path;

use girih_parallel::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::header::Header;
use super::prologue::{Prologue, version_for};
use super::section::{Section, SectionRow, sections};
use super::{PAGE, PlanFileError};
use crate::file::Attachment;
use crate::plan::Plan;

/// Writes a plan under a temporary name next to `path`, syncs it and renames it.
pub(crate) fn save(plan: &Plan, path: &Path) -> Result<u64, PlanFileError> {
    let place = path.display();
    // A rename would put a file in the place of a directory or device.
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        let reason = io::Error::other("it exists and is not a regular file");
        return Err(PlanFileError::io("save to", &place, reason));
    }
    let dir = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let failed = |e| PlanFileError::io("write in", &dir.display(), e);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".girih-").suffix(".tmp");
    if let Some(permissions) = default_permissions() {
        builder.permissions(permissions);
    }
    let mut file = builder.tempfile_in(dir).map_err(failed)?;
    let len = write_to(plan, file.as_file_mut())?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| PlanFileError::io("rename the plan to", &place, e.error))?;
    sync_dir(dir).map_err(|e| PlanFileError::io("sync", &dir.display(), e))?;
    Ok(len)
}

/// What a new file may be used for, before the process's own mask; temporary files are private.
#[cfg(unix)]
fn default_permissions() -> Option<Permissions> {
    Some(std::os::unix::fs::PermissionsExt::from_mode(0o666))
}

#[cfg(not(unix))]
fn default_permissions() -> Option<Permissions> {
    None
}

/// Makes a rename survive a crash.
#[cfg(unix)]
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(not(unix))]
fn sync_dir(_dir: &Path) -> io::Result<()> {
    Ok(())
}

/// Writes a plan, array by array from where it lies, and returns the number of bytes.
pub(crate) fn write_to(plan: &Plan, mut to: impl Write) -> Result<u64, PlanFileError> {
    let mut sections = sections(plan);
    let n_own = sections.len();
    sections.extend(plan.attachments.iter().flat_map(Attachment::sections));
    let (prologue, header) = layout(plan, &sections, n_own)?;
    let failed = |e| PlanFileError::io("write", &"the plan", e);
    to.write_all(&prologue.to_bytes()).map_err(failed)?;
    let parts = [header.as_slice()].into_iter().chain(sections.iter().map(|s| s.bytes));
    let mut at = prologue.header_offset;
    for part in parts {
        to.write_all(part).map_err(failed)?;
        at += part.len() as u64;
        let padding = (at.next_multiple_of(PAGE) - at) as usize;
        to.write_all(&[0; PAGE as usize][..padding]).map_err(failed)?;
        at += padding as u64;
    }
    debug_assert_eq!(at, prologue.file_len);
    to.flush().map_err(failed)?;
    Ok(at)
}

/// Says where everything will lie, and hashes it. The first `n_own` sections are the plan's own, the
/// rest those of its attachments.
fn layout(
    plan: &Plan,
    sections: &[Section<'_>],
    n_own: usize,
) -> Result<(Prologue, Vec<u8>), PlanFileError> {
    let mut rows: Vec<SectionRow> = sections
        .par_iter()
        .map(|s| SectionRow {
            kind: s.kind,
            element: s.element,
            offset: 0,
            count: s.bytes.len() as u64 / s.element.size(),
            bytes: s.bytes.len() as u64,
            hash: xxh3_64(s.bytes),
        })
        .collect();
    // Integers have a fixed width, so the header is as long before the offsets are known as after.
    let header_len = header(plan, &rows, n_own).encode()?.len() as u64;
    let header_offset = Prologue::LEN as u64;
    let mut at = (header_offset + header_len).next_multiple_of(PAGE);
    for row in &mut rows {
        row.offset = at;
        at = (at + row.bytes).next_multiple_of(PAGE);
    }
    let bytes = header(plan, &rows, n_own).encode()?;
    debug_assert_eq!(bytes.len() as u64, header_len);
    let prologue = Prologue {
        version: version_for(plan),
        flags: 0,
        header_offset,
        header_len,
        file_len: at,
        header_hash: xxh3_64(&bytes),
    };
    Ok((prologue, bytes))
}

/// The header of a plan whose sections lie where `rows` say.
fn header(plan: &Plan, rows: &[SectionRow], n_own: usize) -> Header {
    let (own, mut rest) = rows.split_at(n_own);
    let attachments = plan.attachments.iter().map(|attachment| {
        let (rows, after) = rest.split_at(attachment.arrays().len());
        rest = after;
        attachment.rows(rows)
    });
    let attachments = attachments.collect();
    Header::of(plan, own.to_vec(), attachments)
}
