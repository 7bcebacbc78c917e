//! A matrix whose value type is known at run time.

use std::any::Any;

use half::{bf16, f16};
use num_complex::Complex;

use super::Csr;
use crate::scalar::Scalar;

/// A borrowed matrix of any value type: how generic code tells the types apart.
///
/// ```
/// use girih_formats::{AnyCsr, Csr};
///
/// let a = Csr::<f32>::identity(2)?;
/// assert!(matches!(AnyCsr::from(&a), AnyCsr::F32(same) if *same == a));
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "each variant is named for the value type it holds")]
pub enum AnyCsr<'a> {
    F16(&'a Csr<f16>),
    Bf16(&'a Csr<bf16>),
    F32(&'a Csr<f32>),
    F64(&'a Csr<f64>),
    C32(&'a Csr<Complex<f32>>),
    C64(&'a Csr<Complex<f64>>),
}

impl<'a, T: Scalar> From<&'a Csr<T>> for AnyCsr<'a> {
    fn from(a: &'a Csr<T>) -> Self {
        let any: &dyn Any = a;
        let found = any.downcast_ref().map(Self::F16);
        let found = found.or_else(|| any.downcast_ref().map(Self::Bf16));
        let found = found.or_else(|| any.downcast_ref().map(Self::F32));
        let found = found.or_else(|| any.downcast_ref().map(Self::F64));
        let found = found.or_else(|| any.downcast_ref().map(Self::C32));
        let Some(found) = found.or_else(|| any.downcast_ref().map(Self::C64)) else {
            unreachable!("there are six value types");
        };
        found
    }
}
