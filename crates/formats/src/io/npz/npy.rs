//! One `.npy` array as a stream: its header, then its elements, converted as they are read.
//!
//! The format is numpy's NEP 1. Headers are read by hand: they come from files that may lie, and
//! three keys of a Python dictionary need no expression parser.

use std::io::{self, Read};

use bytemuck::Pod;
use half::f16;

use crate::io::ReadError;

/// The longest header there may be; numpy refuses to parse more than 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;
/// Bytes converted at a time.
const PIECE: usize = 1 << 16;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Bool,
    /// Bytes each; signed.
    Int(usize),
    /// Bytes each; unsigned.
    Uint(usize),
    /// Bytes each.
    Float(usize),
    /// Bytes each.
    Bytes(usize),
    /// Characters of four bytes each.
    Unicode(usize),
}

impl Element {
    fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Int(n) | Self::Uint(n) | Self::Float(n) | Self::Bytes(n) => n,
            Self::Unicode(n) => 4 * n,
        }
    }
}

/// The header of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) element: Element,
    pub(super) big_endian: bool,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
}

/// An array whose header has been read and whose elements have not.
#[derive(Debug)]
pub(super) struct Array<R> {
    pub(super) name: &'static str,
    pub(super) header: Header,
    reader: R,
}

impl<R: Read> Array<R> {
    pub(super) fn open(name: &'static str, mut reader: R) -> Result<Self, ReadError> {
        let fault = |reason: String| ReadError::Npz { array: name, reason };
        let broken = |e: io::Error| fault(format!("the header cannot be read: {e}"));
        let mut lead = [0; 8];
        reader.read_exact(&mut lead).map_err(broken)?;
        if !lead.starts_with(b"\x93NUMPY") {
            return Err(fault("it does not start as a .npy array does".into()));
        }
        let len = match lead[6] {
            1 => {
                let mut len = [0; 2];
                reader.read_exact(&mut len).map_err(broken)?;
                u16::from_le_bytes(len).into()
            }
            2 | 3 => {
                let mut len = [0; 4];
                reader.read_exact(&mut len).map_err(broken)?;
                u32::from_le_bytes(len) as usize
            }
            version => return Err(fault(format!("version {version} of .npy is not known"))),
        };
        if len > MAX_HEADER {
            return Err(fault(format!("its header claims {len} bytes")));
        }
        let mut text = vec![0; len];
        reader.read_exact(&mut text).map_err(broken)?;
        let header = parse_header(&text).map_err(|reason| {
            if reason == COMPLEX {
                ReadError::Complex { what: format!("{name}.npy") }
            } else {
                fault(reason)
            }
        })?;
        Ok(Self { name, header, reader })
    }

    pub(super) fn fault(&self, reason: impl Into<String>) -> ReadError {
        ReadError::Npz { array: self.name, reason: reason.into() }
    }

    /// The number of elements of a one-dimensional array.
    pub(super) fn len(&self) -> Result<u64, ReadError> {
        match self.header.shape[..] {
            [n] => Ok(n),
            ref other => Err(self.fault(format!("it has shape {other:?}, not one dimension"))),
        }
    }

    /// Checks the number of elements of a one-dimensional array.
    pub(super) fn expect_len(&self, expected: u64, why: &str) -> Result<(), ReadError> {
        let found = self.len()?;
        if found == expected {
            return Ok(());
        }
        Err(self.fault(format!("it has {found} elements where {why} needs {expected}")))
    }

