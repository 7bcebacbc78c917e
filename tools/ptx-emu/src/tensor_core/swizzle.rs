//! The swizzle patterns that tensor maps and matrix descriptors share.

/// How 16-byte chunks are permuted within shared memory: the chunk's place in its row is combined
/// by exclusive or with the row's number, both read off the address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None,
    /// Address bit 4 with bit 7: rows of 32 bytes.
    Bytes32,
    /// Address bits 4–5 with bits 7–8: rows of 64 bytes.
    Bytes64,
    /// Address bits 4–6 with bits 7–9: rows of 128 bytes.
    Bytes128,
}

impl Swizzle {
    /// Bytes of a row within which chunks change places; 16 without a swizzle.
    #[must_use]
    pub const fn span(self) -> u32 {
        match self {
            Swizzle::None => 16,
            Swizzle::Bytes32 => 32,
            Swizzle::Bytes64 => 64,
            Swizzle::Bytes128 => 128,
        }
    }

    /// Bytes after which the pattern repeats, and the alignment at which it begins; 16 without a
    /// swizzle.
    #[must_use]
    pub const fn period(self) -> u32 {
        match self {
            Swizzle::None => 16,
            _ => self.span() * 8,
        }
    }

    /// Where the byte that lies at `address` before swizzling ends up.
    #[must_use]
    pub const fn apply(self, address: u32) -> u32 {
        self.apply_from(address, 0)
    }

    /// [`Swizzle::apply`] for a pattern that begins `base` rows of 128 bytes past its natural
    /// alignment.
    #[must_use]
    pub(crate) const fn apply_from(self, address: u32, base: u32) -> u32 {
        let rows = self.span() / 16 - 1;
        let row = (address >> 7).wrapping_sub(base) & rows;
        address ^ (row << 4)
    }
}
