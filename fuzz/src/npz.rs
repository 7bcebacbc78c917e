//! SciPy archives: as bytes, and as arrays whose names, lengths and checksums are right.

use std::io::{Cursor, Write};

use girih_formats::io::{self, ReadOptions, Source};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const NAMES: [&str; 8] = ["format", "shape", "data", "indices", "indptr", "row", "col", "coords"];
const TYPES: [&str; 12] =
    ["<f4", "<f8", "<f2", "<i4", "<i8", "|u1", "|b1", ">i4", "|S3", "<U3", "<u8", "<c8"];
const FORMATS: [&[u8; 3]; 4] = [b"csr", b"csc", b"coo", b"bsr"];

/// Takes a byte off the front.
fn byte(data: &mut &[u8]) -> u8 {
    data.split_off_first().copied().unwrap_or_default()
}

/// Takes some bytes off the front.
fn some<'a>(data: &mut &'a [u8], n: usize) -> &'a [u8] {
    data.split_off(..n.min(data.len())).unwrap_or_default()
}

/// An archive of arrays: for each a name, a type, a shape and elements, mostly those that a matrix needs.
fn archive(mut data: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let head = |dtype: &str, shape: &str| {
        let dict = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
        [b"\x93NUMPY\x01\x00", &(dict.len() as u16).to_le_bytes()[..], dict.as_bytes()].concat()
    };
    let mut put = |name: &str, dtype: &str, shape: &str, bytes: &[u8]| {
        if zip.start_file(format!("{name}.npy"), options).is_ok() {
            zip.write_all(&head(dtype, shape)).unwrap();
            zip.write_all(bytes).unwrap();
        }
    };
    let format = byte(&mut data);
    put("format", "|S3", "()", FORMATS[usize::from(format % 4)]);
    let shape: [u8; 2] = [byte(&mut data), byte(&mut data)];
    put("shape", "<i8", "(2,)", &shape.map(|n| i64::from(n as i8).to_le_bytes()).concat());
    while !data.is_empty() {
        let (name, dtype) = (byte(&mut data), byte(&mut data));
        let (name, dtype) = (NAMES[usize::from(name) % 8], TYPES[usize::from(dtype) % 12]);
        let len = usize::from(byte(&mut data));
        let size: usize = dtype[2..].parse().unwrap();
        let shape = match len % 16 {
            15 => format!("({}, 2, 2)", len / 64),
            14 => format!("({len}000000000000,)"),
            _ => format!("({},)", len / 16),
        };
        put(name, dtype, &shape, some(&mut data, len / 16 * size));
    }
    zip.finish().unwrap().into_inner()
}

/// Runs the target on an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let bytes = if flags & 1 == 0 { archive(rest) } else { [b"PK\x03\x04", rest].concat() };
    let options = ReadOptions::default().prune_zeros(flags & 2 != 0);
    let streamed = io::read::<f32>(Source::reader(&bytes[..]), &options);
    if flags & 1 == 0 {
        // The same archive with its directory.
        let path = std::env::temp_dir().join(format!("girih-fuzz-{}.npz", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        let read = io::read::<f32>(&path, &options);
        match (streamed, read) {
            (Ok(a), Ok(b)) => {
                assert_eq!((a.row_ptr(), a.col_idx()), (b.row_ptr(), b.col_idx()));
            }
            // A stream is checked in arrays too that the format does not need.
            (Err(_), _) => {}
            (Ok(_), Err(b)) => panic!("read as a stream, but from a file {b}"),
        }
    }
}
