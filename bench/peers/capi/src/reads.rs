//! What it takes to only read the rows of B that the entries of A name, one after the other.
//!
//! A roofline counts B once. Who multiplies entry by entry reads a row of it for each, from whichever
//! cache has it: no such product is faster than the fastest way of doing nothing else. With a C, what it takes
//! to move everything that such a product moves: the values of A too, and C, whose lines are written in order,
//! as many for each entry, whatever the lengths of rows are.

use std::ffi::{c_int, c_void};
use std::hint;
use std::ops::Range;
use std::ptr;
use std::time::Instant;

use crate::crew::Crew;
use crate::error::{Outcome, guard};
use crate::matrix::CsrArrays;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Entries ahead of which rows are asked for.
const AHEAD: usize = 32;

/// Bytes of B up to which its panels are copied apart too.
const PACKED: usize = 1 << 30;

/// Passes over the entries in every way, and then in those that are at most half as long again as the
/// fastest.
const PASSES: [usize; 2] = [2, 4];

/// Bytes of B that are read between lines of C, and the entries of one such stretch.
const STRETCH: usize = 64 << 10;
const ENTRIES: [usize; 2] = [64, 1024];

/// How the rows are read.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Bytes of a row that are read at once, in a pass of their own over the entries.
    width: usize,
    /// From panels that have nothing but those bytes of every row; in place otherwise.
    packed: bool,
    ahead: bool,
    /// Whether threads deal the panels among themselves, not the entries.
    by_panels: bool,
    /// Whether C, if there is one, is written past the caches.
    past: bool,
}

/// Rows of B, from which each entry reads.
#[derive(Clone, Copy)]
struct Rows<'a> {
    col_idx: &'a [u32],
    /// A panel's part of the first row.
    first: *const u8,
    /// Bytes between rows.
    stride: usize,
    /// Whether rows are asked for ahead.
    ahead: bool,
}

// SAFETY: memory is only read, and outlives the scope of the threads.
unsafe impl Send for Rows<'_> {}
// SAFETY: as above.
unsafe impl Sync for Rows<'_> {}

