//! One array as a stream: its header, then its elements, converted as they are read.

use std::io::Read;

use bytemuck::Pod;
use half::f16;
use num_complex::Complex;

use super::header::{Element, NpyHeader};
use super::{Fault, Origin};
use crate::io::ReadError;
use crate::narrowing::{Limits, Narrowing};
use crate::scalar::Scalar;

/// Bytes converted at a time.
const PIECE: usize = 1 << 16;

/// An array whose header has been read and whose elements have not.
#[derive(Debug)]
pub(in crate::io) struct NpyArray<R> {
    origin: Origin,
    /// Bytes of the header.
    header_len: u64,
    pub(in crate::io) header: NpyHeader,
    reader: R,
}

impl<R: Read> NpyArray<R> {
    pub(in crate::io) fn open(origin: Origin, mut reader: R) -> Result<Self, ReadError> {
        // It is far shorter than any number.
        let mut counted = reader.by_ref().take(u64::MAX);
        let header = NpyHeader::read(&mut counted).map_err(|fault| origin.error(fault))?;
        let header_len = u64::MAX - counted.limit();
        Ok(Self { origin, header_len, header, reader })
    }

    /// Bytes of all elements, which the shape claims; `None` for those of a type that is not read.
    pub(in crate::io) fn bytes(&self) -> Result<Option<u64>, ReadError> {
        self.header.bytes().map_err(|fault| self.fault(fault))
    }

    /// Compares what an archive declares as the length of the array, where it does, with what the shape claims.
    pub(in crate::io) fn check_declared(&self, declared: Option<u64>) -> Result<(), ReadError> {
        let (Some(declared), Some(bytes)) = (declared, self.bytes()?) else { return Ok(()) };
        if self.header_len.checked_add(bytes) == Some(declared) {
            return Ok(());
        }
        let shape = self.header.tuple();
        Err(self.fault(format!(
            "the archive declares {declared} bytes, but its shape {shape} needs {bytes} and its header {}",
            self.header_len
        )))
    }

    pub(in crate::io) fn fault(&self, fault: impl Into<Fault>) -> ReadError {
        self.origin.error(fault.into())
    }

    /// Elements in all, which the shape claims.
    pub(in crate::io) fn claimed(&self) -> Result<u64, ReadError> {
        self.header.elements().map_err(|fault| self.fault(fault))
    }

    /// The number of elements of a one-dimensional array.
    pub(in crate::io) fn len(&self) -> Result<u64, ReadError> {
        match self.header.shape[..] {
            [n] => Ok(n),
            ref other => Err(self.fault(format!("it has shape {other:?}, not one dimension"))),
        }
    }

    /// Checks the number of elements of a one-dimensional array.
    pub(in crate::io) fn expect_len(&self, expected: u64, why: &str) -> Result<(), ReadError> {
        let found = self.len()?;
        if found == expected {
            return Ok(());
        }
        Err(self.fault(format!("it has {found} elements where {why} needs {expected}")))
    }

    /// The array with a reader of any type: so what reads elements is compiled once for each type of theirs.
    fn erased(&mut self) -> NpyArray<&mut dyn Read> {
        let Self { origin, header_len, ref header, ref mut reader } = *self;
        NpyArray { origin, header_len, header: header.clone(), reader }
    }

    /// All elements as values, each through `f64`, and what rounding made of them.
    pub(in crate::io) fn values<T: Scalar>(mut self) -> Result<(Vec<T>, Narrowing), ReadError> {
        self.erased().convert_values()
    }

    /// All elements as integers of at most `limit`.
    pub(in crate::io) fn integers<U: Pod + TryFrom<u64>>(
        mut self,
        limit: u64,
    ) -> Result<Vec<U>, ReadError> {
        self.erased().convert_integers(limit)
    }

    /// A zero-dimensional string.
    pub(in crate::io) fn string(mut self) -> Result<String, ReadError> {
        const LONGEST: usize = 64;
        let (size, width) = match self.header.element {
            Element::Bytes(n) => (n, 1),
            Element::Unicode(n) => (4 * n, 4),
            _ => return Err(self.fault(format!("{:?} is not a string", self.header.descr))),
        };
        if !self.header.shape.is_empty() || size > LONGEST {
            return Err(self.fault("the array is not one short string"));
        }
        let mut bytes = vec![0; size];
        if let Err(e) = self.reader.read_exact(&mut bytes) {
            return Err(self.fault(Fault::reading(e, || "the string ends early".into())));
        }
        let low = if self.header.big_endian { width - 1 } else { 0 };
        let text: Vec<u8> = bytes.chunks_exact(width).map(|c| c[low]).collect();
        Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
    }
}

