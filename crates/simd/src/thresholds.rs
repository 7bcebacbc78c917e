//! Every tuned number of the CPU backend: its name, value and unit, and the measurement that it comes from.
//!
//! `girih-backend-cpu` reads them when it decides, kernels when they run. A measurement is named by the commit that
//! introduced the number. That crate's `docs/2026-11-tuning.md` says what was gained and how the numbers work together;
//! `bench/records` has the times of products with all of them. Another value changes the time of
//! products, and for some numbers ([`Threshold::changes_bits`]) the order of additions.

/// A tuned number.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Threshold {
    /// Its name, unique in the table.
    pub name: &'static str,
    /// What it decides.
    pub what: &'static str,
    /// Its value, in [`unit`](Self::unit)s.
    pub value: f64,
    /// What it counts.
    pub unit: &'static str,
    /// The measurement that it comes from.
    pub source: &'static str,
}

impl Threshold {
    /// Whether another value would give other bits: the number cuts columns, or picks a layout that adds in
    /// an order of its own.
    #[must_use]
    pub fn changes_bits(&self) -> bool {
        ["TILE_", "SLAB_", "SUMS_", "STACK_"].iter().any(|prefix| self.name.starts_with(prefix))
    }
}

macro_rules! thresholds {
    ($(#[doc = $what:literal] $name:ident: $ty:ty = $value:expr, $unit:literal, $source:literal;)*) => {
        $(#[doc = $what] pub const $name: $ty = $value;)*

        /// All thresholds, in the order in which a plan comes to them.
        pub const THRESHOLDS: &[Threshold] = &[$(
            Threshold {
                name: stringify!($name),
                what: $what.trim_ascii(),
                value: $value as f64,
                unit: $unit,
                source: $source,
            },
        )*];
    };
}

thresholds! {
    // Caches, and the part of them that a product may take.
    /// Last-level cache of a machine that does not report it.
    CACHE_LAST_LEVEL: u64 = 32 << 20, "bytes", "assumption: what servers have for a few cores";
    /// A core's own caches on a machine that does not report them.
    CACHE_PRIVATE: u64 = 1 << 20, "bytes", "assumption: what servers have for one core";
    /// First-level data cache.
    CACHE_FIRST_LEVEL: usize = 32 << 10, "bytes", "every x86-64 of the records; commit 2712ddf";
    /// Eighths of the last-level cache in which B, or the panels of all threads, stay.
    CACHE_B: usize = 5, "eighths", "commits be448c6, 3d848f8";
    /// Eighths of it for the part of B that neighbouring rows of A use.
    CACHE_USED_B: usize = 4, "eighths", "commit be448c6";
    /// Eighths of it up to which blocks of A come fast enough without prefetching.
    CACHE_BLOCKS: usize = 1, "eighths", "commit f50872e";
    /// Eighths of it that a packed panel of four vectors may take.
    CACHE_PANEL: usize = 3, "eighths", "commit be448c6";
    /// Eighths of it that a packed panel of two vectors may take.
    CACHE_PANEL_NARROW: usize = 6, "eighths", "commit be448c6";
    /// Quarters of a core's own caches in which a packed panel stays, or most of it.
    CACHE_PRIVATE_PANEL: usize = 5, "quarters", "commit ee46c81";
    /// Times a core's own caches from which on they hold neither B nor most of it.
    CACHE_BEYOND_PRIVATE: usize = 2, "times", "commit 988c38d";

    // Packing panels of B.
    /// Rows of B are packed from this width on.
    PACK_ROW_BYTES: usize = 512, "bytes", "commit be448c6";
    /// From this width on, panels of rows of B fall into few sets of the caches.
    PACK_FAR_ROW_BYTES: usize = 1024, "bytes", "commit 3d848f8";
    /// The same on processors that gain by prefetching them.
    PACK_FAR_ROW_BYTES_PREFETCHED: usize = 2048, "bytes", "commit 3d848f8";
    /// Least number of times that a cache fetches each row of B, on one thread.
    PACK_MISSES: f64 = 6.0, "times", "commits 3d848f8, ee46c81";
    /// The same on two threads, which take panels instead of tasks.
    PACK_MISSES_OF_TWO: f64 = 10.0, "times", "commit ee46c81";
    /// The same on more threads, for each thread that packs the same panel.
    PACK_MISSES_OF_SHARE: f64 = 16.0, "times", "commit ee46c81";
    /// The same for panels of two vectors, where loops are half as long.
    PACK_MISSES_NARROW: f64 = 16.0, "times", "commit ee46c81";
    /// The same for a B of which a core's own caches hold the larger half.
    PACK_MISSES_NEAR: f64 = 24.0, "times", "commit ee46c81";
    /// Least number of loads of each row of B, of the least width, to pack slabs, for each share.
    PACK_LOADS_OF_SHARE: usize = 16, "loads", "commit 153cafe";
    /// Least number of entries in a row of A where each panel goes through all rows of C.
    PACK_ENTRIES: usize = 20, "entries", "commit ee46c81";
    /// Least number of values in dense tiles for each row of B.
    PACK_STRIP_USES: usize = 1024, "values", "commit 106395f";
    /// Rows of a dense strip up to which panels serve more than two threads.
    PACK_STRIP_ROWS: usize = 16, "rows", "commit bb35b76";
    /// From this many panels for each thread on, threads need not have equally many.
    PACK_PANELS_EACH: usize = 4, "panels", "commit 05b1be7";
    /// Most threads that pack the same panel to multiply a share of the tasks by it each.
    PACK_SHARES: usize = 2, "threads", "commit e16ab23";
    /// Rows of B that a thread packs at a time.
    PACK_ROWS: usize = 256, "rows", "commit be448c6";
    /// Rows ahead of the one that is packed, for prefetching.
    PACK_AHEAD: usize = 16, "rows", "commit f0038dc";
    /// Rows that are packed together where columns are not next to each other.
    PACK_TOGETHER: usize = 16, "rows", "commit 106395f: a cache line of each column";

    // Copies of CSR.
    /// Vectors of C's row up to which rows are sorted for their lengths alone.
    SORT_VECTORS: usize = 2, "vectors", "commits 27bc3b6, 9e1ce02";
    /// Entries of a row, on average, up to which rows are sorted.
    SORT_ENTRIES: usize = 128, "entries", "commit 27bc3b6";
    /// Fewest rows that are sorted together.
    SORT_ROWS_MIN: usize = 256, "rows", "commit 27bc3b6";
    /// Most rows that are sorted together.
    SORT_ROWS_MAX: usize = 1024, "rows", "commit 269cf35";
    /// Entries that rows sorted together have, between these bounds.
    SORT_WINDOW_ENTRIES: usize = 2048, "entries", "commit 269cf35";
    /// Parts that each of several threads has at the least, of sorted rows and of tiles.
    SORT_PARTS_EACH: usize = 16, "parts", "commit 1e971d8";
    /// Least number of entries of a part of a task.
    SORT_PART_ENTRIES: usize = 4096, "entries", "commit 49df319";
    /// Entries of a task from which on it is cut.
    SORT_LARGE_ENTRIES: usize = 4 * SORT_PART_ENTRIES, "entries", "commit 49df319";
    /// Sixteenths of the rows that follow the one before, for parts of cache lines to go past the caches.
    SORT_CONSECUTIVE: usize = 15, "sixteenths", "commit e6b65b4";
    /// Loads of rows of B that a tile spares on average, at the least, for one vector of columns.
    TILE_LOADS: usize = 18, "loads", "commit c0e3cf8";
    /// How many more for each pattern whose end the processor guesses wrong.
    TILE_LOADS_OF_CHANGE: usize = 3, "loads", "commit c0e3cf8";
    /// The same for more than one vector.
    TILE_LOADS_OF_VECTORS: usize = 16, "loads", "commit 40c6614";
    /// The same for one or two groups of four vectors, and for more than two vectors of a near B.
    TILE_LOADS_OF_GROUPS: usize = 6, "loads", "commits ee28e2f, 40c6614";
    /// Bytes of a B that is near. Rows of a larger one may be prefetched: measured when tiles of less than four vectors were not.
    TILE_NEAR_B: usize = 5 << 20, "bytes", "commit c0e3cf8";
    /// Loads that a tile spares for more groups, of which rows alone would read their rows of B whole.
    TILE_LOADS_WIDE: usize = 8, "loads", "commit ee46c81";
    /// The same with AVX2 for four vectors and more, which go through the tiles one after the other.
    TILE_LOADS_BY_VECTOR: usize = 80, "loads", "commit 40c6614";
    /// Rows of tiles that go through a group of columns together.
    TILE_ROWS_TOGETHER: usize = 1024, "rows", "commit 153cafe";
    /// Parts of all tiles that each of several threads has at the least, where there are slabs.
    TILE_PARTS_EACH_IN_SLABS: usize = 4, "parts", "commit 153cafe";
    /// Tasks that are looked at to judge tiles.
    TILE_SAMPLED_TASKS: usize = 8, "tasks", "commit f0038dc";
    /// Columns of the smallest slab; others have two, four and eight times as many.
    SLAB_COLS: usize = 256, "columns", "commit 153cafe";
    /// Columns of A from which on slabs larger than the smallest are considered.
    SLAB_ALL_COLS: usize = 3072, "columns", "commit 153cafe";
    /// Least number of columns that a tile has in a slab, on average.
    SLAB_TILE_COLS: usize = 100, "columns", "commit 153cafe";
    /// The same for more rows than stay in the caches from slab to slab.
    SLAB_TILE_COLS_FAR: usize = 150, "columns", "commit 153cafe";
    /// Rows of A up to which sums of a group of columns stay in the caches from slab to slab.
    SLAB_ROWS: usize = 4096, "rows", "commit 153cafe";

    // Widening a narrow B.
    /// Columns below which B is widened where one instruction loads a part of a vector of 16-bit values.
    WIDEN_COLS: usize = 2, "columns", "commit a354ada";
    /// Vectors below which it is elsewhere, unless its rows are whole vectors.
    WIDEN_VECTORS: usize = 2, "vectors", "commit a354ada";
    /// Entries for each row of a B of several columns, from which it is widened.
    WIDEN_ENTRIES: usize = 2, "entries", "commit a354ada";

    // Copying B into cache lines.
    /// Bytes of a cache line.
    LINE_BYTES: usize = 64, "bytes", "by construction";
    /// Bytes of a row of B up to which it is read where it lies.
    LINE_ROW_BYTES: usize = 16, "bytes", "commit 643f6017";
    /// Bytes from which on it is, if every other row begins with a line.
    LINE_HALVES_ROW_BYTES: usize = 128, "bytes", "commit 643f6017";
    /// Loads of each row of B, on average, from which on a single thread copies a B beside cache lines.
    LINE_LOADS: usize = 12, "loads", "commit 643f6017";
    /// The same if the core's own caches hold the copy.
    LINE_LOADS_PRIVATE: usize = 8, "loads", "commit 643f6017";
    /// The same for each of several threads, which fetch the copy from each other's cores.
    LINE_LOADS_EACH: usize = 32, "loads", "commit 643f6017";
    /// Entries for each load of a row of B from which on multiplying takes longer than loading.
    LINE_SHARED: usize = 2, "entries", "commit 643f6017";

    // Prefetching rows of B, and entries of A.
    /// Stretches of entries that are looked at.
    PREFETCH_SAMPLES: usize = 16, "stretches", "commit 18a9f58";
    /// Entries of a stretch.
    PREFETCH_STRETCH: usize = 1 << 13, "entries", "commit 18a9f58";
    /// A row of B is predicted if the row before it was used at most this many entries ago.
    PREFETCH_STREAM: usize = 64, "entries", "commit 18a9f58";
    /// Least share of entries whose row of B comes unpredicted from beyond a core's own caches.
    PREFETCH_SHARE: f64 = 0.45, "of entries", "commit 18a9f58";
    /// Times a core's own caches from which on rows of B are prefetched even where they are predicted.
    PREFETCH_FAR: usize = 8, "times", "commits 18a9f58, d3174a3";
    /// Times a core's own caches below which rows of B are not prefetched.
    PREFETCH_NEAR: usize = 5, "times", "commits d3174a3, ee46c81";
    /// Bytes of a row of B up to which tiles prefetch none.
    TILE_PREFETCH_BYTES: usize = 32, "bytes", "commit c33a5678";
    /// The same where the last-level cache does not hold B.
    TILE_PREFETCH_FAR_BYTES: usize = 16, "bytes", "commit c33a5678";
    /// Entries ahead that rows of B are prefetched, for rows of up to 256 bytes.
    PREFETCH_AHEAD: usize = 128, "entries", "commit c47d693";
    /// The same for wider rows.
    PREFETCH_AHEAD_WIDE: usize = PREFETCH_AHEAD / 4, "entries", "commit 18a9f58";
    /// Bytes of a row of B up to which the longer distance serves.
    PREFETCH_AHEAD_ROW_BYTES: usize = 256, "bytes", "commit c47d693";
    /// Rows ahead that a slice's rows of B are prefetched.
    PREFETCH_AHEAD_ROWS: usize = 64, "rows", "commit c47d693";
    /// Entries whose rows of B are prefetched at once, where each has few multiply-adds.
    PREFETCH_AT_ONCE: usize = 8, "entries", "commit 2712ddf";
    /// Bytes ahead that columns and values of A are prefetched.
    PREFETCH_A_AHEAD: usize = 1024, "bytes", "commit 2712ddf";
    /// Bytes ahead that values of tiles are prefetched: a row of B is loaded for several of them.
    TILE_VALUES_AHEAD: usize = 4096, "bytes", "commit d78fb85e";
    /// Columns of a tile that the same rows hold, after which entries are prefetched again.
    TILE_COLS_AT_ONCE: usize = 16, "columns", "commit d78fb85e";
    /// Below this row size the hardware prefetcher follows A by itself, unless A's columns are scattered.
    PREFETCH_A_ROW_BYTES: usize = 16, "bytes", "commit f50872e";
    /// Bytes of a row of B up to which a larger B is needed to prefetch A.
    PREFETCH_A_NARROW_BYTES: usize = 128, "bytes", "commit 2712ddf";
    /// Quarters of a core's own caches that such a B takes, at the least.
    PREFETCH_A_NARROW: usize = 3, "quarters", "commit 2712ddf";
    /// Quarters that a B with wider rows takes, at the least.
    PREFETCH_A_WIDE: usize = 1, "quarters", "commit 2712ddf";

    // Products of complex values.
    /// Bytes of rows of B that a block of rows of A uses, so that its second product finds them in a core's caches.
    COMPLEX_B_BYTES: usize = 128 << 10, "bytes", "assumption: half of a second-level cache of 256 KiB";
    /// Sums of a block, in complex numbers.
    COMPLEX_SUMS: usize = 1024, "numbers", "by construction: 16 KiB for each of the two products of c64, half a first-level cache";

    // Rows and strips.
    /// Vectors of a row of B that are read one after the other where B is beyond the last-level cache.
    WHOLE_VECTORS: usize = 32, "vectors", "commit 106395f";
    /// Entries of a row of A from which on that is done.
    WHOLE_ENTRIES: usize = 64, "entries", "commit 106395f";
    /// Fewest entries of a row of A for which a far B is read two vectors at a time.
    PAIR_ENTRIES_MIN: usize = 14, "entries", "commit 643f6017";
    /// Most entries for which it is.
    PAIR_ENTRIES_MAX: usize = 64, "entries", "commit 643f6017";
    /// Most vectors of a row of B that are.
    PAIR_VECTORS_MAX: usize = 5, "vectors", "commit 643f6017";
    /// Fewest rows of a strip that packs the rows of B that it uses.
    STRIP_PACK_ROWS_MIN: usize = 32, "rows", "commit 1fc0f4a";
    /// Most rows of such a strip.
    STRIP_PACK_ROWS_MAX: usize = 128, "rows", "commit 1fc0f4a: scratch for their sums";
    /// Most columns of a run of such a strip.
    STRIP_PACK_RUN_COLS: usize = 1024, "columns", "commit 1fc0f4a: scratch for its rows of B";
    /// Vectors of each row of B that are packed at a time, and the fewest of a product.
    STRIP_PACK_VECTORS: usize = 4, "vectors", "commit 1fc0f4a";
    /// Bytes of packed rows that all rows of a strip go through.
    STRIP_PACK_BYTES: usize = 16 << 10, "bytes", "commit 1fc0f4a: half a first-level cache";

    // Storing C.
    /// Bytes of C beyond which rows are written past the caches.
    STORE_PAST_BYTES: usize = 2 << 20, "bytes", "commit c47d693";
    /// The same for tiles of several rows.
    STORE_PAST_TILES_BYTES: usize = 4 << 20, "bytes", "commit c47d693";
    /// Vectors of a row of C from which whole lines are written past the caches, though its ends are not.
    HEADED_PAST_VECTORS: usize = 8, "vectors", "commit bf44765b: with 4, rows of two entries were slower";

    // Threads.
    /// Least work that is shared with other threads.
    THREADS_SHARED: usize = 1 << 19, "multiply-adds", "commit 8b03fc3";
    /// Work that a thread takes at a time.
    THREADS_GRAIN: usize = 1 << 16, "multiply-adds", "commit 8b03fc3";
    /// Work of finding a stored value.
    THREADS_FIND: usize = 15, "multiply-adds", "commit ffbbcef";
    /// Work of an entry of a sampled product, besides its multiply-adds.
    THREADS_SAMPLED: usize = 32, "multiply-adds", "assumption";
    /// Least number of elements of B to copy that is shared with other threads.
    THREADS_COPIED: usize = 1 << 16, "elements", "commit f476f07";
    /// How long threads wait for each other before they sleep.
    THREADS_PATIENCE: u64 = 100, "microseconds", "commit 93981ea";
    /// Pauses before a waiting thread yields its processor.
    THREADS_PAUSES: u32 = 64, "pauses", "commit 176427f";

    // Sums of parts, and scratch on the stack. These numbers cut sums into pieces.
    /// Columns of split windows are cut at multiples of this.
    SUMS_UNIT: usize = 256, "bytes", "by construction: four vectors, the kernels' group of columns";
    /// Most bytes of a row of such a panel.
    SUMS_MAX: usize = 4096, "bytes", "commit eaf9c92";
    /// Bytes of scratch for sums that are taken however small the matrix is.
    SUMS_FREE: usize = 1 << 20, "bytes", "commit eaf9c92";
    /// Rows whose sums are carried from piece to piece on the stack.
    SUMS_CARRIED_ROWS: usize = 16, "rows", "by construction: rows of a BMat window";
    /// Columns of these sums.
    SUMS_CARRIED_COLS: usize = 256, "columns", "by construction: whole groups of four vectors";
    /// Sums of CSR that are finished at a time.
    FINISHED_SUMS: usize = 8192, "sums", "commit ef9ba522: with half of it, 2 % slower at 64 columns";
    /// Columns of these sums.
    FINISHED_COLS: usize = 256, "columns", "by construction: there are sums for a slice of 16 rows";
    /// Rows of these sums.
    FINISHED_ROWS: usize = 512, "rows", "commit ef9ba522";
    /// Entries of CSR that are widened at a time.
    STACK_CSR_ENTRIES: usize = 2048, "entries", "commit eaf9c92";
    /// Values of dense tiles that are widened at a time.
    STACK_STRIP_VALUES: usize = 4096, "values", "commit eaf9c92";
    /// Entries of BMat that are decoded at a time.
    STACK_BMAT_ENTRIES: usize = 1024, "entries", "commit eaf9c92";
    /// Groups of 2:4 that are decoded at a time.
    STACK_TWO_FOUR_GROUPS: usize = 1024, "groups", "commit eaf9c92";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_name_of_its_own_a_unit_and_a_source() {
        let mut names: Vec<_> = THRESHOLDS.iter().map(|threshold| threshold.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), THRESHOLDS.len());
        for threshold in THRESHOLDS {
            let Threshold { name, what, value, unit, source } = threshold;
            assert!(!what.is_empty() && !unit.is_empty(), "{name}");
            let is_traced = ["commit", "by construction", "assumption", "every x86-64"];
            assert!(is_traced.iter().any(|begin| source.starts_with(begin)), "{name}: {source}");
            assert!(value.is_finite() && *value > 0.0, "{name}");
        }
        assert!(THRESHOLDS.iter().any(Threshold::changes_bits));
    }
}
