//! `.npy` files: dense matrices and orders of rows.

use girih_formats::Complex;
use girih_formats::io::{Source, npy};

/// Runs the target on an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let bytes = match flags & 1 {
        0 => {
            // A header whose length is right, and elements.
            let at = rest.iter().position(|&b| b == b'\n').map_or(rest.len(), |at| at + 1);
            let (head, elements) = rest.split_at(at);
            let len = (head.len() as u16).to_le_bytes();
            [b"\x93NUMPY\x01\x00", &len[..], head, elements].concat()
        }
        _ => rest.to_vec(),
    };
    if let Ok(found) = npy::read_indices(Source::reader(&bytes[..]), 1000) {
        assert!(found.iter().all(|&index| index < 1000));
        let mut written = Vec::new();
        npy::write_indices(&mut written, &found).unwrap();
        assert_eq!(npy::read_indices(Source::reader(&written[..]), 1000).unwrap(), found);
    }
    let _ = npy::read_dense::<f32>(Source::reader(&bytes[..]));
    let _ = npy::read_dense::<f64>(Source::reader(&bytes[..]));
    let _ = npy::read_dense::<Complex<f64>>(Source::reader(&bytes[..]));
}
