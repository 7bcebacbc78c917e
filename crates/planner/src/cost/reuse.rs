//! How often a row of B is used again before a cache of any size has lost it, by a sample of the columns.

use girih_formats::{CsrPattern, RowLayout};

/// Cache sizes that are distinguished: none, and powers of two from 1 row of B on, beyond any number of rows.
pub(super) const SIZES: usize = 34;

/// Entries that reuse is measured by at the most, unless a column of the sample alone has more.
const MOST_SAMPLED: usize = 1 << 16;

/// Columns of a sample are numbered where there are more than this, and a quarter of the entries: an array of all
/// would take more memory than the matrix justifies.
const LEAST_NUMBERED: usize = 1 << 18;

/// Columns of a row that are sampled at a time.
const CHUNK: usize = 1 << 12;

/// For caches of 1, 2, 4 and so on rows of B, the entries whose row was used before and is there no more.
pub(super) fn reuse(pattern: CsrPattern<'_>, layout: &RowLayout) -> [f64; SIZES - 1] {
    let mut share = 0;
    while pattern.nnz() >> share > MOST_SAMPLED {
        share += 1;
    }
    // The upper bits of a product with an odd number are spread evenly.
    let is_sampled = |col: u32| {
        share == 0 || u64::from(col).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - share) == 0
    };
    let mut used: Vec<u32> = Vec::new();
    let rows = (0..layout.n_slots()).filter_map(|slot| layout.row(slot));
    for cols in rows.flat_map(|row| pattern.row(row).chunks(CHUNK)) {
        let before = used.len();
        used.resize(before + cols.len(), 0);
        // The processor can't predict which columns are sampled. So each is written, and the next one over it if it is not.
        let end = cols.iter().fold(before, |end, &col| {
            used[end] = col;
            end + usize::from(is_sampled(col))
        });
        used.truncate(end);
    }
    // A one stands where a column was used last: those after a column's own are what came between.
    let mut lasts = Ones::new(used.len());
    let units = match pattern.ncols() <= LEAST_NUMBERED + pattern.nnz() / 4 {
        true => pattern.ncols(),
        false => numbered(&mut used),
    };
    // Counted from 1; 0 is never.
    let mut last_use = vec![0; units];
    let mut farther = [0u64; SIZES];
    for (at, &col) in used.iter().enumerate() {
        let before = std::mem::replace(&mut last_use[col as usize], at + 1);
        if let Some(before) = usize::checked_sub(before, 1) {
            let between = lasts.total - lasts.up_to(before);
            let distance = (between as u64) << share;
            // Caches of 2^i rows hold it if that many came between at the most, less itself.
            let holds = (64 - distance.leading_zeros()) as usize;
            farther[holds.min(SIZES - 1)] += 1;
            lasts.clear(before);
        }
        lasts.set(at);
    }
    // Of distances below 2^i, all hit; from the largest on.
    let mut missed = [0.0; SIZES - 1];
    let mut above = farther[SIZES - 1];
    for size in (0..SIZES - 1).rev() {
        missed[size] = (above << share) as f64;
        above += farther[size];
    }
    missed
}

/// Numbers columns from 0 on, in their order, and says how many there are.
fn numbered(cols: &mut [u32]) -> usize {
    let mut distinct = cols.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    for col in cols {
        *col = distinct.partition_point(|other| other < col) as u32;
    }
    distinct.len()
}

/// Words of a block, whose ones are counted word by word.
const BLOCK: usize = 8;

/// Ones among zeros, and how many there are up to each: a bit each, and sums over blocks of them (Fenwick, *Software:
/// Practice and Experience* 24(3), 1994).
struct Ones {
    words: Vec<u64>,
    blocks: Vec<i32>,
    total: i32,
}

impl Ones {
    /// As many zeros.
    fn new(len: usize) -> Self {
        let words = (len / 64 + 1).next_multiple_of(BLOCK);
        Self { words: vec![0; words], blocks: vec![0; words / BLOCK + 1], total: 0 }
    }

    /// Makes a zero a one.
    fn set(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
        self.add(at, 1);
    }

    /// Makes a one a zero.
    fn clear(&mut self, at: usize) {
        self.words[at / 64] &= !(1 << (at % 64));
        self.add(at, -1);
    }

    fn add(&mut self, at: usize, value: i32) {
        self.total += value;
        let mut i = at / 64 / BLOCK + 1;
        while i < self.blocks.len() {
            self.blocks[i] += value;
            i += i & i.wrapping_neg();
        }
    }

    /// How many ones there are up to this place, itself included.
    fn up_to(&self, at: usize) -> i32 {
        let (word, mut block) = (at / 64, at / 64 / BLOCK);
        let whole = self.words[block * BLOCK..word].iter().map(|word| word.count_ones());
        let part = (self.words[word] << (63 - at % 64)).count_ones();
        let mut sum = (whole.sum::<u32>() + part) as i32;
        while block > 0 {
            sum += self.blocks[block];
            block -= block & block.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_are_counted_as_one_by_one() {
        let (len, mut ones) = (3000, Ones::new(3000));
        let mut expected = vec![0; len];
        for i in 0..5000usize {
            let at = i * i * 7 % len;
            match expected[at] {
                0 => ones.set(at),
                _ => ones.clear(at),
            }
            expected[at] = 1 - expected[at];
            let end = i * 31 % len;
            assert_eq!(ones.up_to(end), expected[..=end].iter().sum::<i32>());
        }
        assert_eq!(ones.total, ones.up_to(len - 1));
    }
}
