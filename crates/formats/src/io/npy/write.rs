//! Arrays as numpy writes them: version 1.0, little-endian, C order.

use std::io::{self, Write};

use super::header::MAGIC;

/// Elements converted at a time.
const PIECE: usize = 1 << 13;

/// Writes a one-dimensional array of elements of type `descr`.
pub(in crate::io) fn write_vector<T, const N: usize>(
    to: &mut impl Write,
    descr: &str,
    elements: &[T],
    bytes: impl Fn(&T) -> [u8; N],
) -> io::Result<()> {
    write_header(to, descr, &format!("({},)", elements.len()))?;
    let mut buf = Vec::with_capacity(PIECE * N);
    for piece in elements.chunks(PIECE) {
        buf.clear();
        buf.extend(piece.iter().flat_map(&bytes));
        to.write_all(&buf)?;
    }
    Ok(())
}

/// Writes the header, padded so that the elements start at a multiple of 64 bytes.
pub(in crate::io) fn write_header(to: &mut impl Write, descr: &str, shape: &str) -> io::Result<()> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let before = MAGIC.len() + 4;
    let text_len = (before + dict.len() + 1).next_multiple_of(64) - before;
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    to.write_all(&(text_len as u16).to_le_bytes())?;
    writeln!(to, "{dict:<width$}", width = text_len - 1)
}
