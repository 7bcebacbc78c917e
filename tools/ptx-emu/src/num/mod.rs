//! Number formats of the PTX ISA and exact arithmetic on them.
//!
//! Registers hold bits, so everything here takes and gives bits (narrow values zero-extended).
//! Results are what the PTX ISA specifies to the last bit; where it leaves NaN payloads open, the
//! card's habit is followed: one canonical NaN for every format up to 32 bits, payloads passed on
//! for `f64`.
//!
//! | module | what |
//! |---|---|
//! | [`Format`] | layouts; decoding to and rounding from `f64`, which holds every narrower value exactly |
//! | [`convert`] | `cvt` between formats and integers |
//! | [`single`], [`double`], [`narrow`] | add, mul, fma, div, sqrt of `f32`; of `f64`; of `f16` and `bf16` |
//! | [`order`] | `min` and `max` with their NaN and signed-zero rules |
//! | [`approx`] | what stands in for the `.approx` instructions |

pub mod approx;
pub mod convert;
pub mod double;
mod format;
pub mod narrow;
pub mod order;
mod rounding;
pub mod single;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tests;

pub use format::Format;
pub use rounding::{Mode, Rounding};
