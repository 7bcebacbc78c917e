//! The loops that are timed, generic over the vector.
//!
//! All unsafe functions here that take `L` have the same first point: the machine has the instruction set of
//! `L`.
//! [`probe`] hands it on from its own contract.

use girih_formats::{RealAccumulator, RealNumber, Scalar};

use crate::isa::{Vector, VectorsFor};
use crate::operands::VECTOR_BYTES;

/// How many independent vectors a loop keeps in registers.
///
/// Too few wait for each other, too many are spilled. The best number depends on how many registers there are
/// and how many of them a vector takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chains {
    /// 3 vectors.
    Three,
    /// 6 vectors.
    Six,
    /// 12 vectors.
    Twelve,
}

impl Chains {
    /// All of them, the fewest first.
    pub const ALL: [Self; 3] = [Self::Three, Self::Six, Self::Twelve];

    /// The number of vectors.
    pub const fn vectors(self) -> usize {
        match self {
            Self::Three => 3,
            Self::Six => 6,
            Self::Twelve => 12,
        }
    }
}

/// Accumulators in the longest vector.
const MAX_LANES: usize = VECTOR_BYTES / 4;

/// The loop that a thread runs. Slices are whole vectors.
#[derive(Debug)]
pub enum Work<'a, A> {
    /// `acc = acc · x + y`, `rounds` times on every chain. `start` has one vector for each chain, and two
    /// more for x and y.
    MulAdd {
        /// Vectors that are summed at once.
        chains: Chains,
        /// Multiply-adds on each chain.
        rounds: usize,
        /// What chains begin with, then x and y.
        start: &'a [A],
    },
    /// Adds up `from`.
    Read {
        /// Vectors that are summed at once.
        chains: Chains,
        /// What is added up.
        from: &'a [A],
    },
    /// `to = b + 3c`, all equally long; past the caches if `to` is aligned to [`VECTOR_BYTES`] and
    /// `streaming` is set.
    Triad {
        /// What is written.
        to: &'a mut [A],
        /// The first operand.
        b: &'a [A],
        /// The second operand, which is multiplied by 3.
        c: &'a [A],
        /// Whether `to` is written past the caches.
        streaming: bool,
    },
}

/// Runs the loop. The result depends on everything that was computed in registers.
///
/// # Safety
/// 1. The machine has the instruction set `I`.
pub(crate) unsafe fn probe<I: VectorsFor<T>, T: Scalar>(work: Work<'_, T::Acc>) -> T::Acc {
    // SAFETY: the machine has `I` by point 1, which is all that `do_work` requires of the code.
    unsafe {
        I::call(
            #[inline(always)]
            move || do_work::<I::Vector>(work),
        )
    }
}

/// # Safety
/// 1. The machine has the instruction set of `L`.
#[inline(always)]
unsafe fn do_work<L: Vector>(work: Work<'_, L::Acc>) -> L::Acc {
    // SAFETY: the loops require the instruction set of `L`, by point 1; they check their slices themselves.
    unsafe {
        match work {
            Work::MulAdd { chains, rounds, start } => match chains {
                Chains::Three => mul_add::<L, 3>(rounds, start),
                Chains::Six => mul_add::<L, 6>(rounds, start),
                Chains::Twelve => mul_add::<L, 12>(rounds, start),
            },
            Work::Read { chains, from } => match chains {
                Chains::Three => read::<L, 3>(from),
                Chains::Six => read::<L, 6>(from),
                Chains::Twelve => read::<L, 12>(from),
            },
            Work::Triad { to, b, c, streaming } => {
                match streaming {
                    true => triad::<L, true>(to, b, c),
                    false => triad::<L, false>(to, b, c),
                }
                <L::Acc as Scalar>::ZERO
            }
        }
    }
}

/// # Safety
/// 1. The machine has the instruction set of `L`.
#[inline(always)]
unsafe fn mul_add<L: Vector, const CHAINS: usize>(rounds: usize, start: &[L::Acc]) -> L::Acc {
    assert!(start.len() >= (CHAINS + 2) * L::LANES);
    let p = start.as_ptr();
    // SAFETY: the instruction set by point 1; `start` has `CHAINS + 2` vectors, as asserted above.
    unsafe {
        let (x, y) = (L::load(p.add(CHAINS * L::LANES)), L::load(p.add((CHAINS + 1) * L::LANES)));
        let mut acc = [x; CHAINS];
        for i in 0..CHAINS {
            acc[i] = L::load(p.add(i * L::LANES));
        }
        for _ in 0..rounds {
            for i in 0..CHAINS {
                acc[i] = acc[i].mul_add(x, y);
            }
        }
        total(acc)
    }
}

