//! f16 and bf16 by their bits: widened exactly, and rounded to nearest even, without branches, so that loops over them
//! vectorize.

/// Widens the bits of an f16.
///
/// The exponent and mantissa, shifted into place, are a value 2¹¹² too small — subnormals included;
/// one exact multiplication mends that. Infinities and NaNs come out with too small an exponent.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let bits = u32::from(bits);
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    let special = if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
}

/// Widens the bits of a bf16: they are the upper half.
#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bits of the nearest f16: Inf from 65520 on, and one NaN for all.
#[inline(always)]
pub(crate) fn f32_to_f16(x: f32) -> u16 {
    const INF: u32 = 0x7c00;
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // The exponent's bias is 112 less. Half a unit in the last place is added, less one where it is even.
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // In a sum with 1/2 the last place is 2⁻²⁴, that of subnormals.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let number = if magnitude < 0x477f_f000 { finite } else { INF };
    let rounded = if magnitude > 0x7f80_0000 { INF | 0x200 } else { number };
    (rounded | bits >> 16 & 0x8000) as u16
}

/// The bits of the nearest bf16; one NaN for all.
#[inline(always)]
pub(crate) fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let odd = bits >> 16 & 1;
    let number = bits.wrapping_add(0x7fff + odd) >> 16;
    let nan = 0x7fc0 | bits >> 16 & 0x8000;
    (if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { number }) as u16
}

/// Rounds `len` numbers to f16.
///
/// # Safety
/// 1. Both pointers are valid for as many elements, which do not overlap.
#[inline(always)]
pub(super) unsafe fn narrow_f16(from: *const f32, to: *mut u16, len: usize) {
    for i in 0..len {
        // SAFETY: point 1.
        unsafe { *to.add(i) = f32_to_f16(*from.add(i)) };
    }
}

/// Rounds `len` numbers to bf16.
///
/// # Safety
/// 1. Both pointers are valid for as many elements, which do not overlap.
#[inline(always)]
pub(super) unsafe fn narrow_bf16(from: *const f32, to: *mut u16, len: usize) {
    for i in 0..len {
        // SAFETY: point 1.
        unsafe { *to.add(i) = f32_to_bf16(*from.add(i)) };
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn every_f16_widens_as_the_half_crate_says() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (f16_to_f32(bits), f16::from_bits(bits).to_f32());
            assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:#06x}");
        }
    }

    /// Every value of 16 bits, halfway to the next, and either side of both; and a step through all of f32.
    #[test]
    fn f32_is_rounded_as_the_half_crate_says() {
        let check = |x: f32| {
            let (ours, theirs) = (f16::from_bits(f32_to_f16(x)), f16::from_f32(x));
            assert!(ours == theirs || ours.is_nan() && x.is_nan(), "{x:e} is {ours}, not {theirs}");
            assert_eq!(ours.is_sign_negative(), x.is_sign_negative(), "{x:e}");
            let (ours, theirs) = (bf16::from_bits(f32_to_bf16(x)), bf16::from_f32(x));
            assert!(ours == theirs || ours.is_nan() && x.is_nan(), "{x:e} is {ours}, not {theirs}");
            assert_eq!(ours.is_sign_negative(), x.is_sign_negative(), "{x:e}");
        };
        for bits in 0..=u16::MAX {
            for wide in [f16_to_f32(bits), bf16_to_f32(bits)] {
                for half in [0, 1 << 12, 1 << 15] {
                    for near in [u32::MAX, 0, 1] {
                        check(f32::from_bits(wide.to_bits().wrapping_add(half).wrapping_add(near)));
                    }
                }
            }
        }
        (0..=u32::MAX).step_by(997).for_each(|bits| check(f32::from_bits(bits)));
    }
}
