//! How a matrix uses the rows of B, and what of B the caches hold.

use std::ops::Range;

use girih_formats::{Buffer, Csr, Scalar};
use rayon::prelude::*;

use crate::caches;

/// What machines that do not tell their caches count as having: what servers have for a few cores.
const USUAL_LAST_LEVEL: u64 = 32 << 20;

/// As [`USUAL_LAST_LEVEL`], for one core alone.
const USUAL_PRIVATE: u64 = 1 << 20;

/// What parts of a product may take of the caches, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// B stays in the last-level cache as it is up to this size.
    pub(crate) b: usize,
    /// So does the part of it that neighbouring rows of A meet.
    pub(crate) met: usize,
    /// A panel of B of four lines, or it is cut to two.
    pub(crate) panel: usize,
    /// A panel of two lines, or packing is given up. The panels of all threads if each has its own.
    pub(crate) panels: usize,
    /// A part of B that stays in a core's own caches.
    pub(crate) private: usize,
    /// Whether what only the last-level cache has comes so slowly that kernels wait for it.
    pub(crate) is_slow: bool,
}

impl Room {
    /// What a last-level cache and those of each core, of so many bytes, have room for.
    pub(crate) fn of(last_level: u64, private: u64) -> Self {
        let eighth = usize::try_from(last_level / 8).unwrap_or(usize::MAX / 8);
        let private = usize::try_from(private).unwrap_or(usize::MAX);
        Self {
            b: 5 * eighth,
            met: 4 * eighth,
            panel: 3 * eighth,
            panels: 6 * eighth,
            private,
            is_slow: false,
        }
    }

    /// What this machine's have.
    pub(crate) fn here() -> Self {
        let last_level = caches::last_level().unwrap_or(USUAL_LAST_LEVEL);
        let room = Self::of(last_level, caches::private().unwrap_or(USUAL_PRIVATE));
        Self { is_slow: is_made_by(b"GenuineIntel"), ..room }
    }
}

/// Tasks looked at to see how rows of B are used.
const SAMPLE: usize = 16;

/// How many rows of B are met at all: O(nnz), and room for a bit for each; `None` without that.
pub(crate) fn met_rows<T: Scalar>(csr: &Csr<T>) -> Option<usize> {
    let mut met = Buffer::<u64>::zeroed(csr.ncols().div_ceil(64)).ok()?;
    let words = met.make_mut();
    csr.col_idx().iter().for_each(|&col| words[col as usize / 64] |= 1 << (col % 64));
    Some(words.iter().map(|word| word.count_ones() as usize).sum())
}

/// How a matrix uses the rows of B, judged by some of its tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reuse {
    /// How often each is fetched on average if every task fetches those it meets once.
    pub(crate) fetches: usize,
    /// Rows of B between the first and the last that a row of A meets, on average over the entries.
    pub(crate) span: usize,
}

impl Reuse {
    /// By the matrix whose rows these tasks have: O(entries of 16 tasks).
    pub(crate) fn of<T: Scalar>(csr: &Csr<T>, tasks: &[Range<usize>]) -> Self {
        // In 128 bits no sum or product overflows.
        let met = |rows: &Range<usize>| {
            let entries = csr.row_range(rows.start).start..csr.row_range(rows.end - 1).end;
            let mut cols = csr.col_idx()[entries.clone()].to_vec();
            cols.sort_unstable();
            cols.dedup();
            let spans = rows.clone().map(|row| match csr.row(row).0 {
                [] => 0,
                cols => u128::from(cols[cols.len() - 1] - cols[0] + 1) * cols.len() as u128,
            });
            [cols.len() as u128, entries.len() as u128, spans.sum()]
        };
        let step = tasks.len().div_ceil(SAMPLE).max(1);
        let sample = tasks.par_iter().step_by(step).filter(|rows| !rows.is_empty()).map(met);
        let add = |a: [u128; 3], b: [u128; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        let [met, entries, spans] = sample.reduce(|| [0; 3], add);
        let fetches = met * csr.nnz() as u128 / (entries * csr.ncols() as u128).max(1);
        Self { fetches: fetches as usize, span: (spans / entries.max(1)) as usize }
    }
}

/// Whether this processor gains by being asked ahead for rows of B: one of AMD's. A Zen 4 does, by up
/// to 1.9 times. A Xeon (Emerald Rapids), which sees the lines of a row coming by itself, loses up to a
/// fifth where rows are long. Others were not measured.
pub(crate) fn gains_by_asking() -> bool {
    is_made_by(b"AuthenticAMD")
}

/// Whether `vendor` made this processor, by the name it gives itself.
fn is_made_by(vendor: &[u8; 12]) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let found = std::arch::x86_64::__cpuid(0);
        let name = [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes);
        name.as_flattened() == vendor
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = vendor;
        false
    }
}

/// Entries that are looked at, at a time, to see which rows of B are met anew.
const STRETCH: usize = 1 << 13;

