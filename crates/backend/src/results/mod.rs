//! Memory for products that are returned.

#[expect(unsafe_code, reason = "the system is called")]
mod huge_pages;

use girih_formats::Scalar;
use ndarray::{Array, Dimension, ShapeBuilder};

use crate::BackendError;

/// Zeros that a product is to be written to.
///
/// Allocators take tens of megabytes from the system anew each time. The system zeroes them page by page, as they are
/// first written. That takes longer than the product where rows of A are short. So the system is advised to give such
/// memory huge pages, as NumPy does.
///
/// ```
/// let c = girih_backend::zeros::<f32, _>("C", (2, 3))?;
/// assert_eq!((c.dim(), c.sum()), ((2, 3), 0.0));
/// let too_large = girih_backend::zeros::<f32, _>("C", (usize::MAX, 3)).unwrap_err().to_string();
/// assert!(too_large.starts_with("there is no memory for C"));
/// # Ok::<(), girih_backend::BackendError>(())
/// ```
///
/// # Errors
/// [`BackendError::OutOfMemory`] with `operand` as its name, if the system refuses it.
///
/// # Complexity
/// O(bytes) below some tens of megabytes. Above, the system zeroes pages when they are written.
pub fn zeros<T: Scalar, Sh: ShapeBuilder>(
    operand: &'static str,
    shape: Sh,
) -> Result<Array<T, Sh::Dim>, BackendError> {
    let shape = shape.into_shape_with_order();
    let dim = shape.raw_dim().slice();
    let bytes = dim.iter().map(|&len| len as f64).product::<f64>() * size_of::<T>() as f64;
    let refused = || BackendError::OutOfMemory { operand, bytes: bytes as u128 };
    // A dimension counts even beside one of 0: ndarray's strides must not overflow either.
    let most = dim.iter().try_fold(size_of::<T>(), |most, &len| most.checked_mul(len.max(1)));
    most.filter(|&most| isize::try_from(most).is_ok()).ok_or_else(refused)?;
    let mut zeros: Vec<T> =
        bytemuck::allocation::try_zeroed_vec(shape.size()).map_err(|()| refused())?;
    huge_pages::advise(&mut zeros);
    Ok(Array::from_shape_vec(shape, zeros)
        .unwrap_or_else(|_| unreachable!("as many as the shape has")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_any_size_are_zero_and_lie_as_they_should() {
        // The last has huge pages in it.
        for (m, n) in [(0, 3), (3, 0), (1, 1), (7, 5), (5_000_001, 2)] {
            let c = zeros::<f32, _>("C", (m, n)).unwrap();
            assert_eq!(c.dim(), (m, n));
            assert!(c.is_standard_layout() && c.iter().all(|&x| x == 0.0));
        }
        let c = zeros::<f64, _>("C", (4, 3).f()).unwrap();
        assert_eq!(c.strides(), [1, 4]);
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        for dim in [(1 << 40, 1 << 20), (usize::MAX, 2), (usize::MAX, 0)] {
            let error = zeros::<f64, _>("C", dim).unwrap_err();
            assert!(matches!(error, BackendError::OutOfMemory { operand: "C", .. }), "{error}");
        }
    }
}
