//! The header: element type, order and shape.

use std::io::Read;

use super::Fault;

pub(super) const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The longest text of a header there may be; numpy refuses to parse more unasked.
const MAX_TEXT: usize = 10_000;
/// The most dimensions numpy 1 had; numpy 2 has 64, and a matrix two.
const MAX_DIMS: usize = 32;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum Element {
    Bool,
    /// Bytes each; signed.
    Int(usize),
    /// Bytes each; unsigned.
    Uint(usize),
    /// Bytes each.
    Float(usize),
    /// Bytes each: twice those of a part.
    Complex(usize),
    /// Bytes each.
    Bytes(usize),
    /// Characters of four bytes each.
    Unicode(usize),
    /// One that is not read.
    Other,
}

impl Element {
    /// Bytes of one; `None` for those that are not read.
    pub(super) fn size(self) -> Option<u64> {
        match self {
            Self::Bool => Some(1),
            Self::Int(n) | Self::Uint(n) | Self::Float(n) | Self::Complex(n) | Self::Bytes(n) => {
                Some(n as u64)
            }
            Self::Unicode(n) => Some(4 * n as u64),
            Self::Other => None,
        }
    }
}

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::io) struct NpyHeader {
    pub(in crate::io) element: Element,
    /// The element type as the file names it.
    pub(in crate::io) descr: String,
    pub(in crate::io) big_endian: bool,
    pub(in crate::io) fortran_order: bool,
    pub(in crate::io) shape: Vec<u64>,
}

impl NpyHeader {
    /// Reads a header; the first element is next.
    pub(super) fn read(from: &mut impl Read) -> Result<Self, Fault> {
        const NOT_NPY: &str = "not a .npy file: it does not begin with \\x93NUMPY";
        let mut lead = [0; 8];
        from.read_exact(&mut lead).map_err(|e| Fault::reading(e, || NOT_NPY.into()))?;
        if !lead.starts_with(MAGIC) {
            return Err(NOT_NPY.into());
        }
        let mut fill = |bytes: &mut [u8]| {
            from.read_exact(bytes)
                .map_err(|e| Fault::reading(e, || "the array ends inside its header".into()))
        };
        let len = match (lead[6], lead[7]) {
            (1, 0) => {
                let mut len = [0; 2];
                fill(&mut len)?;
                u16::from_le_bytes(len).into()
            }
            (2 | 3, 0) => {
                let mut len = [0; 4];
                fill(&mut len)?;
                u32::from_le_bytes(len) as usize
            }
            (major, minor) => {
                return Err(format!("version {major}.{minor} of .npy is not known").into());
            }
        };
        if len > MAX_TEXT {
            return Err(format!("a header of {len} bytes is more than numbers need").into());
        }
        let mut text = vec![0; len];
        fill(&mut text)?;
        Self::parse(&text)
    }

    /// Parses `{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }`.
    fn parse(text: &[u8]) -> Result<Self, Fault> {
        let text = String::from_utf8_lossy(text);
        let bad = || {
            let start: String = text.trim_end().chars().take(100).collect();
            Fault::Content(format!("the header {start:?} is not understood"))
        };
        let mut rest = text.trim().strip_prefix('{').ok_or_else(bad)?.trim_start();
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        while !rest.starts_with('}') {
            let (key, after) = quoted(rest).ok_or_else(bad)?;
            let value = after.trim_start().strip_prefix(':').ok_or_else(bad)?.trim_start();
            rest = match key {
                "descr" => {
                    let (name, after) =
                        quoted(value).ok_or("the elements are records; numbers are needed")?;
                    descr = Some(name);
                    after
                }
                "fortran_order" => {
                    let (flag, after) = value
                        .strip_prefix("True")
                        .map(|after| (true, after))
                        .or_else(|| value.strip_prefix("False").map(|after| (false, after)))
                        .ok_or_else(bad)?;
                    fortran_order = Some(flag);
                    after
                }
                "shape" => {
                    let (dims, after) =
                        value.strip_prefix('(').and_then(|v| v.split_once(')')).ok_or_else(bad)?;
                    shape = Some(dimensions(dims)?);
                    after
                }
                _ => return Err(bad()),
            };
            rest = rest.trim_start();
            rest = match rest.strip_prefix(',') {
                Some(after) => after.trim_start(),
                None if rest.starts_with('}') => rest,
                None => return Err(bad()),
            };
        }
        let (Some(descr), Some(fortran_order), Some(shape)) = (descr, fortran_order, shape) else {
            return Err(bad());
        };
        if rest != "}" {
            return Err(bad());
        }
        let (big_endian, element) = element_type(descr)?;
        Ok(Self { element, descr: descr.to_owned(), big_endian, fortran_order, shape })
    }