impl Rows<'_> {
    /// Asks for what the entry at `i` reads, if there is one.
    #[inline(always)]
    fn ask(&self, i: usize, width: usize) {
        #[cfg(target_arch = "x86_64")]
        if self.ahead
            && let Some(&col) = self.col_idx.get(i + AHEAD)
        {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            for at in (0..width).step_by(LINE) {
                let line = self.first.wrapping_add(col as usize * self.stride + at);
                // SAFETY: a hint that reads nothing.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
            }
        }
        let _ = (i, width);
    }

    /// # Safety
    /// Every row that is named has `8 · WORDS` readable bytes.
    #[inline(always)]
    unsafe fn words<const WORDS: usize>(&self) -> u64 {
        let mut sum = [0; WORDS];
        for (i, &col) in self.col_idx.iter().enumerate() {
            self.ask(i, 8 * WORDS);
            // SAFETY: the caller's contract.
            let row = unsafe { self.first.add(col as usize * self.stride).cast::<[u64; WORDS]>() };
            // SAFETY: as above.
            let row = unsafe { row.read_unaligned() };
            for (sum, word) in sum.iter_mut().zip(row) {
                *sum |= word;
            }
        }
        sum.into_iter().fold(0, |all, word| all | word)
    }

    /// # Safety
    /// Every row that is named has four readable bytes.
    unsafe fn halves(&self) -> u64 {
        let mut sums = [0; 4];
        let (fours, rest) = self.col_idx.as_chunks::<4>();
        let read = |col: u32| {
            // SAFETY: the caller's contract.
            unsafe { self.first.add(col as usize * self.stride).cast::<u32>().read_unaligned() }
        };
        for cols in fours {
            for (sum, &col) in sums.iter_mut().zip(cols) {
                *sum |= read(col);
            }
        }
        rest.iter().for_each(|&col| sums[0] |= read(col));
        u64::from(sums.into_iter().fold(0, |all, word| all | word))
    }

    /// # Safety
    /// AVX-512, and every row that is named has `64 · LINES` readable bytes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    unsafe fn lines<const LINES: usize>(&self) -> u64 {
        use std::arch::x86_64::*;
        let mut sum = [_mm512_setzero_si512(); LINES];
        for (i, &col) in self.col_idx.iter().enumerate() {
            self.ask(i, LINE * LINES);
            let row = self.first.wrapping_add(col as usize * self.stride);
            for (at, sum) in sum.iter_mut().enumerate() {
                // SAFETY: the caller's contract.
                let line = unsafe { _mm512_loadu_si512(row.add(LINE * at).cast()) };
                *sum = _mm512_or_si512(*sum, line);
            }
        }
        sum.into_iter().fold(0, |all, line| all | _mm512_reduce_or_epi64(line).cast_unsigned())
    }

    /// # Safety
    /// AVX2, and every row that is named has `8 · WORDS` readable bytes.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn words_avx2<const WORDS: usize>(&self) -> u64 {
        // SAFETY: the caller's contract.
        unsafe { self.words::<WORDS>() }
    }

    /// Reads `8 · WORDS` bytes of a row for every entry.
    ///
    /// # Safety
    /// Every row that is named has so many readable bytes.
    unsafe fn any<const WORDS: usize>(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature is there; the rest is the caller's contract.
            return unsafe { self.words_avx2::<WORDS>() };
        }
        // SAFETY: the caller's contract.
        unsafe { self.words::<WORDS>() }
    }

    /// Reads `LINES` lines, of eight words each, of a row for every entry.
    ///
    /// # Safety
    /// Every row that is named has so many readable bytes.
    unsafe fn wide<const LINES: usize, const WORDS: usize>(&self) -> u64 {
        const { assert!(8 * LINES == WORDS) };
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the feature is there; the rest is the caller's contract.
            return unsafe { self.lines::<LINES>() };
        }
        // SAFETY: the caller's contract.
        unsafe { self.any::<WORDS>() }
    }

    /// Reads `width` bytes of a row for every entry: 4, 8, 32 or one, two, four or eight lines.
    ///
    /// # Safety
    /// Every row that is named has so many readable bytes.
    unsafe fn read(&self, width: usize) -> u64 {
        // SAFETY: the caller's contract.
        unsafe {
            match width {
                4 => self.halves(),
                8 => self.any::<1>(),
                32 => self.any::<4>(),
                64 => self.wide::<1, 8>(),
                128 => self.wide::<2, 16>(),
                256 => self.wide::<4, 32>(),
                _ => self.wide::<8, 64>(),
            }
        }
    }
}

/// The widths in which a row of so many bytes is read.
fn widths(row: usize) -> Vec<usize> {
    match row {
        4 | 8 | 32 => vec![row],
        _ => [1, 2, 4, 8]
            .map(|lines| lines * LINE)
            .into_iter()
            .filter(|&w| row.is_multiple_of(w))
            .collect(),
    }
}

/// All ways; those of writing C past the caches if it `moves`.
fn ways(row: usize, rows: usize, threads: usize, moves: bool) -> Vec<Way> {
    let mut ways = Vec::new();
    let past = &[false, true][..1 + usize::from(moves)];
    for width in widths(row) {
        for packed in [false, true] {
            // A row that is read whole is its own panel.
            if packed && (width == row || rows * row > PACKED) {
                continue;
            }
            for by_panels in [false, true] {
                if by_panels && (threads == 1 || !(row / width).is_multiple_of(threads)) {
                    continue;
                }
                for &past in past {
                    ways.extend([false, true].map(|ahead| Way {
                        width,
                        packed,
                        ahead,
                        by_panels,
                        past,
                    }));
                }
            }
        }
    }
    ways
}

/// B's panels of `width` bytes, one after the other.
fn pack(b: &[u8], row: usize, width: usize) -> Vec<u8> {
    let panels = (0..row).step_by(width);
    panels
        .flat_map(|at| b.chunks_exact(row).flat_map(move |r| &r[at..at + width]))
        .copied()
        .collect()
}

/// What is read, in the fastest way there is.
#[derive(Debug)]
pub struct Reads {
    col_idx: Vec<u32>,
    b: B,
    moved: Option<Moved>,
    way: Way,
    /// B's panels, where the way reads those.
    packed: Vec<u8>,
    crew: Crew,
}

/// The caller's B, with rows of so many bytes.
#[derive(Clone, Copy, Debug)]
struct B {
    ptr: *const u8,
    rows: usize,
    row: usize,
}

// SAFETY: memory is only read, and the caller keeps it.
unsafe impl Sync for B {}

