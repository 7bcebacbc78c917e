//! Values of f32 as tensor cores take them: rounded to TF32, in the order of the kernel's fragments.

/// Values along k in one product.
const STEP: usize = 8;

/// The values of blocks, rounded; of every eight in a row the even ones first: O(values).
pub(super) fn packed(values: &[f32]) -> Vec<f32> {
    let mut packed = Vec::with_capacity(values.len());
    for step in values.chunks_exact(STEP) {
        packed.extend(step.iter().step_by(2).map(|&x| rounded(x)));
        packed.extend(step.iter().skip(1).step_by(2).map(|&x| rounded(x)));
    }
    packed
}

/// Rounds to TF32's 11 bits, to the nearest, ties away from zero: as `cvt.rna.tf32.f32` does.
fn rounded(x: f32) -> f32 {
    match x {
        // Its mark may be in bits that tensor cores ignore.
        _ if x.is_nan() => f32::NAN,
        _ if x.is_infinite() => x,
        _ => f32::from_bits((x.to_bits() + 0x1000) & !0x1fff),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_to_eleven_bits() {
        let ulp = 2f32.powi(-10);
        assert_eq!(rounded(1.0 + 0.49 * ulp), 1.0);
        assert_eq!(rounded(1.0 + 0.5 * ulp), 1.0 + ulp);
        assert_eq!(rounded(-1.0 - 0.5 * ulp), -1.0 - ulp);
        assert_eq!(rounded(f32::MAX), f32::INFINITY);
        assert_eq!(rounded(f32::NEG_INFINITY), f32::NEG_INFINITY);
        assert_eq!(rounded(f32::from_bits(0x7f80_0001)).to_bits(), 0x7fc0_0000);
        assert_eq!(rounded(0.0), 0.0);
    }

    #[test]
    fn even_columns_come_first() {
        let values: Vec<f32> = (0..16u8).map(f32::from).collect();
        let expected = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15u8].map(f32::from);
        assert_eq!(packed(&values), expected);
    }
}
