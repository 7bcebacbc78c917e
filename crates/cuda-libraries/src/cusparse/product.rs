//! A matrix that cuSPARSE multiplies.

use std::sync::{Arc, Mutex};

use girih_backend_cuda::cudarc::driver::CudaStream;
use girih_backend_cuda::low_level::{DeviceMemory, DeviceProduct, Gpu, Operands, Place};
use girih_backend_cuda::{CudaError, OperandRows};
use girih_formats::{Complex, DType};

use super::arrays::SparseArrays;
use crate::library::{Algorithm, Cusparse, DenseMatrix, Handle, Scale, SparseMatrix, Spmm};
use crate::lock;

/// The buffer is sized for as many columns, or for those that the plan expects; wider products are
/// computed that number of columns at a time.
const PANEL: u64 = 512;

/// Shapes of products whose buffers were found to suffice.
const REMEMBERED: usize = 64;

/// How a matrix is multiplied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) algorithm: Algorithm,
    pub(super) preprocess: bool,
    /// Columns that are expected.
    pub(super) n: usize,
}

/// A matrix on the device, with the library's descriptions of it.
#[derive(Debug)]
pub(super) struct CusparseProduct {
    handle: Arc<Mutex<Handle>>,
    /// `None` if there is nothing to multiply: the library does not describe all such matrices.
    a: Option<SparseMatrix>,
    /// The same, analysed, for products as wide as expected.
    analysed: Option<SparseMatrix>,
    /// As large as A and without entries, for what is scaled and not multiplied.
    none: SparseMatrix,
    dtype: DType,
    algorithm: Algorithm,
    /// Columns that are expected, and columns at a time.
    n: u64,
    panel: u64,
    arena: DeviceMemory,
    buffers: Mutex<Buffers>,
}

/// The library's workspace.
#[derive(Debug)]
struct Buffers {
    plain: DeviceMemory,
    /// That of the analysed matrix, which must keep what the analysis wrote.
    analysed: DeviceMemory,
    suffices: Vec<Shape>,
}

/// What the size of a buffer may depend on: whether anything is multiplied, columns, and whether B and
/// C are row-major.
type Shape = (bool, u64, bool, bool);

impl CusparseProduct {
    /// Uploads the matrix, allocates the buffers, and has A analysed if that is wanted.
    pub(super) fn new(
        gpu: &Gpu,
        library: &Arc<Cusparse>,
        handle: Arc<Mutex<Handle>>,
        arrays: &SparseArrays,
        settings: Settings,
    ) -> Result<Self, CudaError> {
        let Settings { algorithm, preprocess, n } = settings;
        gpu.bind()?;
        let bytes: Vec<_> = arrays.parts.iter().map(|part| part.bytes()).collect();
        let (arena, parts) = gpu.upload(&bytes)?;
        let dtype = arrays.dtype;
        let describe = |sparse| SparseMatrix::new(library.clone(), sparse, dtype);
        let buffer = |bytes: usize| gpu.memory(bytes as u64, "the library's buffers");
        let n = n.max(1) as u64;
        let mut this = Self {
            handle,
            a: (!arrays.is_empty).then(|| describe(arrays.placed(&parts))).transpose()?,
            analysed: None,
            none: describe(arrays.without_entries(&parts))?,
            dtype: arrays.dtype,
            algorithm,
            n,
            panel: n.max(PANEL),
            arena,
            buffers: Mutex::new(Buffers {
                plain: buffer(0)?,
                analysed: buffer(0)?,
                suffices: Vec::new(),
            }),
        };
        // Operands are only described here: any address does.
        let operand = |rows: usize, cols: u64, dtype| DenseMatrix {
            address: parts[0],
            rows: rows.max(1) as u64,
            cols,
            leading: cols,
            row_major: true,
            dtype,
        };
        let OperandRows { b, c } = arrays.rows;
        let acc = arrays.dtype.accumulator();
        let operands = |cols| (operand(b, cols, arrays.dtype), operand(c, cols, acc));
        let widths = (0..).map(|i| 1 << i).take_while(|&w| w < this.panel);
        let mut bytes = 0;
        {
            let handle = lock(&this.handle);
            for width in widths.chain([n, this.panel]) {
                for multiplied in [true, false] {
                    let (b, c) = operands(width);
                    let spmm = this.spmm(multiplied, false, b, c, (Complex::ONE, Complex::ZERO));
                    bytes = bytes.max(spmm.buffer_size(&handle)?);
                }
            }
        }
        lock(&this.buffers).plain = buffer(bytes)?;
        if preprocess && !arrays.is_empty {
            this.analysed = Some(describe(arrays.placed(&parts))?);
            let (b, c) = operands(n);
            let spmm = this.spmm(true, true, b, c, (Complex::ONE, Complex::ZERO));
            let handle = lock(&this.handle);
            let memory = buffer(spmm.buffer_size(&handle)?)?;
            // SAFETY: A and the buffer are this plan's own and are waited for below.
            unsafe { spmm.preprocess(&handle, gpu.stream(), memory.address()) }?;
            lock(&this.buffers).analysed = memory;
        }
        gpu.stream().synchronize().map_err(CudaError::driver("finish its work"))?;
        Ok(this)
    }

