//! One block of text, parsed.

use super::feed::Text;
use super::header::Header;
use super::line::{MAX_LINE, Shape};
use super::parse::{Entry, How, Parsed, parse};
use crate::csr::Duplicates;
use crate::io::{ReadOptions, Symmetry, TextFault};
use crate::scalar::Scalar;

/// The entries of one block of text.
#[derive(Debug)]
pub(super) struct Block<T> {
    pub(super) entries: Vec<Entry<T>>,
    pub(super) parsed: Parsed,
    /// In a file that stores one triangle: the first entry below, above and on the diagonal.
    pub(super) below: Option<usize>,
    pub(super) above: Option<usize>,
    pub(super) on: Option<usize>,
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Self { entries: vec![], parsed: Parsed::default(), below: None, above: None, on: None }
    }
}

impl<T> Block<T> {
    /// The row and column of every entry.
    pub(super) fn indices(&self) -> impl Iterator<Item = (u32, u32)> {
        self.entries.iter().map(|e| (e.row, e.col))
    }

    /// Lines parsed.
    pub(super) fn lines(&self) -> u64 {
        self.parsed.lines
    }
}

/// How the entries of a file are read; the same for all blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) shape: Shape,
    symmetry: Symmetry,
    drop_zeros: bool,
}

impl Reading {
    pub(super) fn new(header: &Header, options: &ReadOptions) -> Self {
        let general = header.symmetry == Symmetry::General;
        Self {
            shape: Shape {
                nrows: header.nrows as u64,
                ncols: header.ncols as u64,
                field: header.field,
                is_array: header.is_array,
            },
            symmetry: header.symmetry,
            // A zero may be one of two duplicates that must be refused, and counts where places
            // of entries must be reported; those files are pruned when they are assembled. An array
            // lists every element, so its zeros are no entries.
            drop_zeros: header.is_array
                || options.prune_zeros && general && options.duplicates == Duplicates::Sum,
        }
    }

    /// Whether zeros are no entries of any block.
    pub(super) fn drops_zeros(&self) -> bool {
        self.drop_zeros
    }

    pub(super) fn parse<T: Scalar>(&self, text: &Text, block: &mut Block<T>) {
        let (bytes, end) = text.padded();
        block.entries.clear();
        let mirrored = self.symmetry != Symmetry::General;
        let how = How { drop_zeros: self.drop_zeros, mirrored };
        block.parsed = parse(bytes, end, &self.shape, how, &mut block.entries);
        if text.cut && block.parsed.fault.is_none() {
            block.parsed.lines += 1;
            block.parsed.fault = Some((MAX_LINE, TextFault::LineTooLong { limit: MAX_LINE }));
        }
        if mirrored && !self.shape.is_array {
            let find = |want| block.entries.iter().position(|e| e.row.cmp(&e.col) == want);
            block.below = find(std::cmp::Ordering::Greater);
            block.above = find(std::cmp::Ordering::Less);
            block.on = find(std::cmp::Ordering::Equal);
        }
    }
}
