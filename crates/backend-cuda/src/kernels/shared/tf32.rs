//! Values of f32 as tensor cores take them.

/// The bits of a float rounded to TF32 as `cvt.rna` does it: to nearest, ties away from zero.
pub(crate) fn round_tf32(bits: u32) -> u32 {
    const DROPPED: u32 = (1 << 13) - 1;
    if f32::from_bits(bits).is_nan() {
        return f32::NAN.to_bits();
    }
    (bits + (1 << 12)) & !DROPPED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tf32_is_rounded_to_nearest_with_ties_away() {
        let rounded = |x: f32| f32::from_bits(round_tf32(x.to_bits()));
        let unit = 2f32.powi(-10);
        assert_eq!(rounded(1.0 + unit / 2.0), 1.0 + unit);
        assert_eq!(rounded(-1.0 - unit / 2.0), -1.0 - unit);
        assert_eq!(rounded(1.0 + unit / 2.0 - f32::EPSILON), 1.0);
        assert_eq!(rounded(1.0 + unit * 0.75), 1.0 + unit);
        assert_eq!(rounded(f32::MAX), f32::INFINITY);
        assert_eq!(rounded(f32::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(rounded(-0.0).to_bits(), (-0.0f32).to_bits());
        for bits in [0x7f80_0001, 0x7fff_ffff, 0xffff_ffff, 0x7fc0_0000] {
            assert!(f32::from_bits(round_tf32(bits)).is_nan(), "{bits:x}");
        }
    }
}
