//! Operands in emulated memory.

use girih_formats::Scalar;
use ndarray::{ArrayView2, ArrayViewMut2};
use ptx_emu::{Buffer, Gpu};

use super::Failure;
use crate::operand::Place;

/// How operands are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placing {
    /// With the strides and the alignment of the view, as a user's own device memory may be; a view that
    /// no device operand can be like is placed as below.
    AsGiven,
    /// Row-major, rows on 16 bytes unless they are shorter: as operands on the host are sent.
    AsSent,
}

/// Elements of an operand that is allocated with the gaps between its elements.
const MOST: usize = 1 << 22;

/// A matrix in an allocation of its own.
pub(crate) struct Placed<T> {
    pub(crate) place: Place,
    buffer: Buffer<T>,
    /// The first element, in elements.
    offset: usize,
}

impl<T: Scalar> Placed<T> {
    /// Allocates memory for a view's elements and, if they are `read`, writes them; what is between them,
    /// or after them in a row, is NaN then, and uninitialized otherwise.
    pub(crate) fn new(
        gpu: &mut Gpu,
        name: &str,
        placing: Placing,
        view: &ArrayView2<'_, T>,
        read: bool,
    ) -> Self {
        let (rows, cols) = view.dim();
        let (offset, row_stride, col_stride) = match (placing, as_given(view)) {
            (Placing::AsGiven, Some(strides)) => strides,
            _ => {
                let sent = Place::row_major(0, (rows, cols), size_of::<T>());
                (0, sent.row_stride as usize, 1)
            }
        };
        let spare = if placing == Placing::AsSent { row_stride - cols } else { 0 };
        let len = offset + reach(rows, row_stride) + reach(cols, col_stride) + 1 + spare;
        let buffer = gpu.alloc_named(name, len);
        if read {
            let mut elements = vec![all_bits::<T>(); len];
            for ((i, j), &x) in view.indexed_iter() {
                elements[offset + i * row_stride + j * col_stride] = x;
            }
            gpu.write(buffer, &elements);
        }
        let place = Place {
            address: buffer.address() + (offset * size_of::<T>()) as u64,
            rows,
            cols,
            row_stride: row_stride as u64,
            col_stride: col_stride as u64,
            spare: spare as u64,
        };
        Self { place, buffer, offset }
    }

    /// Reads the elements back.
    ///
    /// # Errors
    /// If something was written between them.
    pub(crate) fn fetch(self, gpu: &Gpu, mut to: ArrayViewMut2<'_, T>) -> Result<(), Failure> {
        let mut elements = gpu.read(self.buffer);
        for ((i, j), x) in to.indexed_iter_mut() {
            let at = i * self.place.row_stride as usize + j * self.place.col_stride as usize;
            let at = &mut elements[self.offset + at];
            *x = std::mem::replace(at, all_bits());
        }
        let is_untouched = |x: &T| bytemuck::bytes_of(x).iter().all(|&byte| byte == 0xff);
        match elements.iter().position(|x| !is_untouched(x)) {
            None => Ok(()),
            Some(at) => Err(Failure::Stray(at)),
        }
    }
}

/// The view's offset from 16 bytes and its strides, if they can be a device operand's.
fn as_given<T>(view: &ArrayView2<'_, T>) -> Option<(usize, usize, usize)> {
    let (rows, cols) = view.dim();
    let stride = |stride: isize| usize::try_from(stride).ok();
    let (row_stride, col_stride) = (stride(view.strides()[0])?, stride(view.strides()[1])?);
    let offset = view.as_ptr() as usize % 16 / size_of::<T>();
    let within = |reach: usize| reach <= MOST;
    (within(reach(rows, row_stride)) && within(reach(cols, col_stride)))
        .then_some((offset, row_stride, col_stride))
}

fn reach(n: usize, stride: usize) -> usize {
    n.saturating_sub(1).saturating_mul(stride)
}

/// A NaN that no kernel makes.
fn all_bits<T: Scalar>() -> T {
    bytemuck::pod_read_unaligned(&[0xff; 16][..size_of::<T>()])
}
