//! A multiplicand taken from registers or shared memory.

/// The elements of a multiplicand, as bits. A row is a row of A or a column of B, so that both run
/// along k.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    rows: usize,
    k: usize,
    bits: Vec<u32>,
}

impl Tile {
    /// All bits zero.
    #[must_use]
    pub fn zeros(rows: u32, k: u32) -> Tile {
        let (rows, k) = (rows as usize, k as usize);
        Tile { rows, k, bits: vec![0; rows * k] }
    }

    /// A tile from a function of (row, k).
    #[must_use]
    pub fn from_fn(rows: u32, k: u32, mut bits: impl FnMut(u32, u32) -> u32) -> Tile {
        let mut tile = Tile::zeros(rows, k);
        for row in 0..rows {
            for at in 0..k {
                tile.set(row, at, bits(row, at));
            }
        }
        tile
    }

    /// Rows of A, or columns of B.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Elements in each row.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// An element's bits, zero-extended.
    ///
    /// # Panics
    /// If the position lies outside.
    #[must_use]
    pub fn get(&self, row: u32, k: u32) -> u32 {
        self.row(row as usize)[k as usize]
    }

    pub(crate) fn set(&mut self, row: u32, k: u32, bits: u32) {
        self.bits[row as usize * self.k + k as usize] = bits;
    }

    pub(crate) fn row(&self, row: usize) -> &[u32] {
        &self.bits[row * self.k..][..self.k]
    }

    /// Puts little-endian bytes of consecutive elements of one row, from `k` on.
    pub(crate) fn put_along_k(&mut self, row: u32, k: u32, bytes: &[u8], size: u32) {
        for (at, element) in (k..).zip(bytes.chunks_exact(size as usize)) {
            self.set(row, at, little_endian(element));
        }
    }

    /// Puts little-endian bytes of one k's elements in consecutive rows, from `row` on.
    pub(crate) fn put_along_rows(&mut self, row: u32, k: u32, bytes: &[u8], size: u32) {
        for (row, element) in (row..).zip(bytes.chunks_exact(size as usize)) {
            self.set(row, k, little_endian(element));
        }
    }
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
}