impl B {
    fn bytes(&self) -> &[u8] {
        // SAFETY: `girih_reads_prepare`'s caller vouches for it.
        unsafe { std::slice::from_raw_parts(self.ptr, self.rows * self.row) }
    }
}

/// What a product moves besides rows of B.
#[derive(Debug)]
struct Moved {
    /// The values of A, byte by byte.
    values: Vec<u8>,
    /// The first of as many rows of C as A has, which are as long as those of B.
    c: *mut u8,
    rows: usize,
}

// SAFETY: threads write disjoint parts of C, which the caller lends.
unsafe impl Sync for Moved {}

impl Moved {
    /// Reads the values of some of `nnz` entries, if `reads`, and writes as large a share of C's rows: bytes
    /// from `at` on of each, `width` of `row`.
    ///
    /// # Safety
    /// C must be writable, rows must have so many bytes, and no other thread may have these entries and bytes.
    unsafe fn move_with(
        &self,
        entries: Range<usize>,
        nnz: usize,
        reads: bool,
        (at, width, row): (usize, usize, usize),
        past: bool,
    ) {
        if reads {
            let size = self.values.len() / nnz;
            let values = &self.values[entries.start * size..entries.end * size];
            hint::black_box(values.iter().fold(0, |all, byte| all | byte));
        }
        let rows = self.rows * entries.start / nnz..self.rows * entries.end / nnz;
        // Whole rows lie one after the other.
        let (count, width) = match width == row {
            true => (usize::from(!rows.is_empty()), rows.len() * width),
            false => (rows.len(), width),
        };
        for i in 0..count {
            let to = self.c.wrapping_add((rows.start + i) * row + at);
            // SAFETY: the caller's contract.
            unsafe { if past { write_past(to, width) } else { to.write_bytes(0, width) } }
        }
    }
}

/// Writes zeros past the caches, but for a beginning and an end that are not whole lines.
///
/// # Safety
/// `to` must be writable for `len` bytes.
unsafe fn write_past(to: *mut u8, len: usize) {
    let begin = to.align_offset(LINE).min(len);
    let whole = (len - begin) / LINE * LINE;
    // SAFETY: the caller's contract: all three parts are within `len` bytes.
    unsafe {
        to.write_bytes(0, begin);
        #[cfg(target_arch = "x86_64")]
        for at in (begin..begin + whole).step_by(16) {
            use std::arch::x86_64::{_mm_setzero_si128, _mm_stream_si128};
            _mm_stream_si128(to.add(at).cast(), _mm_setzero_si128());
        }
        #[cfg(not(target_arch = "x86_64"))]
        to.add(begin).write_bytes(0, whole);
        to.add(begin + whole).write_bytes(0, len - begin - whole);
    }
}

