//! The loops that are timed, generic over the vector line.

use girih_formats::{Accumulator, Scalar};

use crate::isa::{Line, LineFor};

/// How many independent lines a loop keeps in registers.
///
/// Too few wait for each other, too many are spilled; which is best depends on how many registers
/// there are and how many of them a line takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chains {
    Three,
    Six,
    Twelve,
}

impl Chains {
    pub(crate) const ALL: [Self; 3] = [Self::Three, Self::Six, Self::Twelve];

    /// The number of lines.
    pub(crate) const fn lines(self) -> usize {
        match self {
            Self::Three => 3,
            Self::Six => 6,
            Self::Twelve => 12,
        }
    }
}

/// Bytes of a line, and the alignment of streaming stores.
pub(crate) const LINE_BYTES: usize = 64;

/// Accumulators in the longest line.
const MAX_LANES: usize = LINE_BYTES / 4;

/// What a thread does. Slices are whole lines.
#[derive(Debug)]
pub(crate) enum Work<'a, A> {
    /// `acc = acc · x + y`, `rounds` times on every chain. `start` has one line for each chain, and
    /// two more for x and y.
    MulAdd { chains: Chains, rounds: usize, start: &'a [A] },
    /// Adds up `from`.
    Read { chains: Chains, from: &'a [A] },
    /// `to = b + 3c`, all equally long; past the caches if `to` is aligned to [`LINE_BYTES`] and
    /// `streaming` is set.
    Triad { to: &'a mut [A], b: &'a [A], c: &'a [A], streaming: bool },
}

/// Does the work. Gives something that depends on all of what was computed in registers.
///
/// # Safety
/// The machine must have `I`.
pub(crate) unsafe fn probe<I: LineFor<T>, T: Scalar>(work: Work<'_, T::Acc>) -> T::Acc {
    // SAFETY: the caller's contract.
    unsafe {
        I::call(
            #[inline(always)]
            move || do_work::<I::Line>(work),
        )
    }
}

/// # Safety
/// The instruction set of `L`.
#[inline(always)]
unsafe fn do_work<L: Line>(work: Work<'_, L::Acc>) -> L::Acc {
    // SAFETY: the caller has the instruction set of `L`.
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
                if streaming {
                    triad::<L, true>(to, b, c);
                } else {
                    triad::<L, false>(to, b, c);
                }
                <L::Acc as Scalar>::ZERO
            }
        }
    }
}

/// # Safety
/// The instruction set of `L`.
#[inline(always)]
unsafe fn mul_add<L: Line, const CHAINS: usize>(rounds: usize, start: &[L::Acc]) -> L::Acc {
    assert!(start.len() >= (CHAINS + 2) * L::LANES);
    let p = start.as_ptr();
    // SAFETY: the caller has the instruction set, and the lines loaded are within `start`.
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
/// The instruction set of `L`.
#[inline(always)]
unsafe fn read<L: Line, const CHAINS: usize>(from: &[L::Acc]) -> L::Acc {
    let (p, step) = (from.as_ptr(), CHAINS * L::LANES);
    let mut i = 0;
    // SAFETY: the caller has the instruction set, and all loads end at or before `from`'s end.
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

/// Lines of a triad between two branches.
const TRIAD_LINES: usize = 4;

/// # Safety
/// The instruction set of `L`.
#[inline(always)]
unsafe fn triad<L: Line, const STREAMING: bool>(to: &mut [L::Acc], b: &[L::Acc], c: &[L::Acc]) {
    assert!(to.len() == b.len() && to.len() == c.len());
    assert!(!STREAMING || to.as_ptr().addr().is_multiple_of(LINE_BYTES));
    let (len, to, b, c) = (to.len(), to.as_mut_ptr(), b.as_ptr(), c.as_ptr());
    let mut i = 0;
    // SAFETY: the caller has the instruction set; loads and stores end at or before the common
    // length; a line is 64 bytes, so streaming stores are aligned as their first is.
    unsafe {
        let three = L::splat(L::Acc::from_f64(3.0));
        while i + TRIAD_LINES * L::LANES <= len {
            for j in 0..TRIAD_LINES {
                let at = i + j * L::LANES;
                triad_line::<L, STREAMING>(to.add(at), b.add(at), c.add(at), three);
            }
            i += TRIAD_LINES * L::LANES;
        }
        while i + L::LANES <= len {
            triad_line::<L, STREAMING>(to.add(i), b.add(i), c.add(i), three);
            i += L::LANES;
        }
        if STREAMING {
            L::fence();
        }
    }
}

/// # Safety
/// The instruction set of `L`, and pointers to a line; if `STREAMING`, `to` must be aligned to it.
#[inline(always)]
unsafe fn triad_line<L: Line, const STREAMING: bool>(
    to: *mut L::Acc,
    b: *const L::Acc,
    c: *const L::Acc,
    factor: L,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let line = L::load(c).mul_add(factor, L::load(b));
        if STREAMING {
            line.stream(to);
        } else {
            line.store(to);
        }
    }
}

/// The sum of all lanes.
///
/// # Safety
/// The instruction set of `L`.
#[inline(always)]
unsafe fn total<L: Line, const CHAINS: usize>(acc: [L; CHAINS]) -> L::Acc {
    const { assert!(L::LANES <= MAX_LANES) };
    let mut lanes = [<L::Acc as Scalar>::ZERO; MAX_LANES];
    // SAFETY: the caller has the instruction set, and the longest line fits.
    unsafe {
        let mut sum = acc[0];
        for i in 1..CHAINS {
            sum = sum.add(acc[i]);
        }
        sum.store(lanes.as_mut_ptr());
    }
    sum_of(&lanes)
}

fn sum_of<A: Accumulator>(lanes: &[A]) -> A {
    let mut sum = A::ZERO;
    for &lane in lanes {
        sum += lane;
    }
    sum
}