    fn spmm(
        &self,
        multiplied: bool,
        analysed: bool,
        b: DenseMatrix,
        c: DenseMatrix,
        (alpha, beta): (Complex<f64>, Complex<f64>),
    ) -> Spmm<'_> {
        let acc = self.dtype.accumulator();
        let (alpha, beta) = (Scale::new(alpha, acc), Scale::new(beta, acc));
        let analysed = self.analysed.as_ref().filter(|_| analysed);
        match analysed.or(self.a.as_ref()).filter(|_| multiplied) {
            Some(a) => Spmm { a, b, c, alpha, beta, algorithm: self.algorithm },
            None => Spmm { a: &self.none, b, c, alpha, beta, algorithm: Algorithm::Csr3 },
        }
    }
}

impl DeviceProduct for CusparseProduct {
    fn device_bytes(&self) -> u64 {
        let buffers = lock(&self.buffers);
        self.arena.bytes() + buffers.plain.bytes() + buffers.analysed.bytes()
    }

    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError> {
        stream.context().bind_to_thread().map_err(CudaError::driver("use a device"))?;
        let &Operands { alpha, beta, b, c } = operands;
        let (n, acc) = (b.cols as u64, self.dtype.accumulator());
        let multiplied = self.a.is_some() && !Scale::new(alpha, acc).is_zero();
        let _arena = tracked.then(|| self.arena.read(stream));
        let mut buffers = lock(&self.buffers);
        let handle = lock(&self.handle);
        let mut first = 0;
        while first < n {
            let width = self.panel.min(n - first);
            let b = dense("B", &b, self.dtype, first, width)?;
            let c = dense("C", &c, acc, first, width)?;
            let analysed = self.analysed.is_some()
                && multiplied
                && width == self.n
                && b.row_major
                && c.row_major;
            let spmm = self.spmm(multiplied, analysed, b, c, (alpha, beta));
            if !analysed {
                let shape = (multiplied, width, b.row_major, c.row_major);
                buffers.check(shape, || spmm.buffer_size(&handle))?;
            }
            let memory = if analysed { &mut buffers.analysed } else { &mut buffers.plain };
            let address = memory.address();
            let _memory = tracked.then(|| memory.write(stream));
            // SAFETY: the caller's promise on B and C; A and the buffer are this plan's own, and the
            // buffer is as large as the library asks for.
            unsafe { spmm.enqueue(&handle, stream, address) }?;
            first += width;
        }
        Ok(())
    }
}

impl Buffers {
    /// Whether the buffer suffices for a shape, of which `bytes` asks the library once.
    fn check(
        &mut self,
        shape: Shape,
        bytes: impl FnOnce() -> Result<usize, CudaError>,
    ) -> Result<(), CudaError> {
        if self.suffices.contains(&shape) {
            return Ok(());
        }
        let bytes = bytes()?;
        if bytes as u64 > self.plain.bytes() {
            return Err(CudaError::Library {
                library: "cuSPARSE",
                operation: "multiply",
                reason: format!(
                    "it asks for a buffer of {bytes} bytes for {} columns, and the plan was prepared \
                     with {}",
                    shape.1,
                    self.plain.bytes()
                ),
                unsupported: true,
            });
        }
        if self.suffices.len() == REMEMBERED {
            self.suffices.remove(0);
        }
        self.suffices.push(shape);
        Ok(())
    }
}

/// Some columns of an operand as the library has them.
fn dense(
    operand: &'static str,
    place: &Place,
    dtype: DType,
    first: u64,
    width: u64,
) -> Result<DenseMatrix, CudaError> {
    let &Place { address, rows, row_stride, col_stride, .. } = place;
    let address = address + first * col_stride * dtype.size() as u64;
    // Without rows nothing is read, and the library gets the one that A without entries has.
    let rows = rows.max(1) as u64;
    // Of a single row or column, the stride between such is anything.
    let by_rows = (col_stride == 1 || width == 1) && (row_stride >= width || rows <= 1);
    let by_cols = (row_stride == 1 || rows <= 1) && (col_stride >= rows || width == 1);
    let (row_major, leading) = if by_rows {
        (true, row_stride.max(width))
    } else if by_cols {
        (false, col_stride.max(rows))
    } else {
        let reason = format!(
            "cuSPARSE takes contiguous rows or columns, but the strides are {row_stride} and {col_stride}"
        );
        return Err(CudaError::Operand { operand, reason });
    };
    Ok(DenseMatrix { address, rows, cols: width, leading, row_major, dtype })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(rows: usize, cols: usize, row_stride: u64, col_stride: u64) -> Place {
        Place { address: 4096, rows, cols, row_stride, col_stride, spare: 0 }
    }

    #[test]
    fn rows_or_columns_are_contiguous() {
        let of = |place: Place, first, width| {
            dense("B", &place, DType::F32, first, width)
                .map(|d| (d.address, d.leading, d.row_major))
        };
        assert_eq!(of(place(5, 8, 12, 1), 0, 8).unwrap(), (4096, 12, true));
        assert_eq!(of(place(5, 8, 12, 1), 3, 4).unwrap(), (4096 + 12, 12, true));
        assert_eq!(of(place(5, 8, 1, 6), 2, 4).unwrap(), (4096 + 4 * 12, 6, false));
        assert_eq!(of(place(5, 1, 3, 7), 0, 1).unwrap(), (4096, 3, true));
        assert_eq!(of(place(1, 8, 0, 1), 0, 8).unwrap(), (4096, 8, true));
        let error = of(place(5, 8, 17, 2), 0, 8).unwrap_err().to_string();
        assert!(error.contains("17 and 2"), "{error}");
    }
}