/// Waits until what was written past the caches is there.
fn fence() {
    // SAFETY: every x86-64 processor has the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

impl Reads {
    /// Finds the fastest way.
    fn new(col_idx: Vec<u32>, b: B, moved: Option<Moved>, threads: usize) -> Outcome<Self> {
        let mut ways: Vec<(Way, f64)> = ways(b.row, b.rows, threads, moved.is_some())
            .into_iter()
            .map(|way| (way, f64::INFINITY))
            .collect();
        let crew = Crew::new(threads)?;
        let mut this = Self { col_idx, b, moved, way: ways[0].0, packed: Vec::new(), crew };
        let mut best = f64::INFINITY;
        for passes in PASSES {
            let limit = 1.5 * best;
            for (way, time) in
                ways.iter_mut().filter(|(_, time)| passes == PASSES[0] || *time <= limit)
            {
                this.take(*way);
                for _ in 0..passes {
                    let start = Instant::now();
                    this.pass();
                    *time = time.min(start.elapsed().as_secs_f64());
                }
                best = best.min(*time);
            }
        }
        let fastest = ways.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(this.way, |w| w.0);
        this.take(fastest);
        Ok(this)
    }

    /// Goes over to a way.
    fn take(&mut self, way: Way) {
        if !way.packed {
            self.packed = Vec::new();
        } else if !self.way.packed || self.way.width != way.width {
            self.packed = pack(self.b.bytes(), self.b.row, way.width);
        }
        self.way = way;
    }

    /// Reads everything once, and moves what else there is.
    fn pass(&self) {
        let Self { col_idx, b: B { rows, row, .. }, moved, way, .. } = self;
        let (threads, panels) = (self.crew.threads(), row / way.width);
        let b = if way.packed { &self.packed } else { self.b.bytes() };
        self.crew.run(|thread| {
            let share = |len: usize| len * thread / threads..len * (thread + 1) / threads;
            let (panels, entries) = match way.by_panels {
                true => (share(panels), 0..col_idx.len()),
                false => (0..panels, share(col_idx.len())),
            };
            for panel in panels {
                let (at, stride) = match way.packed {
                    true => (panel * rows * way.width, way.width),
                    false => (panel * way.width, *row),
                };
                let first = b[at..].as_ptr();
                let read = |entries: Range<usize>| {
                    let rows = Rows { col_idx: &col_idx[entries], first, stride, ahead: way.ahead };
                    // SAFETY: columns are less than the rows of B, each of which has the panel's bytes.
                    hint::black_box(unsafe { rows.read(way.width) });
                };
                let Some(moved) = moved else {
                    read(entries.clone());
                    continue;
                };
                let stretch = (STRETCH / way.width).clamp(ENTRIES[0], ENTRIES[1]);
                for start in entries.clone().step_by(stretch) {
                    let entries = start..entries.end.min(start + stretch);
                    read(entries.clone());
                    let part = (panel * way.width, way.width, *row);
                    // SAFETY: `girih_reads_prepare`'s caller vouches for C; entries or panels are this
                    // thread's alone.
                    unsafe {
                        moved.move_with(entries, col_idx.len(), panel == 0, part, way.past);
                    }
                }
            }
            if way.past {
                fence();
            }
        });
    }
}

/// Prepares to read, for every entry of A in turn, the row of B that it names, on `threads` threads, the
/// caller one of them: in the fastest of whole rows or panels of them, in place or copied apart
/// beforehand, asked for ahead or not, threads dealing entries or panels. B is `ncols`×`n` of A's type,
/// row-major and without gaps; its rows must have 4, 8, 32 or a multiple of 64 bytes. With `c`, `nrows`×`n` and
/// like B, values of A are read too, and C is overwritten with zeros.
///
/// # Safety
/// `arrays` must be null, or its pointers null or readable for as much as its sizes say; `b` must be
/// null or readable for that many values until [`girih_reads_free`], and `c` null or writable, by nobody else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_reads_prepare(
    arrays: *const CsrArrays,
    b: *const c_void,
    c: *mut c_void,
    n: usize,
    threads: usize,
) -> *mut Reads {
    let reads = guard(|| {
        // SAFETY: null, or readable, as the caller vouches.
        let arrays = unsafe { arrays.as_ref() }.ok_or("arrays is null")?;
        if b.is_null() || threads == 0 {
            return Err("B is null or threads is 0".into());
        }
        let row = n.checked_mul(arrays.value_bits as usize / 8).ok_or("n is too large")?;
        if !matches!(row, 4 | 8 | 32) && (row == 0 || row % LINE != 0) {
            return Err(format!("rows of {row} bytes are not read").into());
        }
        let b = B { ptr: b.cast(), rows: usize::try_from(arrays.ncols)?, row };
        // Checked, so that no entry reads beyond B.
        // SAFETY: as the caller vouches.
        let (col_idx, values) = unsafe { entries(arrays) }?;
        let rows = usize::try_from(arrays.nrows)?;
        let moved = (!c.is_null()).then_some(Moved { values, c: c.cast(), rows });
        Ok(Box::new(Reads::new(col_idx, b, moved, threads)?))
    });
    reads.map_or(ptr::null_mut(), Box::into_raw)
}

/// The columns of a valid matrix, and its values byte by byte.
///
/// # Safety
/// As for [`CsrArrays::copy`].
unsafe fn entries(arrays: &CsrArrays) -> Outcome<(Vec<u32>, Vec<u8>)> {
    match arrays.value_bits {
        32 => {
            // SAFETY: the caller's contract.
            let csr = unsafe { arrays.copy::<f32>() }?;
            let values = csr.values().iter().flat_map(|value| value.to_ne_bytes()).collect();
            Ok((csr.col_idx().to_vec(), values))
        }
        64 => {
            // SAFETY: the caller's contract.
            let csr = unsafe { arrays.copy::<f64>() }?;
            let values = csr.values().iter().flat_map(|value| value.to_ne_bytes()).collect();
            Ok((csr.col_idx().to_vec(), values))
        }
        bits => Err(format!("value_bits is {bits}, not 32 or 64").into()),
    }
}

