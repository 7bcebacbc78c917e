//! `SciPy`'s `.npz`.

use std::io::Write;

use girih_formats::io::{self, ReadError, ReadOptions, Source};

/// A `.npz` of these arrays: name, type, shape and bytes.
fn npz(arrays: &[(&str, &str, &str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, descr, shape, bytes) in arrays {
        archive
            .start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default())
            .unwrap();
        let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        archive.write_all(b"\x93NUMPY\x01\x00").unwrap();
        archive.write_all(&(dict.len() as u16).to_le_bytes()).unwrap();
        archive.write_all(dict.as_bytes()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn one_row_of_huge_blocks_does_not_make_room_for_its_rows() {
    let side = i64::from(u32::MAX);
    let file = npz(&[
        ("format", "|S3", "()", b"bsr"),
        ("shape", "<i8", "(2,)", &[side.to_le_bytes(), 4i64.to_le_bytes()].concat()),
        ("data", "<f4", &format!("(0, {side}, 4)"), &[]),
        ("indptr", "<i8", "(2,)", &[0; 16]),
        ("indices", "<i4", "(0,)", &[]),
    ]);
    let read = io::read::<f32>(Source::reader(&file[..]), &ReadOptions::default());
    assert!(matches!(read, Err(ReadError::Hypersparse { entries: 0, .. })), "{read:?}");
}
