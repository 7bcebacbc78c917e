//! Dense matrices in numpy's `.npy` files.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use girih::formats::Scalar;
use ndarray::{Array2, ArrayView2, ShapeBuilder};

use crate::error::CliError;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes of header text that are read. numpy itself refuses to go above 10 000 unasked.
const MAX_HEADER: usize = 10_000;
/// Bytes that are decoded at a time.
const CHUNK: usize = 1 << 20;

/// Element types that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    F32,
    F64,
}

impl Element {
    const fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// What a header says about a two-dimensional array of floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    element: Element,
    big_endian: bool,
    fortran_order: bool,
    shape: (usize, usize),
}

/// A matrix read from a file.
#[derive(Debug)]
pub(crate) struct Contents<T> {
    /// The matrix, in the file's order.
    pub(crate) array: Array2<T>,
    /// Name of the element type in the file, if values were rounded to fit `T`.
    pub(crate) rounded_from: Option<&'static str>,
}

/// A file whose header has been read.
#[derive(Debug)]
pub(crate) struct NpyFile {
    path: PathBuf,
    header: Header,
    data: BufReader<File>,
}

impl NpyFile {
    /// Opens a two-dimensional f32 or f64 array, C or Fortran order.
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        let open = || {
            let mut data = BufReader::with_capacity(1 << 16, File::open(path)?);
            Ok((read_header(&mut data)?, data))
        };
        let (header, data) = open().map_err(|e: io::Error| CliError::input_from(path, e))?;
        Ok(Self { path: path.to_owned(), header, data })
    }

    /// The path it was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Rows and columns.
    pub(crate) fn shape(&self) -> (usize, usize) {
        self.header.shape
    }

    /// Reads the data into `T`, rounding to nearest.
    ///
    /// Memory is taken as data arrives, so a header that promises more than the file holds costs
    /// nothing.
    pub(crate) fn read<T: Scalar>(self) -> Result<Contents<T>, CliError> {
        read_data(self.data, self.header).map_err(|e| CliError::input_from(&self.path, e))
    }
}

/// Reads the data of an array from a stream that holds nothing else.
fn read_data<T: Scalar>(mut from: impl Read, header: Header) -> io::Result<Contents<T>> {
    let (rows, cols) = header.shape;
    let elements = rows
        .checked_mul(cols)
        .filter(|n| n.checked_mul(header.element.size()).is_some())
        .ok_or_else(|| invalid(format!("the shape ({rows}, {cols}) is larger than memory")))?;
    let mut values: Vec<T> = Vec::new();
    let mut chunk = vec![0u8; CHUNK.min(elements * header.element.size())];
    while values.len() < elements {
        let wanted = chunk.len().min((elements - values.len()) * header.element.size());
        let bytes = &mut chunk[..wanted];
        from.read_exact(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => invalid(format!(
                "the file ends inside element {} or soon after it; the shape ({rows}, {cols}) needs {elements}",
                values.len()
            )),
            _ => e,
        })?;
        let n = wanted / header.element.size();
        // Doubling, up to what the shape needs: never more than twice what the file has shown.
        if values.capacity() - values.len() < n {
            let more = values.len().max(n).min(elements - values.len());
            values.try_reserve_exact(more).map_err(io::Error::other)?;
        }
        decode(bytes, &header, &mut values);
    }
    if from.read(&mut [0u8])? != 0 {
        return Err(invalid(format!(
            "the file goes on after the {elements} elements of shape ({rows}, {cols})"
        )));
    }
    let shape = (rows, cols).set_f(header.fortran_order);
    let array = Array2::from_shape_vec(shape, values).map_err(|e| invalid(e.to_string()))?;
    let rounded_from = match header.element {
        Element::F64 if size_of::<T>() < 8 => Some("f64"),
        Element::F32 if size_of::<T>() < 4 => Some("f32"),
        _ => None,
    };
    Ok(Contents { array, rounded_from })
}

/// Appends the elements that `bytes` holds.
fn decode<T: Scalar>(bytes: &[u8], header: &Header, values: &mut Vec<T>) {
    match (header.element, header.big_endian) {
        (Element::F32, false) => {
            let (elements, _) = bytes.as_chunks::<4>();
            values.extend(elements.iter().map(|&b| T::from_f64(f32::from_le_bytes(b).into())));
        }
        (Element::F32, true) => {
            let (elements, _) = bytes.as_chunks::<4>();
            values.extend(elements.iter().map(|&b| T::from_f64(f32::from_be_bytes(b).into())));
        }
        (Element::F64, false) => {
            let (elements, _) = bytes.as_chunks::<8>();
            values.extend(elements.iter().map(|&b| T::from_f64(f64::from_le_bytes(b))));
        }
        (Element::F64, true) => {
            let (elements, _) = bytes.as_chunks::<8>();
            values.extend(elements.iter().map(|&b| T::from_f64(f64::from_be_bytes(b))));
        }
    }
}

