//! B as the kernels of a panel read it: in its own type, or widened before.

use girih_formats::Scalar;
use girih_simd::Input;

/// A panel of B.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BPanel<T: Scalar> {
    /// Values as they were given; kernels widen what they load.
    Given(Input<T>),
    /// Values in the accumulation type, for the kernels of that type.
    Widened(Input<T::Acc>),
}

impl<T: Scalar> BPanel<T> {
    /// The same from `cols` columns later on.
    pub(crate) fn at_col(self, cols: usize) -> Self {
        match self {
            Self::Given(b) => Self::Given(b.at_col(cols)),
            Self::Widened(b) => Self::Widened(b.at_col(cols)),
        }
    }

    /// B as it was given; `None` if it was widened.
    pub(crate) fn given(self) -> Option<Input<T>> {
        match self {
            Self::Given(b) => Some(b),
            Self::Widened(_) => None,
        }
    }
}
