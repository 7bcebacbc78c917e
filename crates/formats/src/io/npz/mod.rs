//! scipy's `.npz`: a zip archive of `.npy` arrays, written by `scipy.sparse.save_npz`.
//!
//! Read are csr, csc, coo and bsr with any integer indices and any real or complex values. Rows may be
//! unsorted and hold duplicates, as scipy's may. Zeros inside the blocks of a bsr matrix are
//! entries, as they are to scipy. Nothing in the archive is believed before it is checked.

mod stream;
mod write;

use std::io::{Read, Seek};

use girih_parallel::prelude::*;
use zip::ZipArchive;
use zip::result::ZipError;

use super::compressed::{assemble, expand, from_rows, with_sums};
use super::npy::{Element, NpyArray, Origin};
use super::source::{Bytes, Opened, PlainFile};
use super::{Field, FileKind, Info, ReadError, ReadOptions, Symmetry};
use crate::MAX_DIM;
use crate::csr::{Coo, Csr, check_offsets};
use crate::dtype::DType;
use crate::narrowing::Narrowing;
use crate::scalar::Scalar;

use stream::Inflated;
pub(super) use write::{write, write_stream};

/// Reads a matrix saved by scipy.
pub(super) fn read<T: Scalar>(
    opened: Opened<'_>,
    options: &ReadOptions,
) -> Result<(Csr<T>, Info), ReadError> {
    let gzip = opened.gzip;
    match opened.bytes {
        Bytes::File(file) => read_members(&InFile { file }, options, gzip),
        Bytes::Stream(stream) => read_members(&Inflated::read(stream)?, options, gzip),
    }
}

/// The arrays of an archive, which several threads read.
trait Members: Sync {
    /// Whether there is an array of this name.
    fn has(&self, name: &'static str) -> Result<bool, ReadError>;

    /// Reads an array.
    fn with<U>(
        &self,
        name: &'static str,
        read: impl FnOnce(NpyArray<&mut dyn Read>) -> Result<U, ReadError>,
    ) -> Result<U, ReadError>;
}

/// An archive in a file: each thread reads it through its own reader.
struct InFile {
    file: PlainFile,
}

impl InFile {
    fn archive(&self) -> Result<ZipArchive<impl Read + Seek>, ReadError> {
        ZipArchive::new(self.file.reader()).map_err(|e| ReadError::Zip { reason: e.to_string() })
    }
}

impl Members for InFile {
    fn has(&self, name: &'static str) -> Result<bool, ReadError> {
        Ok(self.archive()?.index_for_name(&format!("{name}.npy")).is_some())
    }

    fn with<U>(
        &self,
        name: &'static str,
        read: impl FnOnce(NpyArray<&mut dyn Read>) -> Result<U, ReadError>,
    ) -> Result<U, ReadError> {
        let mut archive = self.archive()?;
        let mut file = match archive.by_name(&format!("{name}.npy")) {
            Ok(file) => file,
            Err(ZipError::FileNotFound) => return Err(missing(name)),
            Err(e) => return Err(ReadError::Npz { array: name, reason: e.to_string() }),
        };
        let declared = file.size();
        let array = NpyArray::open(Origin::Archive(name), &mut file as &mut dyn Read)?;
        array.check_declared(Some(declared))?;
        read(array)
    }
}

fn missing(array: &'static str) -> ReadError {
    let reason = "it is missing; was this saved by scipy.sparse.save_npz?".into();
    ReadError::Npz { array, reason }
}

/// What all formats need: the shape, and how to read further arrays.
struct NpzReading<'a, M> {
    members: &'a M,
    options: &'a ReadOptions,
    nrows: usize,
    ncols: usize,
}