/// Writes a row-major array of format version 1.0, little-endian.
pub(crate) fn write<T: Scalar>(to: impl Write, array: &ArrayView2<'_, T>) -> io::Result<()> {
    let (rows, cols) = array.dim();
    let dict = format!(
        "{{'descr': '<f{}', 'fortran_order': False, 'shape': ({rows}, {cols}), }}",
        size_of::<T>()
    );
    // Magic, version, length and text together are a multiple of 64 bytes, closed by a newline.
    let text_len = (10 + dict.len() + 1).next_multiple_of(64) - 10;
    let mut to = BufWriter::with_capacity(1 << 16, to);
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    to.write_all(&(text_len as u16).to_le_bytes())?;
    writeln!(to, "{dict:<width$}", width = text_len - 1)?;
    for row in array.rows() {
        match row.as_slice() {
            Some(row) if cfg!(target_endian = "little") => {
                to.write_all(bytemuck::cast_slice(row))?;
            }
            _ => {
                for value in row {
                    let mut bytes = [0u8; 8];
                    let bytes = &mut bytes[..size_of::<T>()];
                    bytes.copy_from_slice(bytemuck::bytes_of(value));
                    if cfg!(target_endian = "big") {
                        bytes.reverse();
                    }
                    to.write_all(bytes)?;
                }
            }
        }
    }
    to.flush()
}

fn read_header(from: &mut impl Read) -> io::Result<Header> {
    let not_npy = || invalid("not a .npy file: it does not begin with \\x93NUMPY");
    let mut prologue = [0u8; 8];
    from.read_exact(&mut prologue).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => not_npy(),
        _ => e,
    })?;
    if &prologue[..6] != MAGIC {
        return Err(not_npy());
    }
    let truncated = |e: io::Error| match e.kind() {
        io::ErrorKind::UnexpectedEof => invalid("the file ends inside its header"),
        _ => e,
    };
    let len = match (prologue[6], prologue[7]) {
        (1, 0) => {
            let mut len = [0u8; 2];
            from.read_exact(&mut len).map_err(truncated)?;
            u16::from_le_bytes(len) as usize
        }
        (2 | 3, 0) => {
            let mut len = [0u8; 4];
            from.read_exact(&mut len).map_err(truncated)?;
            u32::from_le_bytes(len) as usize
        }
        (major, minor) => {
            return Err(invalid(format!("version {major}.{minor} of the format is not known")));
        }
    };
    if len > MAX_HEADER {
        return Err(invalid(format!(
            "a header of {len} bytes is more than an array of numbers needs"
        )));
    }
    let mut text = vec![0u8; len];
    from.read_exact(&mut text).map_err(truncated)?;
    let text = std::str::from_utf8(&text).map_err(|_| invalid("the header is not text"))?;
    parse_header(text)
}

/// Reads the dictionary of a header: exactly the keys `descr`, `fortran_order` and `shape`.
fn parse_header(text: &str) -> io::Result<Header> {
    let bad = || invalid(format!("the header {:?} is not understood", text.trim_end()));
    let body = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(bad)?;
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    let mut rest = body.trim_start();
    while !rest.is_empty() {
        let (key, after) = quoted(rest).ok_or_else(bad)?;
        let value = after.trim_start().strip_prefix(':').ok_or_else(bad)?.trim_start();
        let after = match key {
            "descr" => {
                let (name, after) = quoted(value).ok_or_else(|| {
                    invalid("the array is of records; one of f32 or f64 is needed")
                })?;
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
                shape = Some(dims);
                after
            }
            _ => return Err(bad()),
        };
        rest = after.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if rest.is_empty() => rest,
            None => return Err(bad()),
        };
    }
    let (Some(descr), Some(fortran_order), Some(dims)) = (descr, fortran_order, shape) else {
        return Err(bad());
    };
    let (element, big_endian) = element(descr)?;
    Ok(Header { element, big_endian, fortran_order, shape: two_dims(dims)? })
}

/// The element type that a `descr` names, and whether it is big-endian.
fn element(descr: &str) -> io::Result<(Element, bool)> {
    let native_is_big = cfg!(target_endian = "big");
    Ok(match descr {
        "<f4" => (Element::F32, false),
        ">f4" => (Element::F32, true),
        "=f4" => (Element::F32, native_is_big),
        "<f8" => (Element::F64, false),
        ">f8" => (Element::F64, true),
        "=f8" => (Element::F64, native_is_big),
        _ => {
            return Err(invalid(format!(
                "the array holds {descr:?}; f32 or f64 is needed: save array.astype(\"float32\")"
            )));
        }
    })
}

