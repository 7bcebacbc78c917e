//! Value types, as the suite's generic code needs them.

use girih_backend::DenseScalar;
use girih_formats::{AnyTiling, Tiling};
use half::{bf16, f16};

/// A value type whose tilings and dense views can be erased: all four.
pub trait Element: DenseScalar {
    /// The tiling, its value type erased.
    fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling;
}

macro_rules! element {
    ($($t:ty),*) => {$(
        impl Element for $t {
            fn erase_tiling(tiling: Tiling<Self>) -> AnyTiling {
                tiling.into()
            }
        }
    )*};
}

element!(f16, bf16, f32, f64);