fn read_members<T: Scalar, M: Members>(
    members: &M,
    options: &ReadOptions,
    gzip: bool,
) -> Result<(Csr<T>, Info), ReadError> {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
    let format = members.with("format", |array| array.string())?;
    let shape = members.with("shape", |shape| {
        shape.expect_len(2, "a matrix")?;
        shape.integers::<u64>(MAX_DIM as u64)
    })?;
    let (nrows, ncols) = (shape[0] as usize, shape[1] as usize);
    let (element, stored_entries) =
        members.with("data", |data| Ok((data.header.element, data.claimed()?)))?;
    let (field, dtype) = match element {
        Element::Float(2) => (Field::Real, Some(DType::F16)),
        Element::Float(4) => (Field::Real, Some(DType::F32)),
        Element::Float(8) => (Field::Real, Some(DType::F64)),
        Element::Complex(8) => (Field::Complex, Some(DType::C32)),
        Element::Complex(_) => (Field::Complex, Some(DType::C64)),
        Element::Bool => (Field::Pattern, None),
        _ => (Field::Integer, None),
    };
    // The archive shows an offset for every row of csr alone.
    if &*format != "csr" && !options.allows(nrows as u64, stored_entries) {
        return Err(ReadError::Hypersparse { nrows: nrows as u64, entries: stored_entries });
    }
    let this = NpzReading { members, options, nrows, ncols };
    let (matrix, narrowing) = match &*format {
        "csr" => this.csr()?,
        "csc" => this.csc()?,
        "coo" => this.coo(members.has("coords")?)?,
        "bsr" => this.bsr()?,
        other => {
            return Err(ReadError::Npz {
                array: "format",
                reason: format!("a matrix in {other:?} cannot be read; save A.tocsr()"),
            });
        }
    };
    let (kind, symmetry) = (FileKind::Npz, Symmetry::General);
    Ok((matrix, Info { kind, field, symmetry, stored_entries, dtype, gzip, narrowing }))
}

