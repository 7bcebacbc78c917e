//! Instruction sets: what they are called, whether they are here, and their kernels.

#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
mod avx2;
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
mod avx512;
mod four;
pub(crate) mod halves;
mod hints;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(not(test))]
mod table;
#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
mod totals;
#[cfg(any(all(target_arch = "x86_64", feature = "avx2"), target_arch = "aarch64"))]
mod two;
mod vector;

use std::fmt::{self, Display};

pub(crate) use four::Four;
pub use hints::fence;
#[cfg(not(test))]
pub use table::{KernelScalar, KernelTable};
pub(crate) use vector::{Compile, Vector, VectorsFor, Widen};

/// An instruction set that kernels are compiled for.
///
/// All but [`Portable`](Self::Portable) on a target without fused multiply-add give the same bits:
/// they add in the same order and round once per multiply-add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isa {
    /// AVX-512 F, BW, VL and DQ, with FMA and F16C.
    Avx512,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// NEON, on 64-bit Arm.
    Neon,
    /// Whatever the compilation target has. On x86-64 without fused multiply-add at compile time it
    /// multiplies and adds separately.
    Portable,
}

impl Isa {
    /// Every instruction set, the best first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// Whether this machine has it, and kernels were compiled for it.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
            }
            #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
            Self::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "aarch64")]
            Self::Neon => true,
            Self::Portable => true,
            _ => false,
        }
    }

    /// The best instruction set of this machine.
    #[must_use]
    pub fn best() -> Self {
        Self::ALL.into_iter().find(|isa| isa.is_available()).unwrap_or(Self::Portable)
    }

    /// Whether kernels can prefetch cache lines.
    pub const fn prefetches(self) -> bool {
        matches!(self, Self::Avx512 | Self::Avx2)
    }

    /// Whether dense strips, and tiles of sparse rows, are four vectors wide.
    pub const fn has_wide_strips(self) -> bool {
        matches!(self, Self::Avx512)
    }

    /// Whether one instruction loads a part of a vector of 16-bit values.
    pub const fn masks_halves(self) -> bool {
        matches!(self, Self::Avx512)
    }

    /// Whether rows are multiplied by several vectors at once.
    pub const fn has_wide_vectors(self) -> bool {
        !matches!(self, Self::Portable)
    }

    /// Whether dense strips of many rows pack the rows of B that they use. Only where a strip is one vector
    /// wide, so that each vector of a row of B is a pass of its own.
    pub const fn packs_strips(self) -> bool {
        matches!(self, Self::Avx2)
    }

    /// The name people know it by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2+FMA",
            Self::Neon => "NEON",
            Self::Portable => "portable",
        }
    }
}

impl Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of lanes, by halves.
    fn by_halves<A: Copy + std::ops::Add<Output = A>>(lanes: &[A]) -> A {
        match lanes {
            [one] => *one,
            _ => {
                let (low, high) = lanes.split_at(lanes.len() / 2);
                by_halves(&low.iter().zip(high).map(|(&l, &h)| l + h).collect::<Vec<_>>())
            }
        }
    }

    /// Sums of lanes that are rounded in another way in any other order.
    fn sums_by_halves<V: Vector>(value: impl Fn(usize) -> V::Acc) {
        let of = [0, 1, 2, 3].map(|i| (0..V::LANES).map(|lane| value(7 * i + 11 * lane)).collect());
        let expected = of.each_ref().map(|lanes: &Vec<V::Acc>| by_halves(lanes));
        // SAFETY: the caller has the machine's instruction set, and vectors are as long as registers.
        let found = unsafe { V::totals([0, 1, 2, 3].map(|i: usize| V::load(of[i].as_ptr()))) };
        assert!(found == expected, "{}: {found:?}", std::any::type_name::<V>());
    }

    fn of_an_isa<I: VectorsFor<f32> + VectorsFor<f64>>() {
        let single = |i: usize| (1.0 / (3.0 + i as f32)).powi(3);
        sums_by_halves::<<I as VectorsFor<f32>>::Vector>(single);
        sums_by_halves::<<I as VectorsFor<f32>>::Half>(single);
        sums_by_halves::<<I as VectorsFor<f32>>::Quarter>(single);
        let double = |i: usize| (1.0 / (3.0 + i as f64)).powi(3);
        sums_by_halves::<<I as VectorsFor<f64>>::Vector>(double);
        sums_by_halves::<<I as VectorsFor<f64>>::Half>(double);
        sums_by_halves::<<I as VectorsFor<f64>>::Quarter>(double);
    }

    #[test]
    fn lanes_are_summed_by_halves() {
        assert_eq!(by_halves(&[1.0, 2.0, 3.0, 4.0]), 10.0);
        of_an_isa::<portable::Portable>();
        #[cfg(target_arch = "aarch64")]
        of_an_isa::<neon::Neon>();
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        if Isa::Avx2.is_available() {
            of_an_isa::<avx2::Avx2>();
        }
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        if Isa::Avx512.is_available() {
            of_an_isa::<avx512::Avx512>();
        }
    }
}
