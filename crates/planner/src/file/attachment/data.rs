//! Elements of attached arrays.

use bytemuck::{Pod, cast_slice};
use girih_formats::{Buffer, Complex};
use half::{bf16, f16};

use crate::file::section::Element;

/// An attached array, of any of the elements that plan files know.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is named for its element")]
pub enum AttachedData {
    U8(Buffer<u8>),
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
    F16(Buffer<f16>),
    Bf16(Buffer<bf16>),
    F32(Buffer<f32>),
    F64(Buffer<f64>),
    C32(Buffer<Complex<f32>>),
    C64(Buffer<Complex<f64>>),
}

/// Evaluates an expression on the buffer inside of an [`AttachedData`].
macro_rules! for_data {
    ($data:expr, $buffer:ident => $body:expr) => {
        match $data {
            AttachedData::U8($buffer) => $body,
            AttachedData::U16($buffer) => $body,
            AttachedData::U32($buffer) => $body,
            AttachedData::U64($buffer) => $body,
            AttachedData::F16($buffer) => $body,
            AttachedData::Bf16($buffer) => $body,
            AttachedData::F32($buffer) => $body,
            AttachedData::F64($buffer) => $body,
            AttachedData::C32($buffer) => $body,
            AttachedData::C64($buffer) => $body,
        }
    };
}

/// Types that attached arrays are made of; no others can be.
pub trait AttachedElement: Pod + sealed::Sealed {
    /// The array, if this is what it is made of.
    fn of(data: &AttachedData) -> Option<&Buffer<Self>>;

    /// The array as one of those that can be attached: without a copy.
    fn data(array: Buffer<Self>) -> AttachedData;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($variant:ident: $t:ty),+) => {$(
        impl sealed::Sealed for $t {}

        impl AttachedElement for $t {
            fn of(data: &AttachedData) -> Option<&Buffer<Self>> {
                match data {
                    AttachedData::$variant(buffer) => Some(buffer),
                    _ => None,
                }
            }

            fn data(array: Buffer<Self>) -> AttachedData {
                array.into()
            }
        }

        impl From<Buffer<$t>> for AttachedData {
            fn from(buffer: Buffer<$t>) -> Self {
                Self::$variant(buffer)
            }
        }

        impl From<Vec<$t>> for AttachedData {
            fn from(array: Vec<$t>) -> Self {
                Self::$variant(array.into())
            }
        }
    )+};
}

elements!(
    U8: u8,
    U16: u16,
    U32: u32,
    U64: u64,
    F16: f16,
    Bf16: bf16,
    F32: f32,
    F64: f64,
    C32: Complex<f32>,
    C64: Complex<f64>
);

impl AttachedData {
    /// The name of the element: `u8`, `f32`.
    #[must_use]
    pub fn element(&self) -> &'static str {
        self.code().name()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        for_data!(self, buffer => buffer.len())
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as bytes, little-endian.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        for_data!(self, buffer => cast_slice(buffer.as_slice()))
    }

    pub(super) fn code(&self) -> Element {
        match self {
            Self::U8(_) => Element::U8,
            Self::U16(_) => Element::U16,
            Self::U32(_) => Element::U32,
            Self::U64(_) => Element::U64,
            Self::F16(_) => Element::F16,
            Self::Bf16(_) => Element::Bf16,
            Self::F32(_) => Element::F32,
            Self::F64(_) => Element::F64,
            Self::C32(_) => Element::C32,
            Self::C64(_) => Element::C64,
        }
    }
}
