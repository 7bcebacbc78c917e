//! The mbarrier object: phase, arrivals and transactions.
//!
//! PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier", sections
//! "mbarrier contents", "Lifecycle of the mbarrier object", "Phase of the mbarrier object",
//! "Tracking asynchronous operations by the mbarrier object".

use thiserror::Error;

/// The largest arrival count, and the largest magnitude of a transaction count.
pub const COUNT_MAX: u32 = (1 << 20) - 1;

/// What may not be done to an mbarrier.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum MbarrierError {
    /// An init with a count of zero or above the limit.
    #[error("an mbarrier expects 1 to {COUNT_MAX} arrivals, not {count}")]
    Count {
        /// The count asked for.
        count: u32,
    },
    /// An operation on memory that holds no mbarrier.
    #[error(
        "no mbarrier here: it was never initialized, was invalidated, or was overwritten by a \
         store"
    )]
    NotInitialized,
    /// An init of an mbarrier that is alive.
    #[error("an mbarrier lives here already: invalidate it before the memory is used again")]
    Alive,
    /// More arrivals than the phase still expects.
    #[error(
        "{count} arrivals where the phase expects {pending} more (of {expected}): too many \
         threads arrive, or one arrives twice"
    )]
    Arrivals {
        /// The arrivals of this operation.
        count: u32,
        /// The arrivals the phase still expected.
        pending: u32,
        /// The arrivals a whole phase expects.
        expected: u32,
    },
    /// An arrive with `.noComplete` that would complete the phase.
    #[error("an arrive with .noComplete would complete the phase: {count} of {pending} pending")]
    NoComplete {
        /// The arrivals of this operation.
        count: u32,
        /// The arrivals the phase still expected.
        pending: u32,
    },
    /// The transaction count leaves its range.
    #[error("the transaction count would be {count}, outside of ±{COUNT_MAX}")]
    TransactionRange {
        /// What it would be.
        count: i64,
    },
    /// All have arrived, and more bytes came than were expected.
    #[error(
        "the phase has all its arrivals but {bytes} more bytes were delivered than expected: it \
         can never complete"
    )]
    TransactionSurplus {
        /// The bytes too many.
        bytes: u32,
    },
    /// A token of a phase that is neither the current one nor the one before.
    #[error(
        "a token of phase {token} tested in phase {phase}: only the current and the previous can be"
    )]
    StaleToken {
        /// The phase of the token.
        token: u64,
        /// The phase of the mbarrier.
        phase: u64,
    },
}

/// The state of one mbarrier.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mbarrier {
    phase: u64,
    expected: u32,
    pending: u32,
    transactions: i32,
}

impl Mbarrier {
    /// A new mbarrier in phase 0.
    ///
    /// # Errors
    /// [`MbarrierError::Count`] when `count` is not in `1..=COUNT_MAX`.
    pub fn new(count: u32) -> Result<Self, MbarrierError> {
        if !(1..=COUNT_MAX).contains(&count) {
            return Err(MbarrierError::Count { count });
        }
        Ok(Self { phase: 0, expected: count, pending: count, transactions: 0 })
    }

    /// The phase that is under way, counted from 0.
    pub fn phase(&self) -> u64 {
        self.phase
    }

    /// The arrivals that the phase still expects.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// The arrivals that a whole phase expects.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// The bytes that are expected and have not come; negative when they came first.
    pub fn transactions(&self) -> i32 {
        self.transactions
    }

    /// The 64 bits an arrive returns: the phase, and the arrivals pending before it.
    pub fn token(&self) -> u64 {
        self.phase << 20 | u64::from(self.pending)
    }

    /// The pending arrivals that a token carries (`mbarrier.pending_count`).
    pub fn token_pending(token: u64) -> u32 {
        (token & u64::from(COUNT_MAX)) as u32
    }

    /// Raises the transactions that the phase waits for.
    ///
    /// # Errors
    /// [`MbarrierError::TransactionRange`] past the limit.
    pub fn expect_tx(&mut self, bytes: u32) -> Result<(), MbarrierError> {
        self.transact(i64::from(bytes))
    }

    /// `count` arrivals; true when they complete the phase.
    ///
    /// # Errors
    /// [`MbarrierError::Count`] for a count of zero, [`MbarrierError::Arrivals`] when the phase
    /// expects fewer, [`MbarrierError::TransactionSurplus`] when all arrived and too many bytes came.
    pub fn arrive(&mut self, count: u32) -> Result<bool, MbarrierError> {
        if count == 0 {
            return Err(MbarrierError::Count { count });
        }
        if count > self.pending {
            return Err(MbarrierError::Arrivals {
                count,
                pending: self.pending,
                expected: self.expected,
            });
        }
        self.pending -= count;
        self.settle()
    }

    /// `count` arrivals that may not complete the phase.
    ///
    /// # Errors
    /// Those of [`Self::arrive`], and [`MbarrierError::NoComplete`].
    pub fn arrive_no_complete(&mut self, count: u32) -> Result<(), MbarrierError> {
        if count == self.pending {
            return Err(MbarrierError::NoComplete { count, pending: self.pending });
        }
        self.arrive(count).map(drop)
    }

    /// Lowers what later phases expect by `count`; the arrivals themselves follow.
    ///
    /// # Errors
    /// [`MbarrierError::Arrivals`] when fewer are expected.
    pub fn drop_expected(&mut self, count: u32) -> Result<(), MbarrierError> {
        let Some(expected) = self.expected.checked_sub(count) else {
            return Err(MbarrierError::Arrivals {
                count,
                pending: self.pending,
                expected: self.expected,
            });
        };
        self.expected = expected;
        Ok(())
    }

