//! Dense matrices.

use std::fmt;
use std::io::Read;

use ndarray::{Array2, ShapeBuilder};

use super::elements::NpyArray;
use super::header::{Element, NpyHeader};
use super::{Fault, Origin};
use crate::dtype::DType;
use crate::io::source::Opened;
use crate::io::{ReadError, Source};
use crate::narrowing::Narrowing;
use crate::scalar::Scalar;

/// A dense matrix read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense<T> {
    /// The matrix, in the file's order: row-major, or column-major if numpy had it so.
    pub array: Array2<T>,
    /// The value type in the file, if it has more digits than `T`: values were rounded to nearest, once.
    pub rounded_from: Option<DType>,
    /// What rounding made of the values, whichever type they had.
    pub narrowing: Narrowing,
}

/// A dense matrix whose header has been read and whose elements have not.
///
/// Its shape can be checked before time and memory go into reading it.
pub struct DenseFile<'a> {
    array: NpyArray<Box<dyn Read + Send + 'a>>,
    dtype: DType,
    shape: (usize, usize),
}

impl fmt::Debug for DenseFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DenseFile")
            .field("shape", &self.shape)
            .field("dtype", &self.dtype)
            .finish_non_exhaustive()
    }
}

impl<'a> DenseFile<'a> {
    /// Opens a two-dimensional array of f16, f32, f64, c32 or c64, of either byte order, in C or Fortran order.
    ///
    /// # Errors
    /// [`ReadError`] if the source cannot be read, is not a `.npy` file, or holds another type or
    /// number of dimensions.
    pub fn open(source: impl Into<Source<'a>>) -> Result<Self, ReadError> {
        let bytes = Opened::open(source.into(), None)?.bytes;
        let array = NpyArray::open(Origin::File, bytes.into_reader()?)?;
        let dtype = dtype(&array.header).map_err(|fault| array.fault(fault))?;
        let shape = shape(&array.header, dtype).map_err(|fault| array.fault(fault))?;
        Ok(Self { array, dtype, shape })
    }

    /// Rows and columns, as the header claims.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The value type in the file: f16, f32, f64, c32 or c64.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Reads the elements, rounding each part to the nearest that `T` has. O(rows · columns).
    ///
    /// Memory is taken as data arrives: never more than twice what the file has shown to hold.
    ///
    /// # Errors
    /// [`ReadError`] if the elements cannot be read, are fewer or more than the shape says, or do
    /// not fit in memory. [`ReadError::Complex`] if they are complex and `T` is real.
    pub fn read<T: Scalar>(self) -> Result<Dense<T>, ReadError> {
        let Self { array, dtype, shape } = self;
        let order = shape.set_f(array.header.fortran_order);
        let (values, narrowing) = array.values()?;
        let array = Array2::from_shape_vec(order, values)
            .map_err(|e| Origin::File.error(e.to_string().into()))?;
        let (from, to) = (dtype.part(), T::DTYPE.part());
        // bf16 has fewer digits than f16.
        let rounds = from.size() > to.size() || (from, to) == (DType::F16, DType::Bf16);
        let rounded_from = rounds.then_some(dtype);
        Ok(Dense { array, rounded_from, narrowing })
    }
}

/// Reads a dense matrix of f16, f32, f64, c32 or c64 from a `.npy` file or stream, rounding each element to the
/// nearest `T`.
///
/// O(rows · columns) time. Memory is taken as data arrives: never more than twice what the source
/// has shown to hold.
///
/// # Errors
/// As [`DenseFile::open`] and [`DenseFile::read`].
///
/// ```
/// use girih_formats::io::{Source, npy};
/// use ndarray::array;
///
/// let b = array![[1.0f64, 2.0, 3.0], [4.0, 5.0, 0.1]];
/// let mut bytes = Vec::new();
/// npy::write_dense(&mut bytes, &b.view())?;
///
/// let same = npy::read_dense::<f64>(Source::reader(&bytes[..]))?;
/// assert_eq!(same.array, b);
/// let narrow = npy::read_dense::<f32>(Source::reader(&bytes[..]))?;
/// assert_eq!((narrow.array[[1, 2]], narrow.rounded_from), (0.1f32, Some(girih_formats::DType::F64)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_dense<'a, T: Scalar>(source: impl Into<Source<'a>>) -> Result<Dense<T>, ReadError> {
    DenseFile::open(source)?.read()
}

fn dtype(header: &NpyHeader) -> Result<DType, Fault> {
    match header.element {
        Element::Float(2) => Ok(DType::F16),
        Element::Float(4) => Ok(DType::F32),
        Element::Float(8) => Ok(DType::F64),
        Element::Complex(8) => Ok(DType::C32),
        Element::Complex(16) => Ok(DType::C64),
        _ => Err(format!(
            "the array holds {:?}; f16, f32, f64, c32 or c64 is needed: save array.astype(\"float32\")",
            header.descr
        )
        .into()),
    }
}

