//! Whether products are right, each set of bits judged once.

use girih::{Csr, DenseScalar, Plan, Product, Rounding, Scalar, Verification, verify};
use girih_parallel::prelude::*;
use ndarray::s;
use xxhash_rust::xxh3::xxh3_128;

use crate::operand::Operand;
use crate::{MeasureError, WrongProduct};

/// Verdicts on products of one matrix with one finite B.
///
/// The oracle takes as long as many products. Most products of a group are the same to the last bit: on
/// any number of threads, and on all instruction sets that fuse multiply and add. With B finite, a verdict
/// depends on the bits of C and on the rounding that is granted. So a product with the bits of a verified
/// one gets that one's verdict.
#[derive(Debug)]
pub(crate) struct Verdicts {
    known: Vec<(u128, Rounding, Verification)>,
    every: usize,
}

impl Default for Verdicts {
    fn default() -> Self {
        Self::every(1)
    }
}

impl Verdicts {
    /// Verdicts by each `every`th column of products that are finite, at least 1; the fingerprint is of all of C.
    pub(crate) fn every(every: usize) -> Self {
        Self { known: Vec::new(), every }
    }

    /// Judges C, of who multiplies and how that rounds.
    ///
    /// # Errors
    /// If an element is outside its bound.
    pub(crate) fn judge<T: DenseScalar>(
        &mut self,
        a: &Csr<T>,
        plan: &Plan,
        (who, rounding): (&str, Rounding),
        b: &Operand<T>,
        c: &Operand<T::Acc>,
    ) -> Result<Verification, MeasureError> {
        let bits = fingerprint(c.as_slice());
        let same = self.known.iter().find(|known| (known.0, known.1) == (bits, rounding));
        if let Some(&(.., verification)) = same {
            return Ok(verification);
        }
        // An element that was not written is NaN.
        let is_finite = self.every == 1 || c.as_slice().par_iter().all(|x| x.is_finite());
        let columns = if is_finite { self.every } else { 1 };
        let b = b.view().slice_move(s![.., ..;columns]);
        let product = Product { alpha: 1.0, b: T::erase(b), added: None };
        let found = T::erase_acc(c.view().slice_move(s![.., ..;columns]));
        let verification = verify(a, plan, &product, &found, rounding)?;
        if let Some(source) = WrongProduct::find(verification) {
            let what = format!("{} on {who}", plan.spec());
            return Err(MeasureError::Wrong { what, source: Box::new(source) });
        }
        self.known.push((bits, rounding, verification));
        Ok(verification)
    }
}

/// 128 bits of all elements and their places.
fn fingerprint<T: Scalar>(c: &[T]) -> u128 {
    const CHUNK: usize = 1 << 18;
    let parts: Vec<u128> =
        c.par_chunks(CHUNK).map(|chunk| xxh3_128(bytemuck::cast_slice::<T, u8>(chunk))).collect();
    xxh3_128(bytemuck::cast_slice(&parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_tell_bits_and_places_apart() {
        // More than one chunk, and a part of one.
        let mut c = Operand::<f32>::zeros("C", (700, 1000)).unwrap();
        let of = |c: &Operand<f32>| fingerprint(c.as_slice());
        let zeros = of(&c);
        let mut seen = vec![zeros];
        for place in [(0, 0), (0, 1), (350, 0), (699, 999)] {
            // Equal to zero, and of other bits.
            c.view_mut()[place] = -0.0;
            assert!(!seen.contains(&of(&c)), "{place:?}");
            seen.push(of(&c));
            c.view_mut()[place] = 0.0;
            assert_eq!(of(&c), zeros);
        }
    }
}
