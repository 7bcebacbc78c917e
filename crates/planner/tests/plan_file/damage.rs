//! Accidents: files cut short, grown, or with bytes changed.

use girih_planner::Plan;
use girih_planner::file::{LoadOptions, PlanFileError};

use crate::support::{file_of, meaningful, plans};

fn load(bytes: &[u8]) -> Result<Plan, PlanFileError> {
    LoadOptions::default().read_bytes(bytes)
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    for plan in plans::<f32>() {
        let bytes = file_of(&plan);
        for len in 0..bytes.len() {
            match load(&bytes[..len]) {
                Err(PlanFileError::Truncated { actual, declared }) => {
                    assert_eq!(actual, len as u64);
                    assert!(declared == 64 && len < 64 || declared == bytes.len() as u64);
                }
                Err(PlanFileError::NotAPlan) => assert_eq!(len, 0),
                other => panic!("{len} bytes gave {other:?}"),
            }
        }
    }
}

#[test]
fn a_mapped_or_read_file_cut_at_a_page_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.girih");
    let bytes = file_of(&plans::<f64>()[0]);
    for len in (0..bytes.len()).step_by(4096) {
        std::fs::write(&path, &bytes[..len]).unwrap();
        assert!(Plan::read(&path).is_err());
        // SAFETY: the file is not touched while it is mapped.
        assert!(unsafe { LoadOptions::default().map(&path) }.is_err());
    }
}

#[test]
fn a_file_with_something_appended_is_refused() {
    let mut bytes = file_of(&plans::<f32>()[0]);
    bytes.push(0);
    assert!(matches!(load(&bytes), Err(PlanFileError::TrailingBytes { .. })));
}

/// Every byte counts: prologue, header and arrays are hashed, and padding is known.
#[test]
fn every_changed_bit_is_noticed() {
    for (i, plan) in plans::<f32>().into_iter().enumerate() {
        let mut bytes = file_of(&plan);
        // Every bit of one plan, one bit of every byte of the others that means something.
        let places = if i == 0 { (0..bytes.len()).collect() } else { meaningful(&bytes) };
        for at in places {
            let bits = if i == 0 { 0..8 } else { at as u32 % 8..at as u32 % 8 + 1 };
            for bit in bits {
                bytes[at] ^= 1 << bit;
                assert!(load(&bytes).is_err(), "{}: byte {at}, bit {bit}", plan.spec());
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

/// Without the hashes a changed value may pass, but an index only if it is still a valid one.
#[test]
fn unhashed_arrays_are_still_validated() {
    let options = LoadOptions::default().check_hashes(false);
    for plan in plans::<f32>() {
        let mut bytes = file_of(&plan);
        for at in meaningful(&bytes) {
            for change in [0x01, 0x80, 0xFF] {
                bytes[at] ^= change;
                if let Ok(loaded) = options.read_bytes(&bytes) {
                    crate::hostile::exercise(&loaded);
                }
                bytes[at] ^= change;
            }
        }
    }
}

#[test]
fn damage_is_named() {
    let plan = &plans::<f32>()[0];
    let bytes = file_of(plan);
    let changed = |at: usize, mask: u8| {
        let mut bytes = bytes.clone();
        bytes[at] ^= mask;
        load(&bytes).unwrap_err()
    };
    assert!(matches!(changed(0, 0x80), PlanFileError::TextModeDamage));
    assert!(matches!(changed(1, 0x20), PlanFileError::NotAPlan));
    assert!(matches!(changed(4095, 1), PlanFileError::Padding { offset: 4095 }));
    for (at, part) in [(20, "the prologue"), (70, "the header"), (4096, "section row_ptr")] {
        match changed(at, 1) {
            PlanFileError::HashMismatch { what } => assert_eq!(what, part),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_file_over_the_limit_is_not_read() {
    let bytes = file_of(&plans::<f32>()[0]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.girih");
    std::fs::write(&path, &bytes).unwrap();
    let options = LoadOptions::default().max_bytes(bytes.len() as u64 - 1);
    let is_too_large = |result| matches!(result, Err(PlanFileError::TooLarge { .. }));
    assert!(is_too_large(options.read(&path)));
    assert!(is_too_large(options.read_bytes(&bytes)));
    assert!(is_too_large(options.read_from(&bytes[..])));
}

#[test]
fn a_directory_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Plan::read(dir.path()), Err(PlanFileError::Io { .. })));
}
