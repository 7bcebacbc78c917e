//! What a file is, by its first bytes; by its name only where those leave it open.

use super::ReadError;

/// A format with a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detected {
    MatrixMarket,
    Npz,
    Smtx,
}

/// Tells the format from the first bytes of a file and its extension.
pub(super) fn detect(head: &[u8], extension: &str) -> Result<Detected, ReadError> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Ok(Detected::Npz);
    }
    if starts_with_ignore_case(text, b"%%MatrixMarket") {
        return Ok(Detected::MatrixMarket);
    }
    if head.starts_with(b"\x93NUMPY") {
        return Err(ReadError::Unsupported {
            what: "a dense .npy array",
            advice: "save a sparse matrix with scipy.sparse.save_npz",
        });
    }
    if head.starts_with(b"\x89HDF") || head.starts_with(b"MATLAB 5.0 MAT-file") {
        return Err(ReadError::Unsupported {
            what: "a MATLAB file",
            advice: "save the matrix with scipy.io.mmwrite or scipy.sparse.save_npz",
        });
    }
    if head.get(257..262) == Some(b"ustar") {
        return Err(ReadError::Unsupported {
            what: "a tar archive",
            advice: "extract it and read the .mtx inside",
        });
    }
    if is_harwell_boeing(head) || matches!(extension, "hb" | "rb" | "rua" | "rsa" | "pua" | "psa") {
        return Err(ReadError::Unsupported {
            what: "a Harwell-Boeing or Rutherford-Boeing file",
            advice: "convert it to Matrix Market, for example with scipy.io.hb_read and mmwrite",
        });
    }
    if is_smtx(text) {
        return Ok(Detected::Smtx);
    }
    // The reader of the format that the name promises says best what is wrong.
    match extension {
        _ if head.is_empty() => Err(ReadError::Empty),
        "mtx" | "mm" => Ok(Detected::MatrixMarket),
        "npz" => Ok(Detected::Npz),
        "smtx" => Ok(Detected::Smtx),
        _ => Err(ReadError::UnknownFormat),
    }
}

pub(super) fn starts_with_ignore_case(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len()).is_some_and(|t| t.eq_ignore_ascii_case(prefix))
}

/// Whether the first line that is not a comment is three integers with commas between them.
fn is_smtx(text: &[u8]) -> bool {
    let mut lines = text.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|l| !l.is_empty() && !l.starts_with(b"%")) else {
        return false;
    };
    let mut numbers = 0;
    line.split(|&b| b == b',').map(<[u8]>::trim_ascii).all(|n| {
        numbers += 1;
        !n.is_empty() && n.iter().all(u8::is_ascii_digit)
    }) && numbers == 3
}

/// Whether the third line starts with a Harwell-Boeing matrix type such as `RUA`.
fn is_harwell_boeing(head: &[u8]) -> bool {
    let Some(line) = head.split(|&b| b == b'\n').nth(2) else {
        return false;
    };
    let Some((kind, rest)) = line.split_first_chunk::<3>() else {
        return false;
    };
    let kind = kind.map(|b| b.to_ascii_uppercase());
    b"RCPIQ".contains(&kind[0])
        && b"SUHZR".contains(&kind[1])
        && b"AE".contains(&kind[2])
        && rest.starts_with(b" ")
        && rest.iter().all(|b| b.is_ascii_digit() || b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_win_over_names() {
        assert_eq!(detect(b"PK\x03\x04", "mtx").unwrap(), Detected::Npz);
        assert_eq!(detect(b"%%matrixmarket x", "npz").unwrap(), Detected::MatrixMarket);
        assert_eq!(detect(b"\n %%MatrixMarket x", "").unwrap(), Detected::MatrixMarket);
        assert_eq!(detect(b"2, 3, 4\n0 1 4", "").unwrap(), Detected::Smtx);
        assert_eq!(detect(b"% made by\n2,3,4\n0 1 4", "").unwrap(), Detected::Smtx);
    }

    #[test]
    fn names_decide_where_contents_say_nothing() {
        assert_eq!(detect(b"hello", "mtx").unwrap(), Detected::MatrixMarket);
        assert!(matches!(detect(b"hello", ""), Err(ReadError::UnknownFormat)));
        assert!(matches!(detect(b"", "mtx"), Err(ReadError::Empty)));
    }

    #[test]
    fn known_formats_without_a_reader_get_advice() {
        let hb = b"title\n  8 2 6\nPSA      24   24   92   0\n(16I5)\n";
        for head in [&hb[..], b"\x93NUMPY\x01\x00", b"\x89HDF\r\n"] {
            assert!(matches!(detect(head, ""), Err(ReadError::Unsupported { .. })));
        }
    }
}
