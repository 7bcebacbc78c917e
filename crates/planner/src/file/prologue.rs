//! The first 64 bytes of a plan file, the same in every version.

use xxhash_rust::xxh3::xxh3_64;

use girih_formats::{FormatKind, FormatSpec};

use super::PlanFileError;
use crate::options::FormatChoice;
use crate::plan::Plan;

/// A byte with its high bit set, a name, and what text-mode transfers rewrite or stop at: CR LF,
/// Control-Z, LF (after PNG's).
pub(super) const MAGIC: [u8; 8] = [0xE7, b'G', b'R', b'H', b'\r', b'\n', 0x1A, b'\n'];

/// Major and minor version of the files read at the most.
pub(super) const VERSION: (u16, u16) = (3, 3);

/// Major and minor version of the file of a plan: the least that has codes for its value type and for every format
/// that it names, so that older readers know what they can read.
pub(super) fn version_for(plan: &Plan) -> (u16, u16) {
    let requested = match plan.options.format {
        FormatChoice::Fixed(spec) => Some(spec),
        FormatChoice::Auto => None,
    };
    let mut named = plan.explanation.specs().chain([plan.tiling.spec()]).chain(requested);
    let is_new = |spec: FormatSpec| {
        spec.kind() == FormatKind::Hybrid || matches!(spec, FormatSpec::TwoFourE4m3 { .. })
    };
    match plan.dtype().is_complex() {
        _ if named.any(is_new) => VERSION,
        true => (3, 2),
        false => (3, 1),
    }
}

/// The most bytes of a header.
pub(super) const MAX_HEADER: usize = 1 << 20;

/// Where the header is and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prologue {
    pub(super) version: (u16, u16),
    pub(super) flags: u32,
    pub(super) header_offset: u64,
    pub(super) header_len: u64,
    pub(super) file_len: u64,
    pub(super) header_hash: u64,
}

impl Prologue {
    pub(super) const LEN: usize = 64;
    const HASHED: usize = 56;

    pub(super) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(8, &self.version.0.to_le_bytes());
        put(10, &self.version.1.to_le_bytes());
        put(12, &self.flags.to_le_bytes());
        put(16, &self.header_offset.to_le_bytes());
        put(24, &self.header_len.to_le_bytes());
        put(32, &self.file_len.to_le_bytes());
        put(40, &self.header_hash.to_le_bytes());
        let hash = xxh3_64(&bytes[..Self::HASHED]);
        bytes[Self::HASHED..].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    /// Decodes the beginning of a file of `actual` bytes and checks all that it says of itself.
    /// `start` holds the file's first 64 bytes, or all of a shorter one.
    pub(super) fn check(start: &[u8], actual: u64) -> Result<Self, PlanFileError> {
        check_magic(start)?;
        let Some(bytes) = start.first_chunk::<{ Self::LEN }>() else {
            return Err(PlanFileError::Truncated { declared: Self::LEN as u64, actual });
        };
        let file_len = u64_at(bytes, 32);
        // A damaged length is no evidence that the file is short, so the hash speaks first.
        if xxh3_64(&bytes[..Self::HASHED]) != u64_at(bytes, Self::HASHED) {
            return Err(PlanFileError::HashMismatch { what: "the prologue".to_owned() });
        }
        if actual < file_len {
            return Err(PlanFileError::Truncated { declared: file_len, actual });
        }
        if actual > file_len {
            return Err(PlanFileError::TrailingBytes { declared: file_len, actual });
        }
        let this = Self {
            version: (u16_at(bytes, 8), u16_at(bytes, 10)),
            flags: u32::from(u16_at(bytes, 12)) | u32::from(u16_at(bytes, 14)) << 16,
            header_offset: u64_at(bytes, 16),
            header_len: u64_at(bytes, 24),
            file_len,
            header_hash: u64_at(bytes, 40),
        };
        if this.version > VERSION {
            return Err(PlanFileError::TooNew { found: this.version, supported: VERSION });
        }
        if this.version.0 == 0 {
            return Err(PlanFileError::header("there is no version 0"));
        }
        if this.flags != 0 {
            return Err(PlanFileError::UnknownFlags { found: this.flags });
        }
        if u64_at(bytes, 48) != 0 {
            return Err(PlanFileError::header("the reserved field is not zero"));
        }
        if this.header_offset != Self::LEN as u64 {
            return Err(PlanFileError::header("it does not follow the prologue"));
        }
        if this.header_len > MAX_HEADER as u64 {
            let len = this.header_len;
            return Err(PlanFileError::header(format!("{len} bytes are over the limit of 1 MiB")));
        }
        if this.header_offset + this.header_len > actual {
            return Err(PlanFileError::header("it leaves the file"));
        }
        Ok(this)
    }
}