    /// All elements, and the certainty that nothing follows them. `convert` says why an element
    /// is refused.
    ///
    /// The vector grows with what has been read: the shape is only a claim.
    fn elements<const N: usize, U>(
        mut self,
        mut convert: impl FnMut([u8; N], u64) -> Result<U, String>,
    ) -> Result<Vec<U>, ReadError> {
        let total = self.header.shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
        let Some(mut left) = total else {
            return Err(self.fault("its shape overflows"));
        };
        let big_endian = self.header.big_endian;
        let mut out = Vec::new();
        let mut buf = vec![0; PIECE.min(usize::try_from(left).unwrap_or(PIECE).saturating_mul(N))];
        while left > 0 {
            let count = left.min((PIECE / N) as u64) as usize;
            let bytes = &mut buf[..count * N];
            self.reader.read_exact(bytes).map_err(|e| {
                let at = out.len();
                self.fault(match e.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        format!("it ends near element {at} of {}", at as u64 + left)
                    }
                    _ => format!("it cannot be read past element {at}: {e}"),
                })
            })?;
            out.reserve(count);
            let (elements, _) = bytes.as_chunks_mut::<N>();
            if big_endian {
                elements.iter_mut().for_each(|e| e.reverse());
            }
            let mut refused = None;
            let at = out.len() as u64;
            out.extend(elements.iter().zip(at..).map_while(|(e, i)| match convert(*e, i) {
                Ok(u) => Some(u),
                Err(reason) => {
                    refused = Some(reason);
                    None
                }
            }));
            if let Some(reason) = refused {
                return Err(self.fault(reason));
            }
            left -= count as u64;
        }
        // Reading to the end is also what has the checksum compared.
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(out),
            Ok(_) => Err(self.fault("more bytes follow its last element")),
            Err(e) => Err(self.fault(format!("it cannot be read: {e}"))),
        }
    }

    /// All elements as values, each through `f64`.
    pub(super) fn values<T: crate::Scalar>(self) -> Result<Vec<T>, ReadError> {
        let t = |x: f64| Ok(T::from_f64(x));
        match self.header.element {
            Element::Bool => self.elements(|[b]: [u8; 1], _| t(f64::from(u8::from(b != 0)))),
            Element::Int(1) => self.elements(|b, _| t(i8::from_le_bytes(b).into())),
            Element::Int(2) => self.elements(|b, _| t(i16::from_le_bytes(b).into())),
            Element::Int(4) => self.elements(|b, _| t(i32::from_le_bytes(b).into())),
            Element::Int(8) => self.elements(|b, _| t(i64::from_le_bytes(b) as f64)),
            Element::Uint(1) => self.elements(|b, _| t(u8::from_le_bytes(b).into())),
            Element::Uint(2) => self.elements(|b, _| t(u16::from_le_bytes(b).into())),
            Element::Uint(4) => self.elements(|b, _| t(u32::from_le_bytes(b).into())),
            Element::Uint(8) => self.elements(|b, _| t(u64::from_le_bytes(b) as f64)),
            Element::Float(2) => self.elements(|b, _| t(f16::from_le_bytes(b).into())),
            Element::Float(4) => self.elements(|b, _| t(f32::from_le_bytes(b).into())),
            Element::Float(8) => self.elements(|b, _| t(f64::from_le_bytes(b))),
            other => Err(self.fault(format!("values of type {other:?} cannot be read"))),
        }
    }

    /// All elements as integers of at most `limit`.
    pub(super) fn integers<U: Pod + TryFrom<u64>>(self, limit: u64) -> Result<Vec<U>, ReadError> {
        let checked = |x: Option<u64>, found: i128, at: u64| {
            x.filter(|&x| x <= limit)
                .and_then(|x| U::try_from(x).ok())
                .ok_or_else(|| format!("element {at} is {found}, which is not in 0..={limit}"))
        };
        let signed = |x: i64, at| checked(u64::try_from(x).ok(), x.into(), at);
        let unsigned = |x: u64, at| checked(Some(x), x.into(), at);
        match self.header.element {
            Element::Int(1) => self.elements(|b, i| signed(i8::from_le_bytes(b).into(), i)),
            Element::Int(2) => self.elements(|b, i| signed(i16::from_le_bytes(b).into(), i)),
            Element::Int(4) => self.elements(|b, i| signed(i32::from_le_bytes(b).into(), i)),
            Element::Int(8) => self.elements(|b, i| signed(i64::from_le_bytes(b), i)),
            Element::Uint(1) => self.elements(|b, i| unsigned(u8::from_le_bytes(b).into(), i)),
            Element::Uint(2) => self.elements(|b, i| unsigned(u16::from_le_bytes(b).into(), i)),
            Element::Uint(4) => self.elements(|b, i| unsigned(u32::from_le_bytes(b).into(), i)),
            Element::Uint(8) => self.elements(|b, i| unsigned(u64::from_le_bytes(b), i)),
            other => Err(self.fault(format!("indices of type {other:?} cannot be read"))),
        }
    }

    /// A zero-dimensional string.
    pub(super) fn string(mut self) -> Result<String, ReadError> {
        const LONGEST: usize = 64;
        let size = self.header.element.size();
        if !self.header.shape.is_empty() || size > LONGEST {
            return Err(self.fault("it is not a short string"));
        }
        let mut bytes = vec![0; size];
        if let Err(e) = self.reader.read_exact(&mut bytes) {
            return Err(self.fault(format!("it cannot be read: {e}")));
        }
        match self.header.element {
            Element::Bytes(_) => {}
            Element::Unicode(_) => {
                let low = if self.header.big_endian { 3 } else { 0 };
                bytes = bytes.chunks_exact(4).map(|c| c[low]).collect();
            }
            other => return Err(self.fault(format!("it is {other:?}, not a string"))),
        }
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned())
    }
}

