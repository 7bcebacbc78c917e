//! The state space that an address operand is in, as the modifiers say.

use crate::program::Decoder;

/// How the bits of an address are to be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Window {
    /// No space named: a generic address.
    Generic,
    /// `.shared`, `.shared::cta`: an offset in the CTA's window.
    Cta,
    /// `.shared::cluster`: an offset in the window of the cluster, which holds the CTA's own.
    Cluster,
    /// `.global`.
    Global,
}

impl Window {
    /// Takes the space of an address that must be in the CTA's own shared memory.
    pub(crate) fn of_own(d: &mut Decoder<'_>) -> Self {
        d.choice(&[("shared", Self::Cta), ("shared::cta", Self::Cta)]).unwrap_or(Self::Generic)
    }

    /// Takes the space of an address that may be in the shared memory of any CTA of the cluster.
    pub(crate) fn of_any(d: &mut Decoder<'_>) -> Self {
        d.choice(&[
            ("shared", Self::Cta),
            ("shared::cta", Self::Cta),
            ("shared::cluster", Self::Cluster),
        ])
        .unwrap_or(Self::Generic)
    }
}