impl NpyArray<&mut dyn Read> {
    /// All elements, and the certainty that nothing follows them. `convert` says why an element
    /// is refused.
    ///
    /// The vector grows with what has been read: the shape is only a claim.
    fn elements<const N: usize, U>(
        mut self,
        mut convert: impl FnMut([u8; N], u64) -> Result<U, String>,
    ) -> Result<Vec<U>, ReadError> {
        let total = self.total(N)?;
        let big_endian = self.header.big_endian;
        let mut out = Vec::new();
        let mut buf = vec![0; PIECE.min(total * N)];
        while out.len() < total {
            let at = out.len();
            let count = (total - at).min(PIECE / N);
            let bytes = &mut buf[..count * N];
            self.fill(bytes, at, total)?;
            // Doubling, up to what the shape needs: never more than twice what has been shown.
            if out.capacity() - at < count
                && out.try_reserve_exact(at.max(count).min(total - at)).is_err()
            {
                return Err(self.fault(format!("{total} elements do not fit in memory")));
            }
            let (elements, _) = bytes.as_chunks_mut::<N>();
            if big_endian {
                elements.iter_mut().for_each(|e| e.reverse());
            }
            let mut refused = None;
            out.extend(elements.iter().zip(at as u64..).map_while(|(e, i)| match convert(*e, i) {
                Ok(u) => Some(u),
                Err(reason) => {
                    refused = Some(reason);
                    None
                }
            }));
            if let Some(reason) = refused {
                return Err(self.fault(reason));
            }
        }
        self.end(total)?;
        Ok(out)
    }

    /// Elements in all, of `size` bytes each.
    fn total(&self, size: usize) -> Result<usize, ReadError> {
        // More than this cannot be addressed, whatever the file holds.
        let total = usize::try_from(self.claimed()?).ok();
        total.filter(|n| n.checked_mul(size).is_some()).ok_or_else(|| {
            self.fault(format!("the shape {} is larger than memory", self.header.tuple()))
        })
    }

    /// Reads the bytes of elements from `at` on.
    fn fill(&mut self, bytes: &mut [u8], at: usize, total: usize) -> Result<(), ReadError> {
        self.reader.read_exact(bytes).map_err(|e| {
            self.fault(Fault::reading(e, || {
                let shape = self.header.tuple();
                format!("the array ends inside element {at} or soon after it; its shape {shape} needs {total}")
            }))
        })
    }

    /// Checks that nothing follows the elements. Reading to the end is also what has the checksum of an
    /// archive compared.
    fn end(&mut self, total: usize) -> Result<(), ReadError> {
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => {
                let shape = self.header.tuple();
                Err(self.fault(format!(
                    "the array goes on after the {total} elements of its shape {shape}"
                )))
            }
            Err(e) => Err(self.fault(Fault::Io(e))),
        }
    }

    /// All elements as values, each through `f64`, and what rounding made of them.
    fn convert_values<T: Scalar>(self) -> Result<(Vec<T>, Narrowing), ReadError> {
        let limits = const { Limits::of(T::DTYPE) };
        let mut narrowing = Narrowing::default();
        let mut t = |x: f64| {
            narrowing.count(limits.kind(x), 1);
            Ok(T::from_c64(x.into()))
        };
        let values = match self.header.element {
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
            Element::Complex(_) => return self.convert_complex(),
            _ => Err(self.fault(format!("values of type {:?} cannot be read", self.header.descr))),
        }?;
        Ok((values, narrowing))
    }

    /// Complex elements as values, and what rounding made of them.
    fn convert_complex<T: Scalar>(self) -> Result<(Vec<T>, Narrowing), ReadError> {
        if !T::DTYPE.is_complex() {
            return Err(self.fault(Fault::Complex(T::DTYPE)));
        }
        let limits = const { Limits::of(T::DTYPE) };
        let mut narrowing = Narrowing::default();
        // All bytes of a big-endian element were reversed: its imaginary part comes first.
        let big_endian = self.header.big_endian;
        let mut t = |first: f64, second: f64| {
            let (re, im) = if big_endian { (second, first) } else { (first, second) };
            let value = Complex::new(re, im);
            narrowing.count(limits.kind_of(value), 1);
            Ok(T::from_c64(value))
        };
        let values = match self.header.element {
            Element::Complex(8) => self.elements(|bytes: [u8; 8], _| {
                let [first, second]: [f32; 2] = bytemuck::cast(bytes);
                t(first.into(), second.into())
            }),
            _ => self.elements(|bytes: [u8; 16], _| {
                let [first, second]: [f64; 2] = bytemuck::cast(bytes);
                t(first, second)
            }),
        }?;
        Ok((values, narrowing))
    }

    /// All elements as integers of at most `limit`.
    fn convert_integers<U: Pod + TryFrom<u64>>(self, limit: u64) -> Result<Vec<U>, ReadError> {
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
            _ => Err(self.fault(format!("indices of type {:?} cannot be read", self.header.descr))),
        }
    }
}