const COMPLEX: &str = "complex";

/// Parses `{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }`.
fn parse_header(text: &[u8]) -> Result<Header, String> {
    let text = String::from_utf8_lossy(text);
    let bad = || format!("its header is {:?}", text.chars().take(100).collect::<String>());
    let mut rest = text.trim().strip_prefix('{').ok_or_else(bad)?.trim_start();
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    while !rest.starts_with('}') {
        let (key, after) = quoted(rest).ok_or_else(bad)?;
        let value = after.trim_start().strip_prefix(':').ok_or_else(bad)?.trim_start();
        rest = match key {
            "descr" => {
                let (d, after) = quoted(value).ok_or("its elements are records")?;
                descr = Some(d);
                after
            }
            "fortran_order" => {
                let (value, after) = if let Some(after) = value.strip_prefix("True") {
                    (true, after)
                } else {
                    (false, value.strip_prefix("False").ok_or_else(bad)?)
                };
                fortran_order = Some(value);
                after
            }
            "shape" => {
                let inside = value.strip_prefix('(').ok_or_else(bad)?;
                let (inside, after) = inside.split_once(')').ok_or_else(bad)?;
                let dims = inside.split(',').map(str::trim).filter(|d| !d.is_empty());
                let dims = dims.map(|d| d.trim_end_matches('L').parse::<u64>());
                shape = Some(dims.collect::<Result<Vec<_>, _>>().map_err(|_| bad())?);
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
    if shape.len() > 32 {
        return Err(bad());
    }
    let (big_endian, element) = element_type(descr)?;
    Ok(Header { element, big_endian, fortran_order, shape })
}

/// A quoted word at the start of a text, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// A type such as `<f8`: whether it is big-endian, and the element.
fn element_type(descr: &str) -> Result<(bool, Element), String> {
    let unknown = || format!("its type {descr:?} is not one of a sparse matrix");
    let mut chars = descr.chars();
    let big_endian = match chars.next() {
        Some('>') => true,
        Some('<' | '|') => false,
        Some('=') => cfg!(target_endian = "big"),
        _ => return Err(unknown()),
    };
    let kind = chars.next().ok_or_else(unknown)?;
    let size: usize = chars.as_str().parse().map_err(|_| unknown())?;
    let element = match (kind, size) {
        ('b', 1) => Element::Bool,
        ('i', 1 | 2 | 4 | 8) => Element::Int(size),
        ('u', 1 | 2 | 4 | 8) => Element::Uint(size),
        ('f', 2 | 4 | 8) => Element::Float(size),
        ('S' | 'a', 0..=1024) => Element::Bytes(size),
        ('U', 0..=1024) => Element::Unicode(size),
        ('c', _) => return Err(COMPLEX.into()),
        _ => return Err(unknown()),
    };
    Ok((big_endian, element))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_understood() {
        let h = parse_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }   \n");
        let expected = Header {
            element: Element::Float(8),
            big_endian: false,
            fortran_order: false,
            shape: vec![3],
        };
        assert_eq!(h, Ok(expected));
        let h = parse_header(b"{\"shape\":(),'fortran_order':True,\"descr\":'|S3'}").unwrap();
        assert_eq!((h.element, h.shape.len()), (Element::Bytes(3), 0));
        let h =
            parse_header(b"{'descr': '>i8', 'fortran_order': False, 'shape': (2L, 3L), }").unwrap();
        assert_eq!((h.big_endian, h.shape), (true, vec![2, 3]));
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
            b"{'descr': '<f8', 'fortran_order': Maybe, 'shape': (3,)}",
            b"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
            b"{'descr' '<f8'}",
        ] {
            assert!(parse_header(text).is_err(), "{}", String::from_utf8_lossy(text));
        }
    }
}
