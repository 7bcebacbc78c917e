//! One array as a stream: its header, then its elements, converted as they are read.

use std::io::Read;

use bytemuck::Pod;
use num_complex::Complex;

use super::header::{Element, NpyHeader};
use super::{Fault, Origin, decode};
use crate::io::ReadError;
use crate::narrowing::{Limits, Narrowing};
use crate::scalar::Scalar;

/// Bytes read at a time.
const PIECE: usize = 1 << 16;

/// Elements decoded at a time: their numbers stay in the first-level cache.
const DECODED: usize = 1 << 10;

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
    /// All elements, and the certainty that nothing follows them. `decode` makes numbers of the bytes of some, and
    /// `convert` says what becomes of a number, or why its element is refused.
    ///
    /// The vector grows with what has been read: the shape is only a claim.
    fn elements<D: Pod, U>(
        mut self,
        size: usize,
        decode: fn(Element, &[u8], &mut [D]),
        mut convert: impl FnMut(D, u64) -> Result<U, String>,
    ) -> Result<Vec<U>, ReadError> {
        let total = self.total(size)?;
        let mut out = Vec::new();
        let mut buf = vec![0; PIECE.min(total * size)];
        let mut numbers = vec![D::zeroed(); DECODED.min(total)];
        while out.len() < total {
            let at = out.len();
            let count = (total - at).min(PIECE / size);
            let bytes = &mut buf[..count * size];
            self.fill(bytes, at, total)?;
            // Doubling, up to what the shape needs: never more than twice what has been shown.
            if out.capacity() - at < count
                && out.try_reserve_exact(at.max(count).min(total - at)).is_err()
            {
                return Err(self.fault(format!("{total} elements do not fit in memory")));
            }
            if self.header.big_endian {
                decode::reverse_each(bytes, size);
            }
            for bytes in bytes.chunks(DECODED * size) {
                let numbers = &mut numbers[..bytes.len() / size];
                decode(self.header.element, bytes, numbers);
                let (mut refused, first) = (None, out.len() as u64);
                out.extend(numbers.iter().zip(first..).map_while(|(&x, i)| match convert(x, i) {
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
        let size = match self.header.element {
            Element::Bool => 1,
            Element::Int(size) | Element::Uint(size) | Element::Float(size) => size,
            Element::Complex(size) => return self.convert_complex(size),
            _ => {
                let descr = &self.header.descr;
                return Err(self.fault(format!("values of type {descr:?} cannot be read")));
            }
        };
        let limits = const { Limits::of(T::DTYPE) };
        let mut narrowing = Narrowing::default();
        let values = self.elements(size, decode::reals, |x: f64, _| {
            narrowing.count(limits.kind(x), 1);
            Ok(T::from_c64(x.into()))
        })?;
        Ok((values, narrowing))
    }

    /// Complex elements of `size` bytes as values, and what rounding made of them.
    fn convert_complex<T: Scalar>(self, size: usize) -> Result<(Vec<T>, Narrowing), ReadError> {
        if const { !T::DTYPE.is_complex() } {
            return Err(self.fault(Fault::Complex(T::DTYPE)));
        }
        let limits = const { Limits::of(T::DTYPE) };
        let mut narrowing = Narrowing::default();
        // All bytes of a big-endian element were reversed: its imaginary part comes first.
        let big_endian = self.header.big_endian;
        let values = self.elements(size, decode::pairs, |[first, second]: [f64; 2], _| {
            let (re, im) = if big_endian { (second, first) } else { (first, second) };
            let value = Complex::new(re, im);
            narrowing.count(limits.kind_of(value), 1);
            Ok(T::from_c64(value))
        })?;
        Ok((values, narrowing))
    }

    /// All elements as integers of at most `limit`.
    fn convert_integers<U: Pod + TryFrom<u64>>(self, limit: u64) -> Result<Vec<U>, ReadError> {
        let (size, is_signed) = match self.header.element {
            Element::Int(size) => (size, true),
            Element::Uint(size) => (size, false),
            _ => {
                let descr = &self.header.descr;
                return Err(self.fault(format!("indices of type {descr:?} cannot be read")));
            }
        };
        self.elements(size, decode::integers, |bits: u64, at| {
            let is_negative = is_signed && bits > i64::MAX as u64;
            let found = Some(bits).filter(|&x| !is_negative && x <= limit);
            found.and_then(|x| U::try_from(x).ok()).ok_or_else(|| {
                let x = if is_negative { i128::from(bits as i64) } else { bits.into() };
                format!("element {at} is {x}, which is not in 0..={limit}")
            })
        })
    }
}
