//! Matrix Market, coordinate and array: text, one entry per line.
//!
//! The format is that of R. F. Boisvert, R. Pozo and K. Remington, *The Matrix Market Exchange
//! Formats*, NISTIR 5935, 1996, read generously: words in any case, `double` for `real`, blanks and
//! tabs anywhere between words, CR LF line ends, blank lines and comments anywhere after the
//! banner, Fortran's `D` exponents, `inf` and `nan`. A symmetric file may hold either triangle, but
//! not entries of both: whether a pair given twice is meant twice nobody could tell. Values in a
//! file that says pattern are ignored, and zeros of an array file are not entries of the matrix.
//!
//! Blocks of text are parsed in parallel and become CSR round by round, so that neither the text
//! nor a list of triplets is ever whole in memory if the entries come in row-major order. Files in
//! another order, and symmetric ones, become triplets first.

mod feed;
mod header;
mod line;
mod number;
mod parse;
mod sink;
mod write;

use std::io::{self, BufReader};

use feed::{BLOCK, Feed};
use header::Header;
use sink::{Block, Sink};

use super::source::{Bytes, Opened};
use super::{FileKind, Info, Place, ReadError, ReadOptions};
use crate::{Csr, Scalar};

pub(super) use write::write;

/// Blocks parsed between two visits to the result.
fn blocks_per_round() -> usize {
    (8 * rayon::current_num_threads()).max(16)
}

/// Reads a Matrix Market file.
pub(super) fn read<T: Scalar>(
    opened: Opened<'_>,
    options: &ReadOptions,
) -> Result<(Csr<T>, Info), ReadError> {
    let gzip = opened.gzip;
    match opened.bytes {
        Bytes::File(file) => {
            let header = Header::read(&mut BufReader::new(file.reader()))?;
            let body = header.bytes;
            let total = file.len();
            let report = |rounds: u64| {
                if let Some(progress) = &options.progress {
                    let step = (blocks_per_round() * BLOCK) as u64;
                    progress((body + rounds * step).min(total), Some(total));
                }
            };
            read_entries(header, Feed::file(&file, body), options, gzip, report)
        }
        Bytes::Stream(stream) => {
            let mut text = BufReader::with_capacity(BLOCK, stream);
            let header = Header::read(&mut text)?;
            read_entries(header, Feed::stream(Box::new(text)), options, gzip, |_| ())
        }
    }
}

fn read_entries<T: Scalar>(
    header: Header,
    mut feed: Feed<'_>,
    options: &ReadOptions,
    gzip: bool,
    report: impl Fn(u64),
) -> Result<(Csr<T>, Info), ReadError> {
    let kind = if header.is_array {
        FileKind::MatrixMarketArray
    } else {
        FileKind::MatrixMarketCoordinate
    };
    let (field, symmetry) = (header.field, header.symmetry);
    let mut sink = Sink::<T>::new(header, options, feed.bytes_left())?;
    let reading = sink.reading();
    let mut blocks: Vec<Block<T>> = Vec::new();
    blocks.resize_with(blocks_per_round(), Block::default);
    for round in 1.. {
        let count = feed
            .round(&mut blocks, |text, block| reading.parse(text, block))
            .map_err(|(e, bytes)| broken(e, sink.lines + 1, bytes as u64 + 1))?;
        if count == 0 {
            break;
        }
        sink.commit(&blocks[..count], &feed)?;
        report(round);
    }
    drop(blocks);
    let info = Info { kind, field, symmetry, stored_entries: sink.stored(), dtype: None, gzip };
    Ok((sink.finish()?, info))
}

/// The error for a text that could be read no further.
pub(super) fn broken(e: io::Error, line: u64, column: u64) -> ReadError {
    let place = Place { line, column };
    match e.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Gzip { place, truncated: true, source: e },
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            ReadError::Gzip { place, truncated: false, source: e }
        }
        _ => ReadError::Io(e),
    }
}
