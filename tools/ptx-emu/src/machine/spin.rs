//! Warps that only look for news: strong loads that find what they found before, over and over.
//!
//! Such a warp waits for another, so that executing it further is time lost. It gives its turn away
//! after a few looks, and a cluster all of whose warps do gives way to other clusters.

/// Looks in vain, besides one for each place looked at, after which a warp spins.
const LOOKS: usize = 3;

/// Places that a loop may look at; one with more is not seen to spin.
const PLACES: usize = 8;

/// What a warp's strong loads found since it last did anything else than look.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spin {
    /// By instruction and lanes: a digest of the values.
    found: Vec<(u32, u32, Digest)>,
    /// Looks in a row that found nothing new.
    looks: usize,
}

impl Spin {
    /// Lanes found values with an instruction, which have this digest.
    pub(crate) fn looked(&mut self, pc: u32, lanes: u32, digest: Digest) {
        match self.found.iter_mut().find(|known| (known.0, known.1) == (pc, lanes)) {
            Some(known) if known.2 == digest => self.looks += 1,
            Some(known) => {
                known.2 = digest;
                self.looks = 0;
            }
            None => {
                if self.found.len() == PLACES {
                    self.found.clear();
                }
                self.found.push((pc, lanes, digest));
                self.looks = 0;
            }
        }
    }

    /// The warp did something that others may see.
    #[inline]
    pub(crate) fn acted(&mut self) {
        if !self.found.is_empty() {
            self.found.clear();
            self.looks = 0;
        }
    }

    /// Whether there is nothing new wherever it looks.
    #[inline]
    pub(crate) fn is_in_vain(&self) -> bool {
        self.looks >= LOOKS + self.found.len()
    }
}

/// A digest of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Digest(u64);

impl Digest {
    /// Adds a value.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_in_vain_is_seen_and_news_end_it() {
        let mut spin = Spin::default();
        let vain = |spin: &mut Spin, value| {
            spin.looked(7, 1, Digest(value));
            spin.looked(9, 1, Digest(5));
            spin.is_in_vain()
        };
        assert_eq!([0, 0, 0, 0].map(|value| vain(&mut spin, value)), [false, false, false, true]);
        assert!(!vain(&mut spin, 1));
        assert!((0..3).any(|_| vain(&mut spin, 1)));
        spin.acted();
        assert!(!spin.is_in_vain() && !vain(&mut spin, 1));
    }

    #[test]
    fn a_loop_over_many_places_does_not_spin() {
        let mut spin = Spin::default();
        for at in 0..100 {
            spin.looked(at % 9, 1, Digest(0));
            assert!(!spin.is_in_vain());
        }
    }
}
