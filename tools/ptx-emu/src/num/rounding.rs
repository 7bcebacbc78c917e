//! Rounding directions, and rounding to odd, which makes a second rounding harmless.

/// Where a result that the format cannot hold goes: `.rn`, `.rna`, `.rz`, `.rm`, `.rp` and, on the
/// way to an integer, `.rni`, `.rzi`, `.rmi`, `.rpi`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest value, ties to the one with an even last bit (`.rn`, `.rni`).
    #[default]
    NearestEven,
    /// To the nearest value, ties away from zero (`.rna`).
    NearestAway,
    /// Toward zero (`.rz`, `.rzi`).
    TowardZero,
    /// Toward negative infinity (`.rm`, `.rmi`).
    Down,
    /// Toward positive infinity (`.rp`, `.rpi`).
    Up,
}

impl Rounding {
    /// Whether a magnitude cut to an integer must grow by one. `odd` is its last bit; `rest` is
    /// what was cut off, compared with half a unit through `half`.
    pub(crate) fn grows(self, negative: bool, odd: bool, rest: u64, half: u64) -> bool {
        match self {
            Rounding::NearestEven => rest > half || (rest == half && odd),
            Rounding::NearestAway => rest >= half,
            Rounding::TowardZero => false,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
        }
    }

    /// Whether a magnitude beyond the largest finite one becomes infinity rather than that one.
    pub(crate) fn overflows(self, negative: bool) -> bool {
        match self {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::TowardZero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        }
    }
}

/// How an arithmetic instruction treats its operands and result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mode {
    /// The direction of rounding.
    pub rounding: Rounding,
    /// `.ftz`: subnormal operands and results become zero of the same sign. A result that rounds
    /// up to the smallest normal value stays.
    pub ftz: bool,
    /// `.sat`: the result is clamped to [+0, 1], NaN becomes +0.
    pub saturate: bool,
}

impl Mode {
    /// `.rn` without `.ftz` or `.sat`.
    pub const NEAREST: Mode = Mode { rounding: Rounding::NearestEven, ftz: false, saturate: false };

    /// The given rounding without `.ftz` or `.sat`.
    #[must_use]
    pub const fn rounded(rounding: Rounding) -> Mode {
        Mode { rounding, ..Mode::NEAREST }
    }
}

/// The neighbour of `nearest` that stands for `nearest + error` rounded to odd: exact values keep
/// their bits, others end on the neighbour with an odd last bit. Rounding that once more, to a
/// format at least two bits narrower, is rounding the exact value once.
///
/// `nearest` must be finite, and the exact value closer to it than one unit in its last place.
pub(crate) fn to_odd(nearest: f64, error: f64) -> f64 {
    let bits = nearest.to_bits();
    if error == 0.0 || bits & 1 == 1 {
        nearest
    } else if nearest == 0.0 {
        f64::from_bits(1).copysign(error)
    } else if (error > 0.0) == (nearest > 0.0) {
        f64::from_bits(bits + 1)
    } else {
        f64::from_bits(bits - 1)
    }
}

/// `a + b` rounded to odd, for finite operands whose sum stays far from overflow. An exact zero
/// from operands of opposite sign is −0 when rounding down, +0 otherwise.
pub(crate) fn add_to_odd(a: f64, b: f64, rounding: Rounding) -> f64 {
    let sum = a + b;
    if sum == 0.0 && a.is_sign_negative() != b.is_sign_negative() {
        return if rounding == Rounding::Down { -0.0 } else { 0.0 };
    }
    let b_seen = sum - a;
    let error = (a - (sum - b_seen)) + (b - b_seen);
    to_odd(sum, error)
}
