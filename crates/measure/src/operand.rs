//! Dense operands, which begin on a cache line where they are made here.

use girih::formats::{Buffer, Complex, Scalar};
use girih_generate::SplitMix64;
use girih_parallel::prelude::*;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Ix2, ShapeBuilder, StrideShape};

use crate::MeasureError;

/// Operands begin at a multiple of this number of bytes: a cache line, and the widest vector. An allocator leaves
/// that to chance, and without it a product takes up to half as long again.
const ALIGNMENT: usize = 64;

/// A dense matrix. What is made here is row-major and begins on a cache line.
#[derive(Clone, Debug)]
pub struct Operand<T: Scalar> {
    values: Buffer<T>,
    /// Elements before the first.
    skip: usize,
    dim: (usize, usize),
    col_major: bool,
}

impl<T: Scalar> Operand<T> {
    /// An operand of zeros.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn zeros(what: &str, dim: (usize, usize)) -> Result<Self, MeasureError> {
        let refused = || {
            let bytes = dim.0 as f64 * dim.1 as f64 * size_of::<T>() as f64;
            MeasureError::Operand { what: what.to_owned(), dim, bytes: bytes as u64 }
        };
        let spare = ALIGNMENT / size_of::<T>();
        // A dimension counts even beside one of 0: ndarray's strides must not overflow either.
        let bytes =
            dim.0.max(1).checked_mul(dim.1.max(1)).and_then(|n| n.checked_mul(size_of::<T>()));
        bytes.and_then(|bytes| isize::try_from(bytes).ok()).ok_or_else(refused)?;
        let len = dim.0 * dim.1 + spare;
        let values = Buffer::<T>::zeroed(len).map_err(|_| refused())?;
        let address = values.as_ptr().addr();
        let skip = (address.next_multiple_of(ALIGNMENT) - address) / size_of::<T>();
        Ok(Self { values, skip, dim, col_major: false })
    }

    /// An operand of seeded values, uniform in [-1, 1) before they are rounded; so are both parts of complex ones.
    ///
    /// # Errors
    /// As for [`zeros`](Self::zeros).
    pub fn random(what: &str, dim: (usize, usize), seed: u64) -> Result<Self, MeasureError> {
        let mut operand = Self::zeros(what, dim)?;
        fill_random(operand.as_mut_slice(), dim.1, seed);
        Ok(operand)
    }

    /// Makes every element `value`.
    pub fn fill(&mut self, value: T) {
        self.as_mut_slice().par_chunks_mut(1 << 16).for_each(|chunk| chunk.fill(value));
    }

    fn len(&self) -> usize {
        self.dim.0 * self.dim.1
    }

    /// The elements as they lie in memory.
    pub fn as_slice(&self) -> &[T] {
        &self.values[self.skip..self.skip + self.len()]
    }

    fn as_mut_slice(&mut self) -> &mut [T] {
        let (skip, len) = (self.skip, self.len());
        // The only owner, so nothing is copied and the address stays.
        &mut self.values.make_mut()[skip..skip + len]
    }

    fn shape(&self) -> StrideShape<Ix2> {
        self.dim.set_f(self.col_major).into()
    }

    /// The operand, borrowed.
    pub fn view(&self) -> ArrayView2<'_, T> {
        ArrayView2::from_shape(self.shape(), self.as_slice())
            .unwrap_or_else(|_| unreachable!("the slice was cut to this shape"))
    }

    /// The operand, borrowed to be written.
    pub fn view_mut(&mut self) -> ArrayViewMut2<'_, T> {
        let shape = self.shape();
        ArrayViewMut2::from_shape(shape, self.as_mut_slice())
            .unwrap_or_else(|_| unreachable!("the slice was cut to this shape"))
    }

    /// The same matrix, row-major.
    pub fn into_row_major(self) -> Self {
        match self.col_major {
            true => self.view().as_standard_layout().into_owned().into(),
            false => self,
        }
    }
}

/// Nothing is copied, nor moved to a cache line, if it is row-major or column-major.
impl<T: Scalar> From<Array2<T>> for Operand<T> {
    fn from(array: Array2<T>) -> Self {
        let col_major = !array.is_standard_layout() && array.t().is_standard_layout();
        let array = match col_major || array.is_standard_layout() {
            true => array,
            false => array.as_standard_layout().into_owned(),
        };
        let dim = array.dim();
        let (values, skip) = array.into_raw_vec_and_offset();
        Self { values: values.into(), skip: skip.unwrap_or(0), dim, col_major }
    }
}

/// Fills rows of `cols` values, each row from a stream of its own.
fn fill_random<T: Scalar>(values: &mut [T], cols: usize, seed: u64) {
    // Without columns there are no values either.
    values.par_chunks_mut(cols.max(1)).enumerate().for_each(|(row, values)| {
        let mut random = SplitMix64::new(seed, row as u64);
        let mut number = || 2.0 * random.unit() - 1.0;
        values.fill_with(|| {
            let re = number();
            T::from_c64(Complex::new(re, if T::DTYPE.is_complex() { number() } else { 0.0 }))
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    #[test]
    fn operands_begin_on_a_cache_line() {
        fn check<T: Scalar>(dim: (usize, usize)) {
            let mut b = Operand::<T>::random("B", dim, 1).unwrap();
            assert_eq!(b.view().dim(), dim);
            assert_eq!(b.view().as_ptr().addr() % ALIGNMENT, 0);
            assert_eq!(b.view_mut().as_ptr(), b.view().as_ptr());
            assert!(b.view().iter().any(|x| !x.is_zero()) || b.len() == 0);
            b.fill(T::ONE);
            assert!(b.view().iter().all(|&x| x == T::ONE));
        }
        for dim in [(0, 3), (3, 5), (1000, 7), (1 << 10, 1 << 10)] {
            check::<bf16>(dim);
            check::<f32>(dim);
            check::<f64>(dim);
        }
    }

    #[test]
    fn arrays_are_taken_in_their_order() {
        let rows = Array2::from_shape_fn((3, 5), |(i, j)| (10 * i + j) as f32);
        let cols = rows.t().as_standard_layout().reversed_axes().into_owned();
        assert!(!cols.is_standard_layout());
        for array in [rows.clone(), cols] {
            let address = array.as_ptr();
            let operand = Operand::from(array);
            assert_eq!(operand.view().as_ptr(), address);
            assert_eq!(operand.view(), rows);
            let row_major = operand.into_row_major();
            assert_eq!((row_major.view(), row_major.as_slice()[1]), (rows.view(), 1.0));
        }
        let strided = Array2::from_shape_fn((4, 6), |(i, j)| (i * j) as f64);
        let strided = strided.slice_move(ndarray::s![..;2, 1..]);
        assert_eq!(Operand::from(strided.clone()).view(), strided);
    }

    #[test]
    fn too_much_memory_is_an_error() {
        for dim in [(usize::MAX, 2), (0, usize::MAX), (1 << 40, 1 << 20), (1 << 31, 1 << 31)] {
            let error = Operand::<f64>::zeros("B", dim).unwrap_err().to_string();
            assert!(error.contains("fewer columns"), "{error}");
        }
    }
}
