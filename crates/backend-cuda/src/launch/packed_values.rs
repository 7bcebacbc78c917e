//! What becomes of values where they are packed.

use girih_formats::DType;

/// How elements of values are rounded when they are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PackedValues {
    /// Not at all.
    #[default]
    Exact,
    /// f32 to TF32's 11 bits, to the nearest, ties away from zero.
    Tf32,
}

impl PackedValues {
    /// For tensor cores.
    pub(crate) fn for_tensor_cores(dtype: DType) -> Self {
        if dtype == DType::F32 { Self::Tf32 } else { Self::Exact }
    }
}
