//! Damaged files: whatever is done to a valid file, reading it ends in a matrix or an error.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use girih_formats::io::{self, ReadOptions, Source};
use girih_formats::{Csr, Duplicates};
use proptest::prelude::*;

/// Reads bytes as a stream and as a file of each name, and checks what comes out.
fn survives(bytes: &[u8]) {
    for duplicates in [Duplicates::Sum, Duplicates::Refuse] {
        let options = ReadOptions::default().duplicates(duplicates);
        let _ = check(io::read::<f32>(Source::reader(bytes), &options));
    }
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.mtx", "a.npz", "a.smtx", "a"] {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let _ = check(io::read::<f64>(&path, &ReadOptions::default()));
    }
}

fn check<T: girih_formats::Scalar>(result: Result<Csr<T>, io::ReadError>) -> Option<String> {
    match result {
        Ok(a) => {
            let again = Csr::try_new(
                a.nrows(),
                a.ncols(),
                a.row_ptr().clone(),
                a.col_idx().clone(),
                a.values().clone(),
            );
            assert!(again.is_ok());
            None
        }
        Err(e) => Some(e.to_string()),
    }
}

fn matrix() -> Csr<f64> {
    let row_ptr = vec![0, 2, 2, 5, 6];
    let values = vec![1.5, -2.0, 1e-7, 1e300, 0.0, 4.0];
    Csr::try_new(4, 12, row_ptr, vec![0, 11, 1, 5, 7, 3], values).unwrap()
}

/// One small valid file of every format.
fn originals() -> Vec<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let mut files: Vec<Vec<u8>> = ["a.mtx", "a.mtx.gz", "a.npz"]
        .iter()
        .map(|name| {
            let path = dir.path().join(name);
            io::write(&path, &matrix()).unwrap();
            std::fs::read(&path).unwrap()
        })
        .collect();
    let texts = [
        "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 3\n1 1 2.5\n3 1 -1e-3\n3 3 7\n",
        "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 1\n3 1\n3 3\n",
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1.5\n0\n-2\n",
        "2, 3, 3\n0 2 3\n0 2 1\n",
    ];
    files.extend(texts.iter().map(|t| t.as_bytes().to_vec()));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(texts[3].as_bytes()).unwrap();
    files.push(encoder.finish().unwrap());
    files
}

#[test]
fn originals_are_valid() {
    for file in originals() {
        let fault = check(io::read::<f64>(Source::reader(&file[..]), &ReadOptions::default()));
        assert_eq!(fault, None);
    }
}

#[test]
fn every_truncation() {
    for file in originals() {
        for len in 0..file.len() {
            let _ = check(io::read::<f64>(Source::reader(&file[..len]), &ReadOptions::default()));
        }
    }
}

#[test]
fn every_byte_changed() {
    for file in originals() {
        for at in 0..file.len() {
            for change in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= change;
                let stream = Source::reader(&damaged[..]);
                let _ = check(io::read::<f64>(stream, &ReadOptions::default()));
            }
        }
    }
}

/// A damaged array in an archive that is sound, so that the checksums do not catch it first.
#[test]
fn every_byte_of_every_array_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.npz");
    io::write(&path, &matrix()).unwrap();
    let mut archive = zip::ZipArchive::new(std::fs::File::open(&path).unwrap()).unwrap();
    let mut arrays: Vec<(String, Vec<u8>)> = Vec::new();
    for i in 0..archive.len() {
        let mut file = archive.by_index(i).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        arrays.push((String::from_utf8_lossy(file.name_raw()).into_owned(), bytes));
    }
    let pack = |arrays: &[(String, Vec<u8>)]| {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let stored = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        for (name, bytes) in arrays {
            zip.start_file(name.as_str(), stored).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    };
    let read =
        |bytes: &[u8]| check(io::read::<f64>(Source::reader(bytes), &ReadOptions::default()));
    assert_eq!(read(&pack(&arrays)), None);
    let mut refused = 0;
    for a in 0..arrays.len() {
        for at in 0..arrays[a].1.len() {
            for change in [0x01, 0x08, 0x80] {
                let mut damaged = arrays.clone();
                damaged[a].1[at] ^= change;
                refused += usize::from(read(&pack(&damaged)).is_some());
            }
        }
        for len in 0..arrays[a].1.len() {
            let mut damaged = arrays.clone();
            damaged[a].1.truncate(len);
            let fault = read(&pack(&damaged));
            assert!(fault.is_some(), "{} cut to {len} bytes was read", arrays[a].0);
        }
        let mut without = arrays.clone();
        let name = without.remove(a).0;
        let fault = read(&pack(&without)).unwrap();
        assert!(fault.contains(&name) && fault.contains("missing"), "{fault}");
    }
    assert!(refused > 300, "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn several_changes_at_once(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..8),
    ) {
        let mut files = originals();
        let mut file = files.swap_remove(which.index(8));
        for (at, byte, how) in changes {
            if file.is_empty() { break }
            let at = at.index(file.len());
            match how {
                0 => file[at] = byte,
                1 => { file.remove(at); }
                _ => file.insert(at, byte),
            }
        }
        survives(&file);
    }

    #[test]
    fn bytes_without_sense(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        survives(&bytes);
    }

    #[test]
    fn text_with_little_sense(body in "[0-9 .eE%\n\r\t+-]{0,300}", kind in 0usize..4) {
        let head = [
            "%%MatrixMarket matrix coordinate real general\n",
            "%%MatrixMarket matrix coordinate integer symmetric\n",
            "%%MatrixMarket matrix array real general\n3 3\n",
            "%%MatrixMarket matrix coordinate pattern general\n9 9 5\n",
        ][kind];
        survives(format!("{head}{body}").as_bytes());
    }
}