impl<M: Members> NpzReading<'_, M> {
    /// An array of indices below `limit`, one for each of `len` entries.
    fn indices(&self, name: &'static str, len: u64, limit: usize) -> Result<Vec<u32>, ReadError> {
        self.members.with(name, |array| {
            array.expect_len(len, "data.npy")?;
            match limit.checked_sub(1) {
                Some(last) => array.integers(last as u64),
                None if len == 0 => Ok(Vec::new()),
                None => Err(array.fault("it has elements, but the matrix has no place for any")),
            }
        })
    }

    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is of one lifetime")]
    fn values<T: Scalar>(&self) -> Result<(Vec<T>, Narrowing), ReadError> {
        self.members.with("data", |array| array.values())
    }

    fn offsets(&self, lists: usize, end: u64) -> Result<Vec<u64>, ReadError> {
        let ptr = self.members.with("indptr", |array| {
            array.expect_len(lists as u64 + 1, "the shape")?;
            array.integers::<u64>(end)
        })?;
        check_offsets("indptr", &ptr, lists, usize::try_from(end).unwrap_or(usize::MAX))?;
        Ok(ptr)
    }

    fn entries(&self) -> Result<u64, ReadError> {
        self.members.with("data", |data| data.len())
    }

    fn csr<T: Scalar>(&self) -> Result<(Csr<T>, Narrowing), ReadError> {
        let nnz = self.entries()?;
        let row_ptr = self.offsets(self.nrows, nnz)?;
        let (cols, values) =
            girih_parallel::join(|| self.indices("indices", nnz, self.ncols), || self.values());
        let (cols, (values, narrowing)) = (cols?, values?);
        let rows = from_rows(self.nrows, self.ncols, row_ptr, cols, values, self.options)?;
        Ok(with_sums(rows, narrowing))
    }

    fn csc<T: Scalar>(&self) -> Result<(Csr<T>, Narrowing), ReadError> {
        let nnz = self.entries()?;
        let col_ptr = self.offsets(self.ncols, nnz)?;
        let (rows, values) =
            girih_parallel::join(|| self.indices("indices", nnz, self.nrows), || self.values());
        let (rows, (values, narrowing), cols) = (rows?, values?, expand(&col_ptr));
        drop(col_ptr);
        let coo = Coo::try_new(self.nrows, self.ncols, rows, cols, values)?;
        Ok(with_sums(assemble(coo, self.options)?, narrowing))
    }

    fn coo<T: Scalar>(&self, has_coords: bool) -> Result<(Csr<T>, Narrowing), ReadError> {
        if has_coords {
            return Err(ReadError::Npz {
                array: "coords",
                reason: "only matrices of two dimensions can be read".into(),
            });
        }
        let nnz = self.entries()?;
        let ((rows, cols), values) = girih_parallel::join(
            || {
                girih_parallel::join(
                    || self.indices("row", nnz, self.nrows),
                    || self.indices("col", nnz, self.ncols),
                )
            },
            || self.values(),
        );
        let (values, narrowing) = values?;
        let coo = Coo::try_new(self.nrows, self.ncols, rows?, cols?, values)?;
        Ok(with_sums(assemble(coo, self.options)?, narrowing))
    }

    fn bsr<T: Scalar>(&self) -> Result<(Csr<T>, Narrowing), ReadError> {
        let (m, n) = (self.nrows as u64, self.ncols as u64);
        let [n_blocks, r, c] = self.members.with("data", |data| {
            let [n_blocks, r, c] = data.header.shape[..] else {
                return Err(data.fault("a bsr matrix needs three dimensions"));
            };
            if data.header.fortran_order {
                return Err(data.fault("blocks in Fortran order cannot be read; save A.tocsr()"));
            }
            if r == 0 || c == 0 || !m.is_multiple_of(r) || !n.is_multiple_of(c) {
                return Err(data.fault(format!("blocks of {r} × {c} do not tile the matrix")));
            }
            Ok([n_blocks, r, c])
        })?;
        let (r, c) = (r as usize, c as usize);
        let block_ptr = self.offsets(self.nrows / r, n_blocks)?;
        let (blocks, values) = girih_parallel::join(
            || self.indices("indices", n_blocks, self.ncols / c),
            || self.values::<T>(),
        );
        let (blocks, (values, narrowing)) = (blocks?, values?);
        let mut col_idx: Vec<u32> = bytemuck::zeroed_vec(values.len());
        let mut by_row: Vec<T> = bytemuck::zeroed_vec(values.len());
        let mut row_ptr = Vec::with_capacity(self.nrows + 1);
        row_ptr.push(0);
        let (mut cols_left, mut values_left) = (&mut col_idx[..], &mut by_row[..]);
        let mut tasks = Vec::with_capacity(block_ptr.len());
        for w in block_ptr.windows(2) {
            let (first, last) = (w[0] as usize, w[1] as usize);
            let row_len = (last - first) * c;
            for _ in 0..r {
                row_ptr.push(row_ptr.last().map_or(0, |p| p + row_len as u64));
            }
            let cols = cols_left.split_off_mut(..row_len * r).unwrap_or_default();
            let out = values_left.split_off_mut(..row_len * r).unwrap_or_default();
            tasks.push((&blocks[first..last], &values[first * r * c..last * r * c], cols, out));
        }
        tasks.into_par_iter().for_each(|(blocks, values, cols, out)| {
            let row_len = blocks.len() * c;
            for (b, (&block, values)) in blocks.iter().zip(values.chunks_exact(r * c)).enumerate() {
                for (i, row) in values.chunks_exact(c).enumerate() {
                    let at = i * row_len + b * c;
                    out[at..at + c].copy_from_slice(row);
                    for (to, j) in cols[at..at + c].iter_mut().zip(block * c as u32..) {
                        *to = j;
                    }
                }
            }
        });
        drop((blocks, values));
        let rows = from_rows(self.nrows, self.ncols, row_ptr, col_idx, by_row, self.options)?;
        Ok(with_sums(rows, narrowing))
    }
}
