//! What comparing found.

/// The element that comes closest to its bound or exceeds it the most.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Worst {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub col: usize,
    /// Whether the rest is about its imaginary part; false if it is about the real one.
    pub is_imaginary: bool,
    /// What was found.
    pub found: f64,
    /// What the oracle says, rounded to f64.
    pub expected: f64,
    /// How far apart the two may be.
    pub bound: f64,
}

/// What [`verify`](super::verify()) found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Verification {
    /// The largest error as a multiple of its bound: at most 1 if every element is right, infinite if
    /// an element that must be exact, or of a certain class, is not.
    pub max_error_over_bound: f64,
    /// Where that is. `None` if every judged element is exact.
    pub worst: Option<Worst>,
    /// Elements compared.
    pub elements: u64,
    /// Elements that can't be judged because their terms leave the accumulation type's range.
    pub unjudged: u64,
    /// Elements found to be NaN or infinite, which have no error to measure.
    pub non_finite: u64,
    /// Those of them that NaN or infinite values of A, B or C before make so: the oracle is not finite there
    /// either. The others are wrong, not judged, or NaN through zeros that fill tiles up.
    pub non_finite_expected: u64,
}

impl Verification {
    /// Whether every element was judged and is within its bound.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.max_error_over_bound <= 1.0 && self.unjudged == 0
    }

    /// The verdict over both sets of elements; of equal errors, the first element's is kept.
    pub(super) fn merge(self, other: Self) -> Self {
        let (greater, elements) = (
            if other.max_error_over_bound > self.max_error_over_bound { other } else { self },
            self.elements + other.elements,
        );
        Self {
            max_error_over_bound: greater.max_error_over_bound,
            worst: greater.worst,
            elements,
            unjudged: self.unjudged + other.unjudged,
            non_finite: self.non_finite + other.non_finite,
            non_finite_expected: self.non_finite_expected + other.non_finite_expected,
        }
    }
}
