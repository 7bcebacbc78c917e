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

/// The archive once more compressed, in gzip members of a MiB, so that most of it need not be in memory.
fn gzip(parts: &[&[u8]]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    parts.iter().for_each(|part| encoder.write_all(part).unwrap());
    encoder.finish().unwrap()
}

fn read(bytes: &[u8]) -> Result<girih_formats::Csr<f32>, ReadError> {
    io::read(Source::reader(bytes), &ReadOptions::default())
}

/// [1 2; . 3] as csr.
fn small() -> Vec<u8> {
    npz(&[
        ("indices", "<i4", "(3,)", &[0i32, 1, 1].map(i32::to_le_bytes).concat()),
        ("indptr", "<i4", "(3,)", &[0i32, 2, 3].map(i32::to_le_bytes).concat()),
        ("format", "|S3", "()", b"csr"),
        ("shape", "<i8", "(2,)", &[2i64, 2].map(i64::to_le_bytes).concat()),
        ("data", "<f4", "(3,)", &[1f32, 2.0, 3.0].map(f32::to_le_bytes).concat()),
    ])
}

#[test]
fn streams_are_read_member_by_member() {
    let file = small();
    let a = read(&file).unwrap();
    assert_eq!((&a.row_ptr()[..], &a.values()[..]), (&[0, 2, 3][..], &[1.0, 2.0, 3.0][..]));
    assert_eq!(read(&gzip(&[&file])).unwrap(), a);
    // Members that no matrix needs are passed over, whatever they hold.
    let mut archive = zip::ZipWriter::new_append(std::io::Cursor::new(file.clone())).unwrap();
    archive.start_file("README", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(b"of a matrix").unwrap();
    assert_eq!(read(archive.finish().unwrap().get_ref()).unwrap(), a);
    for end in 0..file.len() {
        // The directory repeats what is known by then.
        let cut = read(&file[..end]);
        assert!(cut.is_err() || cut.unwrap() == a, "{end}");
    }
    for at in 0..file.len() {
        for bit in [1, 0x80] {
            let mut bytes = file.clone();
            bytes[at] ^= bit;
            if let Ok(found) = read(&bytes) {
                assert_eq!(found, a, "byte {at}: the checksum of an array was not compared");
            }
        }
    }
}

#[test]
fn an_archive_within_gzip_is_not_inflated_before_it_is_checked() {
    let zeros = vec![0u8; 64 << 20];
    // After a sound beginning, a gibibyte of zeros.
    let mut parts = vec![&b"PK\x03\x04"[..]];
    parts.extend([&zeros[..]; 16]);
    assert!(matches!(read(&gzip(&parts)), Err(ReadError::Zip { .. })));
    let file = small();
    let directory = file.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    let mut parts = vec![&file[..directory]];
    parts.extend([&zeros[..]; 16]);
    let error = read(&gzip(&parts)).unwrap_err().to_string();
    assert!(error.contains("neither a member nor a directory"), "{error}");

    // A member whose header claims more than the member declares, and one that holds more than its shape.
    let data = |shape: &str, bytes: &[u8]| {
        let format = ("format", "|S3", "()", &b"csr"[..]);
        npz(&[("data", "<f4", shape, bytes), format])
    };
    let claims = read(&data("(1000000000,)", &[0; 8])).unwrap_err().to_string();
    assert!(claims.contains("declares") && claims.contains("4000000000"), "{claims}");
    let holds = read(&gzip(&[&data("(2,)", &zeros)])).unwrap_err().to_string();
    assert!(holds.contains("declares") && holds.contains("needs 8"), "{holds}");
}