fn shape(header: &NpyHeader, dtype: DType) -> Result<(usize, usize), Fault> {
    let [rows, cols] = header.shape[..] else {
        return Err(format!(
            "the array has {} dimension(s), shape {}; two are needed: reshape a vector to (k, 1)",
            header.shape.len(),
            header.tuple()
        )
        .into());
    };
    // A dimension counts even beside one of 0: strides must not overflow either.
    let bytes =
        rows.max(1).checked_mul(cols.max(1)).and_then(|n| n.checked_mul(dtype.size() as u64));
    match (bytes.map(isize::try_from), usize::try_from(rows), usize::try_from(cols)) {
        (Some(Ok(_)), Ok(rows), Ok(cols)) => Ok((rows, cols)),
        _ => Err(format!("the shape {} is larger than memory", header.tuple()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::npy::write_dense;
    use half::{bf16, f16};
    use ndarray::{Axis, array};

    fn read_from<T: Scalar>(bytes: &[u8]) -> Result<Dense<T>, ReadError> {
        read_dense(Source::reader(bytes))
    }

    fn file(version: u8, dict: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY".to_vec();
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
        write_dense(&mut bytes, &a.view()).unwrap();
        assert_eq!((bytes.len() - 24) % 64, 0);
        let back = read_from::<f32>(&bytes).unwrap();
        assert_eq!((back.array, back.rounded_from), (a.clone(), None));

        let mut transposed = Vec::new();
        write_dense(&mut transposed, &a.view().split_at(Axis(1), 2).0.t()).unwrap();
        let back = read_from::<f64>(&transposed).unwrap();
        assert_eq!(back.array, array![[1.0, f64::INFINITY], [-2.5, 0.0]]);

        let mut halves = Vec::new();
        write_dense(&mut halves, &array![[f16::from_f32(0.1), f16::INFINITY]].view()).unwrap();
        let back = read_from::<f16>(&halves).unwrap();
        assert_eq!(back.array, array![[f16::from_f32(0.1), f16::INFINITY]]);
        assert_eq!(back.rounded_from, None);
        assert_eq!(read_from::<f32>(&halves).unwrap().rounded_from, None);
        assert_eq!(read_from::<bf16>(&halves).unwrap().rounded_from, Some(DType::F16));

        let narrow = write_dense(Vec::new(), &array![[bf16::ONE]].view());
        assert!(matches!(narrow, Err(crate::io::WriteError::NoSuchType { .. })));
    }

    #[test]
    fn files_are_read_like_streams_and_longer_than_a_piece() {
        let a = Array2::from_shape_fn((300, 171), |(i, j)| (i * 171 + j) as f64);
        let file = tempfile::NamedTempFile::new().unwrap();
        write_dense(file.as_file(), &a.view()).unwrap();
        let opened = DenseFile::open(file.path()).unwrap();
        assert_eq!((opened.shape(), opened.dtype()), ((300, 171), DType::F64));
        assert_eq!(opened.read::<f64>().unwrap().array, a);
    }

    #[test]
    fn every_order_width_and_version_is_read() {
        let data = le(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let fortran = "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }   \n";
        for version in 1..=3 {
            let read = read_from::<f64>(&file(version, fortran, &data)).unwrap();
            assert_eq!(read.array, array![[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
        }
        let big: Vec<u8> = [1.5f32, 2.5].iter().flat_map(|v| v.to_be_bytes()).collect();
        let header = "{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\">f4\"}";
        assert_eq!(read_from::<f32>(&file(1, header, &big)).unwrap().array, array![[1.5, 2.5]]);
    }

    #[test]
    fn narrowing_is_reported_and_rounds_to_nearest() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }";
        let bytes = file(1, header, &le(&[0.1]));
        let narrow = read_from::<f32>(&bytes).unwrap();
        assert_eq!((narrow.array[[0, 0]], narrow.rounded_from), (0.1f32, Some(DType::F64)));
        assert_eq!(read_from::<f64>(&bytes).unwrap().rounded_from, None);
        let half = file(1, &header.replace("f8", "f4"), &0.5f32.to_le_bytes());
        assert_eq!(read_from::<f16>(&half).unwrap().rounded_from, Some(DType::F32));
        assert_eq!(read_from::<f64>(&half).unwrap().rounded_from, None);
    }

    #[test]
    fn empty_arrays_are_arrays() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (5, 0), }";
        assert_eq!(read_from::<f32>(&file(1, header, &[])).unwrap().array.dim(), (5, 0));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let with = |dict: &str| error(&file(1, dict, &le(&[1.0; 6])));
        assert!(error(b"").contains("not a .npy file"));
        assert!(error(b"PK\x03\x04 something else").contains("not a .npy file"));
        assert!(error(&file(9, "{}", &[])).contains("version 9.0"));
        assert!(error(&file(1, "{'descr': '<f8'", &[])).contains("not understood"));
        assert!(error(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("4294967295 bytes"));
        assert!(error(b"\x93NUMPY\x01\x00\xff\x00{").contains("ends inside its header"));
        let dict = |descr: &str, shape: &str| {
            with(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"))
        };
        assert!(dict("'<i8'", "(2, 3)").contains("<i8"));
        assert!(dict("'<M8[ns]'", "(2, 3)").contains("<M8[ns]"));
        assert!(dict("'<c8'", "(2, 3)").contains("complex"));
        assert!(dict("[('x', '<f8')]", "(2, 3)").contains("records"));
        assert!(dict("'<f8'", "(6,)").contains("1 dimension(s)"));
        assert!(dict("'<f8'", "()").contains("0 dimension(s)"));
        assert!(dict("'<f8'", "(2, -3)").contains("\"-3\""));
        assert!(dict("'<f8'", "(2, 2)").contains("goes on after"));
        assert!(dict("'<f8'", "(2, 4)").contains("ends inside"));
        // Terabytes promised, 48 bytes given: refused without asking for the memory.
        assert!(dict("'<f8'", "(1000000, 1000000)").contains("ends inside"));
        assert!(dict("'<f8'", "(9223372036854775807, 8)").contains("larger than memory"));
        assert!(dict("'<f8'", "(0, 9223372036854775807)").contains("larger than memory"));
        assert!(with("{'descr': '<f8', 'shape': (2, 3)}").contains("not understood"));
    }
}
