//! Values of f32 as tensor cores take them: rounded to TF32, in the order of the kernel's fragments.

use crate::kernels::shared::round_tf32;

/// Values along k in one product.
const STEP: usize = 8;

/// The values of blocks, rounded; of every eight in a row the even ones first: O(values).
pub(super) fn packed(values: &[f32]) -> Vec<f32> {
    let rounded = |x: &f32| f32::from_bits(round_tf32(x.to_bits()));
    let mut packed = Vec::with_capacity(values.len());
    for step in values.chunks_exact(STEP) {
        packed.extend(step.iter().step_by(2).map(rounded));
        packed.extend(step.iter().skip(1).step_by(2).map(rounded));
    }
    packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_columns_come_first() {
        let values: Vec<f32> = (0..16u8).map(f32::from).collect();
        let expected = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15u8].map(f32::from);
        assert_eq!(packed(&values), expected);
        assert_eq!(packed(&[4098.0; 8]), [4100.0; 8], "values have eleven bits");
    }
}
