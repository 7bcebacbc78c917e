//! Where in a file an entry stands for the second time.
//!
//! That there is one is known only when the whole matrix has been assembled, and a place for every
//! entry would be a heavy load for all the files that have no duplicates; so the file is read again.

use super::block::Reading;
use super::feed::Feed;
use super::header::Header;
use super::new_blocks;
use crate::error::FormatError;
use crate::io::{ReadError, ReadOptions, Symmetry, TextFault};
use crate::scalar::Scalar;

/// The error for the entry at (`row`, `col`), with the place of its second appearance.
pub(super) fn find<T: Scalar>(
    header: &Header,
    mut feed: Feed<'_>,
    options: &ReadOptions,
    row: u32,
    col: u32,
) -> ReadError {
    let reading = Reading::new(header, options);
    let mirrored = header.symmetry != Symmetry::General;
    let is_it = |r, c| (r, c) == (row, col) || mirrored && (c, r) == (row, col);
    let mut blocks = new_blocks::<T>();
    let (mut lines, mut seen) = (header.lines, 0);
    loop {
        let count = match feed.round(&mut blocks, |text, block| reading.parse(text, block)) {
            // The file has changed since it was read.
            Ok(0) => return FormatError::Duplicate { row, col }.into(),
            Ok(count) => count,
            Err((e, bytes)) => return ReadError::broken(e, lines + 1, bytes as u64 + 1),
        };
        for (i, block) in blocks[..count].iter().enumerate() {
            for (n, (r, c)) in (0..).zip(block.indices()) {
                seen += usize::from(is_it(r, c));
                if seen == 2 {
                    return match feed.place(i, n, &reading.shape) {
                        Ok((line, column)) => {
                            let (row, col) = (u64::from(r) + 1, u64::from(c) + 1);
                            let fault = TextFault::Duplicate { row, col };
                            ReadError::text(lines + line + 1, column + 1, fault)
                        }
                        Err(e) => e.into(),
                    };
                }
            }
            lines += block.lines();
        }
    }
}