/// The two dimensions in a tuple's text.
fn two_dims(dims: &str) -> io::Result<(usize, usize)> {
    let parts: Vec<&str> = dims.split(',').map(str::trim).filter(|d| !d.is_empty()).collect();
    let [rows, cols] = parts[..] else {
        return Err(invalid(format!(
            "the array has {} dimension(s), shape ({dims}); two are needed: reshape a vector to (k, 1)",
            parts.len()
        )));
    };
    let dim = |text: &str| {
        text.parse::<usize>()
            .map_err(|_| invalid(format!("{text:?} is not a dimension, in shape ({dims})")))
    };
    Ok((dim(rows)?, dim(cols)?))
}

/// A quoted string without escapes, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, s};

    fn read_from<T: Scalar>(mut bytes: &[u8]) -> io::Result<Contents<T>> {
        let header = read_header(&mut bytes)?;
        read_data(bytes, header)
    }

    fn file(version: u8, dict: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((dict.len() as u16).to_le_bytes()),
            _ => bytes.extend((dict.len() as u32).to_le_bytes()),
        }
        bytes.extend(dict.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn le(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn error(bytes: &[u8]) -> String {
        read_from::<f32>(bytes).unwrap_err().to_string()
    }

    #[test]
    fn written_arrays_read_back() {
        let a = array![[1.0f32, -2.5, 3.0], [f32::INFINITY, 0.0, -0.0]];
        let mut bytes = Vec::new();
        write(&mut bytes, &a.view()).unwrap();
        assert_eq!((bytes.len() - 24) % 64, 0);
        let back = read_from::<f32>(&bytes[..]).unwrap();
        assert_eq!((back.array, back.rounded_from), (a.clone(), None));

        let mut transposed = Vec::new();
        write(&mut transposed, &a.slice(s![.., ..2]).t()).unwrap();
        let back = read_from::<f64>(&transposed[..]).unwrap();
        assert_eq!(back.array, array![[1.0, f64::INFINITY], [-2.5, 0.0]]);
    }

    #[test]
    fn every_order_width_and_version_is_read() {
        let data = le(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let fortran = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }   \n";
        for version in 1..=3 {
            let read = read_from::<f64>(&file(version, fortran, &data)[..]).unwrap();
            assert_eq!(read.array, array![[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
        }
        let big: Vec<u8> = [1.5f32, 2.5].iter().flat_map(|v| v.to_be_bytes()).collect();
        let header = "{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\">f4\"}";
        assert_eq!(read_from::<f32>(&file(1, header, &big)[..]).unwrap().array, array![[1.5, 2.5]]);
    }

    #[test]
    fn narrowing_is_reported_and_rounds_to_nearest() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }";
        let bytes = file(1, header, &le(&[0.1]));
        let narrow = read_from::<f32>(&bytes[..]).unwrap();
        assert_eq!((narrow.array[[0, 0]], narrow.rounded_from), (0.1f32, Some("f64")));
        assert_eq!(read_from::<f64>(&bytes[..]).unwrap().rounded_from, None);
    }

    #[test]
    fn empty_arrays_are_arrays() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (5, 0), }";
        assert_eq!(read_from::<f32>(&file(1, header, &[])[..]).unwrap().array.dim(), (5, 0));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let with = |dict: &str| error(&file(1, dict, &le(&[1.0; 6])));
        assert!(error(b"").contains("not a .npy file"));
        assert!(error(b"PK\x03\x04 something else").contains("not a .npy file"));
        assert!(error(&file(9, "{}", &[])).contains("version 9.0"));
        assert!(error(&file(1, "{'descr': '<f8'", &[])[..]).contains("not understood"));
        assert!(error(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("4294967295 bytes"));
        assert!(error(b"\x93NUMPY\x01\x00\xff\x00{").contains("ends inside its header"));
        let dict = |descr: &str, shape: &str| {
            with(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"))
        };
        assert!(dict("'<i8'", "(2, 3)").contains("<i8"));
        assert!(dict("[('x', '<f8')]", "(2, 3)").contains("records"));
        assert!(dict("'<f8'", "(6,)").contains("1 dimension(s)"));
        assert!(dict("'<f8'", "()").contains("0 dimension(s)"));
        assert!(dict("'<f8'", "(2, -3)").contains("\"-3\""));
        assert!(dict("'<f8'", "(2, 2)").contains("goes on after"));
        assert!(dict("'<f8'", "(2, 4)").contains("ends inside"));
        // Terabytes promised, 48 bytes given: refused without asking for the memory.
        assert!(dict("'<f8'", "(1000000, 1000000)").contains("ends inside"));
        assert!(dict("'<f8'", "(9223372036854775807, 8)").contains("larger than memory"));
        assert!(with("{'descr': '<f8', 'shape': (2, 3)}").contains("not understood"));
    }
}