/// # Safety
/// 1. The machine has the instruction set of `L`.
#[inline(always)]
unsafe fn read<L: Vector, const CHAINS: usize>(from: &[L::Acc]) -> L::Acc {
    let (p, step) = (from.as_ptr(), CHAINS * L::LANES);
    let mut i = 0;
    // SAFETY: the instruction set by point 1; both loops stop before a load that would end beyond `from`.
    unsafe {
        let mut acc = [L::splat(<L::Acc as Scalar>::ZERO); CHAINS];
        while i + step <= from.len() {
            for j in 0..CHAINS {
                acc[j] = acc[j].add(L::load(p.add(i + j * L::LANES)));
            }
            i += step;
        }
        while i + L::LANES <= from.len() {
            acc[0] = acc[0].add(L::load(p.add(i)));
            i += L::LANES;
        }
        total(acc)
    }
}

/// Vectors of a triad between two branches.
const TRIAD_VECTORS: usize = 4;

/// # Safety
/// 1. The machine has the instruction set of `L`.
#[inline(always)]
unsafe fn triad<L: Vector, const STREAMING: bool>(to: &mut [L::Acc], b: &[L::Acc], c: &[L::Acc]) {
    assert!(to.len() == b.len() && to.len() == c.len());
    assert!(!STREAMING || to.as_ptr().addr().is_multiple_of(VECTOR_BYTES));
    let (len, to, b, c) = (to.len(), to.as_mut_ptr(), b.as_ptr(), c.as_ptr());
    let mut i = 0;
    // SAFETY: the instruction set by point 1. Point 2 of `triad_vector`: both loops stop before a vector that
    // would end beyond the common length. Point 3: `to` is aligned, as asserted above, and each vector is 64
    // bytes.
    unsafe {
        let three = L::splat(L::Acc::from_f64(3.0));
        while i + TRIAD_VECTORS * L::LANES <= len {
            for j in 0..TRIAD_VECTORS {
                let at = i + j * L::LANES;
                triad_vector::<L, STREAMING>(to.add(at), b.add(at), c.add(at), three);
            }
            i += TRIAD_VECTORS * L::LANES;
        }
        while i + L::LANES <= len {
            triad_vector::<L, STREAMING>(to.add(i), b.add(i), c.add(i), three);
            i += L::LANES;
        }
        if STREAMING {
            L::fence();
        }
    }
}

/// # Safety
/// 1. The machine has the instruction set of `L`.
/// 2. `b` and `c` are valid for reads of a vector, `to` for writes of one.
/// 3. If `STREAMING`, `to` is aligned to [`VECTOR_BYTES`].
#[inline(always)]
unsafe fn triad_vector<L: Vector, const STREAMING: bool>(
    to: *mut L::Acc,
    b: *const L::Acc,
    c: *const L::Acc,
    factor: L,
) {
    // SAFETY: the instruction set by point 1, the loads and stores by point 2, the streaming store by point
    // 3.
    unsafe {
        let vector = L::load(c).mul_add(factor, L::load(b));
        if STREAMING {
            vector.stream(to);
        } else {
            vector.store(to);
        }
    }
}

/// The sum of all lanes.
///
/// # Safety
/// 1. The machine has the instruction set of `L`.
#[inline(always)]
unsafe fn total<L: Vector, const CHAINS: usize>(acc: [L; CHAINS]) -> L::Acc {
    const { assert!(L::LANES <= MAX_LANES) };
    let mut lanes = [<L::Acc as Scalar>::ZERO; MAX_LANES];
    // SAFETY: the instruction set by point 1; `lanes` holds a vector, as asserted above.
    unsafe {
        let mut sum = acc[0];
        for i in 1..CHAINS {
            sum = sum.add(acc[i]);
        }
        sum.store(lanes.as_mut_ptr());
    }
    sum_of(&lanes)
}

fn sum_of<A: RealAccumulator>(lanes: &[A]) -> A {
    let mut sum = A::ZERO;
    for &lane in lanes {
        sum += lane;
    }
    sum
}