/// Tells a plan from another file, and from a plan that a text-mode transfer rewrote.
fn check_magic(start: &[u8]) -> Result<(), PlanFileError> {
    let seen = &start[..start.len().min(MAGIC.len())];
    if !seen.is_empty() && MAGIC.starts_with(seen) {
        return Ok(());
    }
    let name = &MAGIC[1..4];
    let stripped = seen.get(..4) == Some(&[MAGIC[0] & 0x7F, name[0], name[1], name[2]]);
    let rewritten = seen.get(..4) == Some(&MAGIC[..4]);
    // Byte E7 as UTF-8, or as the replacement character.
    let reencoded = [&b"\xC3\xA7"[..], b"\xEF\xBF\xBD"]
        .iter()
        .any(|first| seen.strip_prefix(*first).is_some_and(|rest| rest.starts_with(name)));
    Err(if stripped || rewritten || reencoded {
        PlanFileError::TextModeDamage
    } else {
        PlanFileError::NotAPlan
    })
}

fn u16_at(bytes: &[u8; Prologue::LEN], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u64_at(bytes: &[u8; Prologue::LEN], at: usize) -> u64 {
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prologue() -> Prologue {
        Prologue {
            version: VERSION,
            flags: 0,
            header_offset: 64,
            header_len: 100,
            file_len: 4096,
            header_hash: 7,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Prologue::check(&prologue().to_bytes(), 4096).unwrap(), prologue());
    }

    #[test]
    fn text_mode_damage_is_recognised() {
        let bytes = prologue().to_bytes();
        let without_high_bits: Vec<u8> = bytes.iter().map(|b| b & 0x7F).collect();
        let unix_to_dos: Vec<u8> = bytes
            .iter()
            .flat_map(|&b| if b == b'\n' { vec![b'\r', b'\n'] } else { vec![b] })
            .collect();
        let mut dos_to_unix = bytes.to_vec();
        dos_to_unix.retain(|&b| b != b'\r');
        let latin1_to_utf8: Vec<u8> =
            bytes.iter().map(|&b| b as char).collect::<String>().into_bytes();
        let lossy = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
        for damaged in [without_high_bits, unix_to_dos, dos_to_unix, latin1_to_utf8, lossy] {
            let error = Prologue::check(&damaged, damaged.len() as u64).unwrap_err();
            assert!(matches!(error, PlanFileError::TextModeDamage), "{error}");
        }
        for other in [&b""[..], b"%%MatrixMarket", b"PK\x03\x04", &[0; 64]] {
            let error = Prologue::check(other, other.len() as u64).unwrap_err();
            assert!(matches!(error, PlanFileError::NotAPlan), "{error}");
        }
    }

    #[test]
    fn a_later_version_and_unknown_flags_say_so() {
        let check = |p: Prologue| Prologue::check(&p.to_bytes(), 4096);
        let error = check(Prologue { version: (4, 5), ..prologue() }).unwrap_err();
        assert!(matches!(error, PlanFileError::TooNew { found: (4, 5), supported: VERSION }));
        assert!(check(Prologue { version: (VERSION.0, VERSION.1 + 1), ..prologue() }).is_err());
        for version in [(1, 0), (2, 0)] {
            assert!(check(Prologue { version, ..prologue() }).is_ok());
        }
        assert!(check(Prologue { version: (0, 0), ..prologue() }).is_err());
        let error = check(Prologue { flags: 1 << 20, ..prologue() }).unwrap_err();
        assert!(matches!(error, PlanFileError::UnknownFlags { found: 0x10_0000 }));
    }

    #[test]
    fn a_header_out_of_place_is_refused() {
        for p in [
            Prologue { header_offset: 0, ..prologue() },
            Prologue { header_offset: u64::MAX, ..prologue() },
            Prologue { header_len: 4096, ..prologue() },
            Prologue { header_len: u64::MAX, ..prologue() },
        ] {
            let error = Prologue::check(&p.to_bytes(), 4096).unwrap_err();
            assert!(matches!(error, PlanFileError::Header { .. }), "{error}");
        }
    }
}
