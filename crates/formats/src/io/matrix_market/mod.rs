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
//! nor a list of triplets is ever whole in memory if the entries come in row-major order. Entries in
//! column-major order become CSC the same way and are transposed. Files in another order, and
//! symmetric ones, become triplets first.

mod array;
mod block;
mod duplicate;
mod feed;
mod header;
mod line;
mod major;
mod number;
mod parse;
mod sink;
mod write;

use std::io::BufReader;

use block::Block;
use feed::{BLOCK, Feed};
use header::Header;
use sink::EntrySink;

use super::source::{Bytes, Opened, Source};
use super::{Field, FileKind, Info, ReadError, ReadOptions};
use crate::csr::Csr;
use crate::error::FormatError;
use crate::scalar::Scalar;

pub(super) use write::write;

/// Reads a Matrix Market file.
pub(super) fn read<T: Scalar>(
    opened: Opened<'_>,
    options: &ReadOptions,
) -> Result<(Csr<T>, Info), ReadError> {
    let (gzip, path) = (opened.gzip, opened.path.clone());
    let progress = options.progress.as_ref();
    let result = with_entries(opened, |header, feed, total| {
        let body = header.bytes;
        read_entries(header, feed, options, gzip, &|blocks| {
            if let (Some(progress), Some(total)) = (progress, total) {
                progress((body + (blocks * BLOCK) as u64).min(total), Some(total));
            }
        })
    });
    match (result, path) {
        (Err(ReadError::Matrix(FormatError::Duplicate { row, col })), Some(path)) => {
            let again = Opened::open(Source::from(path), None)?;
            Err(with_entries(again, |header, feed, _| {
                Ok(duplicate::find::<T>(&header, feed, options, row, col))
            })?)
        }
        (result, _) => result,
    }
}

/// Reads the header, and calls `then` with it, the entries, and the length of the file if they do
/// not come from a stream.
fn with_entries<R>(
    opened: Opened<'_>,
    then: impl FnOnce(Header, Feed<'_>, Option<u64>) -> Result<R, ReadError>,
) -> Result<R, ReadError> {
    match opened.bytes {
        Bytes::File(file) => {
            let header = Header::read(&mut BufReader::new(file.reader()))?;
            let body = header.bytes;
            then(header, Feed::file(&file, body), Some(file.len()))
        }
        Bytes::Stream(stream) => {
            let mut text = BufReader::with_capacity(BLOCK, stream);
            let header = Header::read(&mut text)?;
            then(header, Feed::stream(Box::new(text)), None)
        }
    }
}

fn read_entries<T: Scalar>(
    header: Header,
    mut feed: Feed<'_>,
    options: &ReadOptions,
    gzip: bool,
    report: &dyn Fn(usize),
) -> Result<(Csr<T>, Info), ReadError> {
    let kind = if header.is_array {
        FileKind::MatrixMarketArray
    } else {
        FileKind::MatrixMarketCoordinate
    };
    let (field, symmetry) = (header.field, header.symmetry);
    if field == Field::Complex && !T::DTYPE.is_complex() {
        let what = "this Matrix Market file".to_owned();
        return Err(ReadError::Complex { what, dtype: T::DTYPE });
    }
    let mut sink = EntrySink::<T>::new(header, options, feed.bytes_left())?;
    let reading = sink.reading();
    let mut blocks = new_blocks();
    let mut parsed = 0;
    loop {
        let count = feed
            .round(&mut blocks, |text, block| reading.parse(text, block))
            .map_err(|(e, bytes)| ReadError::broken(e, sink.lines + 1, bytes as u64 + 1))?;
        if count == 0 {
            break;
        }
        sink.commit(&blocks[..count], &feed)?;
        parsed += count;
        report(parsed);
    }
    drop(blocks);
    let stored_entries = sink.stored();
    let (matrix, narrowing) = sink.finish()?;
    Ok((matrix, Info { kind, field, symmetry, stored_entries, dtype: None, gzip, narrowing }))
}

/// Memory for the entries of one round: enough blocks to keep all threads busy.
fn new_blocks<T>() -> Vec<Block<T>> {
    let count = (8 * girih_parallel::current_num_threads()).max(16);
    (0..count).map(|_| Block::default()).collect()
}