    /// One more arrival pending in this phase (`cp.async.mbarrier.arrive` without `.noinc`).
    ///
    /// # Errors
    /// [`MbarrierError::Count`] past the limit.
    pub fn raise_pending(&mut self) -> Result<(), MbarrierError> {
        if self.pending == COUNT_MAX {
            return Err(MbarrierError::Count { count: self.pending + 1 });
        }
        self.pending += 1;
        Ok(())
    }

    /// `bytes` came; true when they complete the phase.
    ///
    /// # Errors
    /// [`MbarrierError::TransactionRange`] past the limit, [`MbarrierError::TransactionSurplus`]
    /// when all arrived and more came than was expected.
    pub fn complete_tx(&mut self, bytes: u32) -> Result<bool, MbarrierError> {
        self.transact(-i64::from(bytes))?;
        self.settle()
    }

    /// Has the phase with this parity completed? It is the current or the previous one.
    pub fn parity_passed(&self, odd: bool) -> bool {
        (self.phase & 1 == 1) != odd
    }

    /// Has the phase of this token completed?
    ///
    /// # Errors
    /// [`MbarrierError::StaleToken`] when it is neither the current nor the previous phase.
    pub fn token_passed(&self, token: u64) -> Result<bool, MbarrierError> {
        let token = token >> 20;
        if token == self.phase {
            Ok(false)
        } else if token + 1 == self.phase {
            Ok(true)
        } else {
            Err(MbarrierError::StaleToken { token, phase: self.phase })
        }
    }

    fn transact(&mut self, bytes: i64) -> Result<(), MbarrierError> {
        let count = i64::from(self.transactions) + bytes;
        if count.unsigned_abs() > u64::from(COUNT_MAX) {
            return Err(MbarrierError::TransactionRange { count });
        }
        self.transactions = count as i32;
        Ok(())
    }

    fn settle(&mut self) -> Result<bool, MbarrierError> {
        if self.pending > 0 || self.transactions > 0 {
            return Ok(false);
        }
        if self.transactions < 0 {
            return Err(MbarrierError::TransactionSurplus {
                bytes: self.transactions.unsigned_abs(),
            });
        }
        self.phase += 1;
        self.pending = self.expected;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_needs_arrivals_and_bytes() {
        let mut barrier = Mbarrier::new(2).unwrap();
        assert!(!barrier.parity_passed(false));
        // The phase before the first counts as passed: producers wait for empty slots so.
        assert!(barrier.parity_passed(true));
        barrier.expect_tx(96).unwrap();
        let token = barrier.token();
        assert_eq!(barrier.arrive(1), Ok(false));
        assert_eq!(barrier.complete_tx(64), Ok(false));
        assert_eq!(barrier.arrive(1), Ok(false));
        assert_eq!(barrier.token_passed(token), Ok(false));
        assert_eq!(barrier.complete_tx(32), Ok(true));
        assert_eq!(barrier.token_passed(token), Ok(true));
        assert!(barrier.parity_passed(false));
        assert_eq!((barrier.phase(), barrier.pending()), (1, 2));
    }

    #[test]
    fn bytes_may_come_before_they_are_expected() {
        let mut barrier = Mbarrier::new(1).unwrap();
        assert_eq!(barrier.complete_tx(16), Ok(false));
        assert_eq!(barrier.transactions(), -16);
        barrier.expect_tx(16).unwrap();
        assert_eq!(barrier.arrive(1), Ok(true));
    }

    #[test]
    fn counts_keep_their_ranges() {
        assert_eq!(Mbarrier::new(0), Err(MbarrierError::Count { count: 0 }));
        assert!(Mbarrier::new(COUNT_MAX).is_ok());
        assert!(Mbarrier::new(COUNT_MAX + 1).is_err());
        let mut barrier = Mbarrier::new(1).unwrap();
        barrier.expect_tx(COUNT_MAX).unwrap();
        assert_eq!(barrier.expect_tx(1), Err(MbarrierError::TransactionRange { count: 1 << 20 }));
    }

    #[test]
    fn too_many_arrivals_or_bytes_are_errors() {
        let mut barrier = Mbarrier::new(2).unwrap();
        assert_eq!(
            barrier.arrive(3),
            Err(MbarrierError::Arrivals { count: 3, pending: 2, expected: 2 })
        );
        barrier.arrive_no_complete(1).unwrap();
        assert!(matches!(barrier.arrive_no_complete(1), Err(MbarrierError::NoComplete { .. })));
        barrier.complete_tx(32).unwrap();
        barrier.expect_tx(16).unwrap();
        assert_eq!(barrier.arrive(1), Err(MbarrierError::TransactionSurplus { bytes: 16 }));
    }

    #[test]
    fn dropping_lowers_later_phases() {
        let mut barrier = Mbarrier::new(2).unwrap();
        barrier.drop_expected(1).unwrap();
        barrier.arrive(1).unwrap();
        assert_eq!(barrier.arrive(1), Ok(true));
        assert_eq!(barrier.pending(), 1);
        assert_eq!(barrier.arrive(1), Ok(true));
        assert!(barrier.drop_expected(2).is_err());
    }

    #[test]
    fn tokens_age() {
        let mut barrier = Mbarrier::new(1).unwrap();
        let token = barrier.token();
        assert_eq!(Mbarrier::token_pending(token), 1);
        barrier.arrive(1).unwrap();
        barrier.arrive(1).unwrap();
        assert_eq!(
            barrier.token_passed(token),
            Err(MbarrierError::StaleToken { token: 0, phase: 2 })
        );
    }
}