/// Rows of B that follow one met so many entries before are foretold: the processor sees a stream.
const FORETOLD: usize = 64;

/// The least share of entries whose row of B comes unforetold from beyond a core's own caches for it to
/// pay to ask for rows ahead. Uniform matrices lie above it; what has few well-known rows, as graphs of
/// power laws do, lies between this and 0.4, and narrow products of it gain as often as they lose.
const UNFORETOLD: f64 = 0.7;

/// Bytes of a row of B from which a product is wide: then to ask costs little beside what is multiplied.
const WIDE: usize = 512;

/// Where B is so many times as large as a core's own caches, wide products gain by asking, foretold or
/// not; narrow ones if at least this share of entries meets a row of B anew.
const FAR: usize = 16;
const NEW: f64 = 0.5;

/// As [`FAR`], for wide products of which so many entries meet a row anew.
const NEAR: usize = 4;

/// Whether it pays to ask ahead for rows of B in products of `width` bytes a row, of which B, or a packed
/// panel of it, has `row_bytes`: O(entries of 16 [stretches](STRETCH)), and room for a number for each row
/// of B.
pub(crate) fn is_scattered<T: Scalar>(
    csr: &Csr<T>,
    width: usize,
    row_bytes: usize,
    is_packed: bool,
    caches: Room,
) -> bool {
    let b = csr.ncols().saturating_mul(row_bytes);
    if b <= caches.private {
        return false;
    }
    // As many rows of B as a core's caches hold.
    let len = (caches.private / row_bytes).clamp(1, STRETCH);
    let step = (csr.nnz() / SAMPLE).max(len);
    let Ok(mut last) = Buffer::zeroed(csr.ncols()) else { return false };
    let mut seen = Seen { last: last.make_mut(), count: 0 };
    let (mut entries, mut new, mut unforetold) = (0, 0, 0);
    for start in (0..csr.nnz()).step_by(step) {
        let stretch = &csr.col_idx()[start..csr.nnz().min(start + len)];
        let [first, foretold] = seen.stretch(stretch);
        entries += stretch.len() as u32;
        new += first;
        unforetold += first - foretold;
    }
    let share = |count| f64::from(count) / f64::from(entries.max(1));
    // A and C pass through the caches too.
    let beyond = 1.0 - caches.private as f64 / 2.0 / b as f64;
    let is_new = share(new) >= NEW;
    let exceeds = |times: usize| b / times >= caches.private;
    share(unforetold) * beyond >= UNFORETOLD
        || match width >= WIDE {
            true => exceeds(FAR) || exceeds(NEAR) && is_new,
            // Packed, they come from the last-level cache.
            false => exceeds(FAR) && is_new && !is_packed,
        }
}

/// Which columns were met, and when.
struct Seen<'a> {
    /// By column, the number of the entry that met it last, counted from 1; 0 for none.
    last: &'a mut [u32],
    count: u32,
}

impl Seen<'_> {
    /// How many of a stretch's columns are new to it, and how many of those are foretold.
    fn stretch(&mut self, cols: &[u32]) -> [u32; 2] {
        let begin = self.count;
        let [mut new, mut foretold] = [0; 2];
        for &col in cols {
            let col = col as usize;
            if self.last[col] <= begin {
                let recent = begin.max(self.count.saturating_sub(FORETOLD as u32));
                new += 1;
                foretold += u32::from(col > 0 && self.last[col - 1] > recent);
            }
            self.count += 1;
            self.last[col] = self.count;
        }
        [new, foretold]
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::generate::{laplacian_5pt, uniform};

    use super::*;

    #[test]
    fn columns_are_new_once_in_a_stretch_and_foretold_by_the_one_before() {
        let mut last = [0; 10];
        let mut seen = Seen { last: &mut last, count: 0 };
        assert_eq!(seen.stretch(&[3, 4, 3, 4, 8, 0]), [4, 1]);
        assert_eq!(seen.stretch(&[4, 5, 9, 8]), [4, 1]);
    }

    #[test]
    fn rows_of_b_are_asked_for_where_they_come_unforetold_or_wide_from_beyond_a_cores_caches() {
        let caches = Room::of(32 << 20, 1 << 20);
        let scattered: Csr<f32> = uniform(40_000, 40_000, 12, 1).unwrap();
        let is = |a: &Csr<f32>, width, caches| is_scattered(a, width, width, false, caches);
        assert!(is(&scattered, 128, caches));
        assert!(!is(&scattered, 16, caches));
        assert!(!is(&scattered, 128, Room::of(32 << 20, 8 << 20)));
        let stencil: Csr<f32> = laplacian_5pt(200, 200).unwrap();
        assert!(!is(&stencil, 128, caches));
        // Wide, and much larger than the caches: foretold or not.
        assert!(is(&stencil, 512, caches));
        assert!(!is(&stencil, 512, Room::of(32 << 20, 4 << 20)));
        assert!(is_scattered(&stencil, 2048, 512, true, caches));
    }
}
