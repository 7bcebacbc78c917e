//! Numbers of the bytes of elements, as the widest types of their kind.
//!
//! Compiled once for each type of elements; what becomes of a number is compiled once for each type of values.

use bytemuck::cast;
use half::f16;

use super::header::Element;

/// Calls a function that makes a number of an element with each of them.
macro_rules! each {
    ($bytes:expr, $to:expr, |$element:ident: [u8; $n:literal]| $number:expr) => {
        for ($element, to) in $bytes.as_chunks::<$n>().0.iter().zip(&mut *$to) {
            let $element = *$element;
            *to = $number;
        }
    };
}

/// Little-endian real elements.
pub(super) fn reals(element: Element, bytes: &[u8], to: &mut [f64]) {
    match element {
        Element::Bool => each!(bytes, to, |b: [u8; 1]| f64::from(u8::from(b[0] != 0))),
        Element::Int(1) => each!(bytes, to, |b: [u8; 1]| i8::from_le_bytes(b).into()),
        Element::Int(2) => each!(bytes, to, |b: [u8; 2]| i16::from_le_bytes(b).into()),
        Element::Int(4) => each!(bytes, to, |b: [u8; 4]| i32::from_le_bytes(b).into()),
        Element::Int(_) => each!(bytes, to, |b: [u8; 8]| i64::from_le_bytes(b) as f64),
        Element::Uint(1) => each!(bytes, to, |b: [u8; 1]| b[0].into()),
        Element::Uint(2) => each!(bytes, to, |b: [u8; 2]| u16::from_le_bytes(b).into()),
        Element::Uint(4) => each!(bytes, to, |b: [u8; 4]| u32::from_le_bytes(b).into()),
        Element::Uint(_) => each!(bytes, to, |b: [u8; 8]| u64::from_le_bytes(b) as f64),
        Element::Float(2) => each!(bytes, to, |b: [u8; 2]| f16::from_le_bytes(b).into()),
        Element::Float(4) => each!(bytes, to, |b: [u8; 4]| f32::from_le_bytes(b).into()),
        _ => each!(bytes, to, |b: [u8; 8]| f64::from_le_bytes(b)),
    }
}

/// Complex elements, the two parts of each as they stand.
pub(super) fn pairs(element: Element, bytes: &[u8], to: &mut [[f64; 2]]) {
    match element {
        Element::Complex(8) => {
            each!(bytes, to, |b: [u8; 8]| cast::<_, [f32; 2]>(b).map(f64::from));
        }
        _ => each!(bytes, to, |b: [u8; 16]| cast(b)),
    }
}

/// Little-endian integers of 64 bits; negative ones as two's complement.
pub(super) fn integers(element: Element, bytes: &[u8], to: &mut [u64]) {
    match element {
        Element::Int(1) => each!(bytes, to, |b: [u8; 1]| i64::from(i8::from_le_bytes(b)) as u64),
        Element::Int(2) => each!(bytes, to, |b: [u8; 2]| i64::from(i16::from_le_bytes(b)) as u64),
        Element::Int(4) => each!(bytes, to, |b: [u8; 4]| i64::from(i32::from_le_bytes(b)) as u64),
        Element::Uint(1) => each!(bytes, to, |b: [u8; 1]| b[0].into()),
        Element::Uint(2) => each!(bytes, to, |b: [u8; 2]| u16::from_le_bytes(b).into()),
        Element::Uint(4) => each!(bytes, to, |b: [u8; 4]| u32::from_le_bytes(b).into()),
        _ => each!(bytes, to, |b: [u8; 8]| u64::from_le_bytes(b)),
    }
}

/// Turns the bytes of each element around.
pub(super) fn reverse_each(bytes: &mut [u8], size: usize) {
    match size {
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|b| b.reverse()),
        4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|b| b.reverse()),
        8 => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|b| b.reverse()),
        16 => bytes.as_chunks_mut::<16>().0.iter_mut().for_each(|b| b.reverse()),
        _ => {}
    }
}
