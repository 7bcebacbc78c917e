//! Matrices of nalgebra and faer as dense operands, where they lie.
//!
//! Both give an address, a shape and strides in elements, which is all that a view is. Nothing is copied here.
//! Their own matrices are column-major; backends say what they do for such operands.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra")]
mod nalgebra;

#[cfg(feature = "faer")]
pub use faer::view_faer;
#[cfg(feature = "nalgebra")]
pub use nalgebra::view_nalgebra;

use ndarray::{ArrayView2, ArrayViewMut2, Axis, ShapeBuilder};

/// Where a matrix lies: the address of element (0, 0), rows and columns, and the elements from one row, and
/// from one column, to the next.
struct Place<P> {
    ptr: P,
    dim: (usize, usize),
    strides: (isize, isize),
}

impl<P> Place<P> {
    /// The offset from element (0, 0) to the one at the lowest address, and strides without signs; those of an
    /// axis with fewer than two elements do not count.
    fn lowest(&self) -> (isize, (usize, usize)) {
        let axis = |len: usize, stride: isize| match len {
            0 | 1 => (0, 0),
            _ => (if stride < 0 { (len as isize - 1) * stride } else { 0 }, stride.unsigned_abs()),
        };
        let (down, rows) = axis(self.dim.0, self.strides.0);
        let (left, cols) = axis(self.dim.1, self.strides.1);
        match self.dim {
            (0, _) | (_, 0) => (0, (rows, cols)),
            _ => (down + left, (rows, cols)),
        }
    }

    /// The axes that run towards lower addresses, which a view turns around.
    fn turned(&self) -> impl Iterator<Item = Axis> + use<P> {
        let ((rows, cols), (down, right)) = (self.dim, self.strides);
        let turned = [(Axis(0), rows > 1 && down < 0), (Axis(1), cols > 1 && right < 0)];
        turned.into_iter().filter_map(|(axis, turned)| turned.then_some(axis))
    }
}

/// A view of the elements.
///
/// # Safety
/// Every element must be there, initialized, and not be written as long as the view lives.
unsafe fn view<'a, T>(place: &Place<*const T>) -> ArrayView2<'a, T> {
    let (offset, strides) = place.lowest();
    let ptr = place.ptr.wrapping_offset(offset);
    // SAFETY: the lowest element lies `offset` from the first one, and with strides of that sign every
    // element lies within what the caller vouches for. nalgebra and faer hold no more than `isize::MAX` bytes.
    let mut view = unsafe { ArrayView2::from_shape_ptr(place.dim.strides(strides), ptr) };
    place.turned().for_each(|axis| view.invert_axis(axis));
    view
}

/// A view of the elements, to be written.
///
/// # Safety
/// As [`view`]; and no two elements may lie at one place, nor be reached otherwise as long as the view lives.
unsafe fn view_mut<'a, T>(place: &Place<*mut T>) -> ArrayViewMut2<'a, T> {
    let (offset, strides) = place.lowest();
    let ptr = place.ptr.wrapping_offset(offset);
    // SAFETY: as in `view`, and the elements are the caller's alone.
    let mut view = unsafe { ArrayViewMut2::from_shape_ptr(place.dim.strides(strides), ptr) };
    place.turned().for_each(|axis| view.invert_axis(axis));
    view
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn seen(
        values: &[i32; 6],
        first: usize,
        dim: (usize, usize),
        strides: (isize, isize),
    ) -> ndarray::Array2<i32> {
        let place = Place { ptr: &raw const values[first], dim, strides };
        // SAFETY: the tests below stay within `values`.
        unsafe { view(&place) }.to_owned()
    }

    #[test]
    fn strides_of_both_signs_reach_the_same_elements() {
        let values = [1, 2, 3, 4, 5, 6];
        assert_eq!(seen(&values, 0, (2, 3), (1, 2)), array![[1, 3, 5], [2, 4, 6]]);
        assert_eq!(seen(&values, 1, (2, 3), (-1, 2)), array![[2, 4, 6], [1, 3, 5]]);
        assert_eq!(seen(&values, 5, (2, 3), (-1, -2)), array![[6, 4, 2], [5, 3, 1]]);
        assert_eq!(seen(&values, 4, (3, 1), (-2, 7)), array![[5], [3], [1]]);
        assert_eq!(seen(&values, 2, (2, 2), (0, 1)), array![[3, 4], [3, 4]]);
        assert_eq!(seen(&values, 0, (0, 3), (-1, -2)).dim(), (0, 3));
    }

    #[test]
    fn what_is_written_lies_where_it_is_read() {
        let mut values = [0; 6];
        let place = Place { ptr: &raw mut values[5], dim: (2, 3), strides: (-3, -1) };
        // SAFETY: six elements, each once.
        unsafe { view_mut(&place) }.assign(&array![[1, 2, 3], [4, 5, 6]]);
        assert_eq!(values, [6, 5, 4, 3, 2, 1]);
    }
}