    /// Elements in all.
    pub(super) fn elements(&self) -> Result<u64, Fault> {
        let product = self.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        product.ok_or_else(|| format!("the shape {} is larger than memory", self.tuple()).into())
    }

    /// Bytes of all elements; `None` for those of a type that is not read.
    pub(super) fn bytes(&self) -> Result<Option<u64>, Fault> {
        let Some(size) = self.element.size() else { return Ok(None) };
        let bytes = self.elements()?.checked_mul(size);
        let too_large = || format!("the shape {} is larger than memory", self.tuple()).into();
        bytes.map(Some).ok_or_else(too_large)
    }

    /// The shape as Python writes it.
    pub(super) fn tuple(&self) -> String {
        let dims: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        format!("({}{})", dims.join(", "), if dims.len() == 1 { "," } else { "" })
    }
}

/// The dimensions in a tuple's text.
fn dimensions(text: &str) -> Result<Vec<u64>, Fault> {
    let dims = text.split(',').map(str::trim).filter(|d| !d.is_empty());
    if dims.clone().count() > MAX_DIMS {
        return Err(format!("an array of more than {MAX_DIMS} dimensions is not a matrix").into());
    }
    dims.map(|d| {
        // Python 2 marked long integers.
        d.trim_end_matches('L')
            .parse()
            .map_err(|_| format!("{d:?} is not a dimension, in shape ({text})").into())
    })
    .collect()
}

/// A quoted word at the start of a text, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// A type such as `<f8`: whether it is big-endian, and the element.
fn element_type(descr: &str) -> Result<(bool, Element), Fault> {
    let mut chars = descr.chars();
    let big_endian = match chars.next() {
        Some('>') => true,
        Some('<' | '|') => false,
        Some('=') => cfg!(target_endian = "big"),
        _ => return Ok((false, Element::Other)),
    };
    let kind = chars.next();
    let size: Option<usize> = chars.as_str().parse().ok();
    let element = match (kind, size) {
        (Some('b'), Some(1)) => Element::Bool,
        (Some('i'), Some(size @ (1 | 2 | 4 | 8))) => Element::Int(size),
        (Some('u'), Some(size @ (1 | 2 | 4 | 8))) => Element::Uint(size),
        (Some('f'), Some(size @ (2 | 4 | 8))) => Element::Float(size),
        (Some('S' | 'a'), Some(size @ 0..=1024)) => Element::Bytes(size),
        (Some('U'), Some(size @ 0..=1024)) => Element::Unicode(size),
        (Some('c'), Some(size @ (8 | 16))) => Element::Complex(size),
        _ => Element::Other,
    };
    Ok((big_endian, element))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_understood() {
        let h = NpyHeader::parse(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   \n");
        let expected = NpyHeader {
            element: Element::Float(8),
            descr: "<f8".into(),
            big_endian: false,
            fortran_order: false,
            shape: vec![3],
        };
        assert_eq!(h.unwrap(), expected);
        let h = NpyHeader::parse(b"{\"shape\":(),'fortran_order':True,\"descr\":'|S3'}").unwrap();
        assert_eq!((h.element, h.shape.len()), (Element::Bytes(3), 0));
        let h = NpyHeader::parse(b"{'descr': '>i8', 'fortran_order': False, 'shape': (2L, 3L), }");
        let h = h.unwrap();
        assert_eq!((h.big_endian, h.tuple()), (true, "(2, 3)".into()));
        let h = NpyHeader::parse(b"{'descr': '<c16', 'fortran_order': False, 'shape': (3,)}");
        assert_eq!(h.unwrap().element, Element::Complex(16));
    }

    #[test]
    fn other_headers_are_refused() {
        for text in [
            &b""[..],
            b"{",
            b"{}",
            b"{'descr': '<f8', 'fortran_order': False}",
            b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}",
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}",
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)} and more",
            b"{'descr': '<f8', 'fortran_order': Maybe, 'shape': (3,)}",
            b"{'descr' '<f8'}",
        ] {
            let parsed = NpyHeader::parse(text);
            assert!(
                matches!(parsed, Err(Fault::Content(_))),
                "{}: {parsed:?}",
                String::from_utf8_lossy(text)
            );
        }
    }
}