/// Reads once.
///
/// # Safety
/// `reads` must be null, or from [`girih_reads_prepare`] and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_reads_run(reads: *const Reads) -> c_int {
    let done = guard(|| {
        // SAFETY: null, or alive, as the caller vouches.
        unsafe { reads.as_ref() }.ok_or("reads is null")?.pass();
        Ok(())
    });
    if done.is_some() { 0 } else { -1 }
}

/// Frees what was prepared and ends its threads.
///
/// # Safety
/// Null, or from [`girih_reads_prepare`] and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_reads_free(reads: *mut Reads) {
    if !reads.is_null() {
        // SAFETY: made by Box::into_raw, and freed once, as the caller vouches.
        drop(unsafe { Box::from_raw(reads) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_reads_what_the_entries_name() {
        // Rows of B in which each byte tells its row; one bit is in the last row only.
        let (rows, row) = (37, 512);
        let mut b: Vec<u8> = (0..rows * row).map(|i| (i / row) as u8 & 0x3f).collect();
        b[(rows - 1) * row..].fill(0x80);
        for width in [4, 8, 32, 64, 128, 256, 512] {
            for ahead in [false, true] {
                let read = |col_idx: &[u32]| {
                    let rows = Rows { col_idx, first: b.as_ptr(), stride: row, ahead };
                    // SAFETY: columns are less than the rows, which have 512 bytes.
                    unsafe { rows.read(width) }
                };
                let byte = |of: u64| of & 0xff;
                assert_eq!(byte(read(&[])), 0);
                assert_eq!(byte(read(&[1, 2, 4, 8, 1])), 0xf, "{width}");
                assert_eq!(byte(read(&[1, 36])), 0x81, "{width}");
            }
        }
    }

    #[test]
    fn panels_hold_their_part_of_every_row() {
        let b: Vec<u8> = (0..3 * 128).map(|i| (i / 64) as u8).collect();
        let packed = pack(&b, 128, 64);
        let lines: Vec<u8> = packed.chunks_exact(64).map(|line| line[63]).collect();
        assert_eq!(lines, [0, 2, 4, 1, 3, 5]);
    }

    #[test]
    fn the_fastest_way_is_kept_and_reads_in_any_number_of_threads() {
        let b = vec![1; 10 * 512];
        assert_eq!(ways(512, 10, 1, false).len(), 2 * (4 + 3));
        assert_eq!(ways(512, 10, 1, true).len(), 4 * (4 + 3));
        for threads in [1, 2, 3] {
            let b = B { ptr: b.as_ptr(), rows: 10, row: 512 };
            let reads = Reads::new(vec![0, 5, 3, 3, 9], b, None, threads).unwrap();
            assert_eq!(reads.packed.is_empty(), !reads.way.packed);
            (0..3).for_each(|_| reads.pass());
        }
    }

    #[test]
    fn every_way_of_moving_writes_all_of_c_and_nothing_else() {
        let b = vec![1; 10 * 512];
        for (nnz, rows) in [(5, 3), (300, 700), (3000, 40)] {
            let col_idx: Vec<u32> = (0..nnz).map(|i| i % 10).collect();
            for threads in [1, 2] {
                let (row, values) = (512, vec![1; 4 * nnz as usize]);
                // From an odd byte on, so that no line begins there.
                let mut c = vec![7u8; rows * row + 2];
                let moved = Moved { values, c: c[1..].as_mut_ptr(), rows };
                let b = B { ptr: b.as_ptr(), rows: 10, row };
                let mut reads = Reads::new(col_idx.clone(), b, Some(moved), threads).unwrap();
                for way in ways(row, 10, threads, true) {
                    c[1..=rows * row].fill(7);
                    reads.moved.as_mut().unwrap().c = c[1..].as_mut_ptr();
                    reads.take(way);
                    reads.pass();
                    assert!(c[1..=rows * row].iter().all(|&x| x == 0), "{way:?}");
                    assert!(c[0] == 7 && c[rows * row + 1] == 7, "{way:?}");
                }
            }
        }
    }
}
