//! A lowering as text: each choice with its reason.

use girih_backend::Lowering;
use girih_formats::FormatSpec;
use girih_simd::{GROUP_VECTORS, Isa, leaves_caches};

use super::{CpuLowering, Kernel, LayoutChoice, PackedBy, ProductLowering};
use crate::NAME;
use crate::machine::Vendor;
use crate::thresholds::{
    HEADED_PAST_VECTORS, STORE_PAST_BYTES, STORE_PAST_TILES_BYTES, STRIP_PACK_VECTORS,
    THREADS_FIND, THREADS_SHARED, WHOLE_ENTRIES,
};

impl CpuLowering {
    /// What a product of `n` columns executes on `threads` threads, if operands are row-major and β = 0.
    pub(crate) fn describe(&self, n: usize, threads: usize) -> Lowering {
        let product = self.product(n, n == 1, threads);
        let mut lowering = Lowering::new(NAME, self.machine(threads), n);
        let mut add = |what: &str, choice: String, why: String| {
            lowering = lowering.clone().with(what, choice, why);
        };
        let kernel = self.kernel(&product);
        add("kernel", kernel.describe().to_owned(), self.why_kernel(kernel));
        if let LayoutChoice::Sorted(sorting, counts) = self.layout.choice
            && product.by_copy
        {
            let sliced = match counts.sliced_rows {
                0 => String::new(),
                rows => format!(", {rows} rows share column indices with the row before"),
            };
            let parts = match counts.parts {
                0 | 1 => String::new(),
                parts => format!(", tasks in {parts} parts"),
            };
            let choice = format!("rows of each task by length{parts}{sliced}");
            let why = if sorting.slices {
                ""
            } else {
                "column indices are shared up to two vectors only"
            };
            add("copy of A", choice, why.to_owned());
        }
        if let LayoutChoice::Tiles(tiles, counts) = self.layout.choice
            && product.by_copy
        {
            let choice = format!(
                "{} tiles of up to 4 rows, {} loads of rows of B for {} entries",
                counts.tiles, counts.loads, self.case.nnz
            );
            add(
                "copy of A",
                choice,
                format!("{} % of the loads are spared in a sample of the tasks", tiles.spared),
            );
            if let Some(cols) = tiles.slab_cols {
                let choice = format!("{} of {cols} columns", self.case.k.div_ceil(cols));
                let loads = counts.loads / self.case.k.max(1);
                let why = format!(
                    "tiles have many columns in each, and load each row of B {loads} times"
                );
                add("slabs", choice, why);
            }
        }
        let (choice, why) = self.packing_of(&product, n);
        add("B", choice, why);
        let is_csr = matches!(kernel, Kernel::Rows | Kernel::Sorted | Kernel::Tiles);
        if is_csr && product.packed.is_none() && !product.widens_b {
            let (choice, why) = self.copy_of_b(&product, n, threads);
            add("copy of B", choice, why);
        }
        let (choice, why) = self.prefetching_b(&product, n);
        add("prefetch of B", choice, why);
        let (choice, why) = self.prefetching_a(&product, n);
        add("prefetch of A", choice, why);
        if kernel == Kernel::Strips {
            let (choice, why) = self.strip_packing_of(&product, n);
            add("strip packing", choice, why);
        }
        if self.reads_whole_rows(&product, n) {
            let choice = format!("whole, by rows of A of {WHOLE_ENTRIES} entries and more");
            add("rows of B", choice, "B is beyond the last-level cache".to_owned());
        }
        if self.schedule.split.windows > 0 {
            let split = self.schedule.split;
            let choice = format!(
                "{} in {} parts, {} columns at a time, {} bytes of sums",
                split.windows, split.parts, split.cols, split.bytes
            );
            add(
                "split windows",
                choice,
                "the schedule splits them; parts are added in order".to_owned(),
            );
        }
        let (choice, why) = match self.writes_past(kernel, &product, n) {
            Ok(why) => ("written past the caches", why),
            Err(why) => ("written into the caches", why),
        };
        add("C", choice.to_owned(), why);
        let workers = self.workers(&product, n, threads);
        let (choice, why) = match workers {
            1 if threads > 1 => {
                let work = self.case.stored.saturating_mul(n + THREADS_FIND);
                let why = format!(
                    "{} tasks of {work} multiply-adds in all; {THREADS_SHARED} are shared",
                    self.schedule.tasks
                );
                ("the calling thread alone".to_owned(), why)
            }
            1 => ("the calling thread".to_owned(), String::new()),
            workers => (format!("up to {workers}, {} tasks", self.schedule.tasks), String::new()),
        };
        add("threads", choice, why);
        lowering
    }

    /// Instruction set, threads, and the parts of the machine that decide.
    fn machine(&self, threads: usize) -> String {
        let machine = self.case.machine;
        let vendor = match machine.vendor {
            Vendor::Amd => "AMD",
            Vendor::Intel => "Intel",
            Vendor::Other => "other processor",
        };
        let kib = |bytes: usize| bytes >> 10;
        format!(
            "{}, {threads} threads, {vendor}, caches of {} and {} KiB",
            self.case.isa,
            kib(machine.private),
            kib(machine.last_level)
        )
    }

    fn why_kernel(&self, kernel: Kernel) -> String {
        match (&self.layout.choice, kernel) {
            (LayoutChoice::Tiles(..), Kernel::Rows) => "tiles are for several columns".to_owned(),
            (_, Kernel::Rows | Kernel::Sorted | Kernel::Tiles) => self.layout.why.clone(),
            (_, Kernel::Strips) => "windows hold dense values".to_owned(),
            (_, Kernel::Decoded) => match self.case.spec {
                FormatSpec::TwoFour => "positions are decoded to columns".to_owned(),
                _ => "masks are decoded to columns".to_owned(),
            },
        }
    }

    fn packing_of(&self, product: &ProductLowering, n: usize) -> (String, String) {
        if product.widens_b {
            let (lanes, nnz, k) = (self.case.lanes(), self.case.nnz, self.case.k);
            let why = format!(
                "n = {n} is no whole vectors of {lanes}; A has {nnz} entries for {k} rows of B"
            );
            return ("widened to the type of sums first".to_owned(), why);
        }
        let Some(panels) = self.packing.choice else {
            return ("read in place".to_owned(), self.packing.why.clone());
        };
        let (vectors, rows) = (panels.vectors, panels.rows);
        match product.packed {
            Some(PackedBy::Each { panels: count, shares }) => {
                let by = match shares {
                    1 => "each by one thread".to_owned(),
                    _ => format!("each by {shares} threads in shares of the tasks"),
                };
                (
                    format!("packed in {count} panels of {vectors} vectors and {rows} rows, {by}"),
                    self.packing.why.clone(),
                )
            }
            Some(PackedBy::All { panels: count }) => {
                let choice = format!(
                    "packed in {count} panels of {vectors} vectors and {rows} rows, by all threads"
                );
                (choice, self.packing.why.clone())
            }
            None => {
                let why = format!(
                    "{} bytes a row; panels are packed from {} on",
                    self.case.row_bytes(n),
                    panels.row_bytes
                );
                ("read in place".to_owned(), why)
            }
        }
    }

    /// Whether a B that kernels could read in place is copied into cache lines.
    fn copy_of_b(&self, product: &ProductLowering, n: usize, threads: usize) -> (String, String) {
        match self.lines(product, n, threads) {
            Ok(lines) if lines.stride == n => {
                ("into cache lines, if it begins beside one".to_owned(), lines.to_string())
            }
            Ok(lines) => {
                ("into cache lines, unless its rows begin with them".to_owned(), lines.to_string())
            }
            Err(why) => ("none".to_owned(), why.to_string()),
        }
    }

    fn prefetching_b(&self, product: &ProductLowering, n: usize) -> (String, String) {
        let why = self.prefetch_b.why.clone();
        match self.prefetches_b(product, n) {
            true => ("yes".to_owned(), why),
            false if self.prefetch_b.choice => {
                let why =
                    "this kernel prefetches no rows of B, or the instruction set has no prefetch";
                ("no".to_owned(), why.to_owned())
            }
            false => ("no".to_owned(), why),
        }
    }

    fn prefetching_a(&self, product: &ProductLowering, n: usize) -> (String, String) {
        let case = &self.case;
        let mut why = self.prefetch_a.why.clone();
        if self.prefetch_a.choice.gains && n > 1 {
            let row_bytes = case.read_row_bytes(n, product.widens_b);
            let (b, needed) =
                (case.k.saturating_mul(row_bytes), case.machine.least_b_for_a_prefetch(row_bytes));
            why = format!("{why}; B has {b} bytes, {needed} are needed to prefetch A for it");
        }
        match self.prefetches_a(product, n) {
            true if !product.prefetch_a => {
                ("yes".to_owned(), "with the rows of B that they use".to_owned())
            }
            true => ("yes".to_owned(), why),
            false if product.prefetch_a => {
                ("no".to_owned(), "strips of single vectors prefetch nothing".to_owned())
            }
            false => ("no".to_owned(), why),
        }
    }

    fn strip_packing_of(&self, product: &ProductLowering, n: usize) -> (String, String) {
        let least = STRIP_PACK_VECTORS * self.case.lanes();
        match product.packs_strips {
            true if n >= least => ("yes".to_owned(), self.strip_packing.why.clone()),
            true => ("no".to_owned(), format!("{least} columns are needed")),
            false => ("no".to_owned(), self.strip_packing.why.clone()),
        }
    }

    /// Whether kernels of sparse rows can begin vectors with cache lines and write whole lines of C past the caches, though operands begin
    /// within lines.
    fn begins_with_lines(&self, product: &ProductLowering, n: usize) -> bool {
        let case = &self.case;
        let (lanes, is_packed) = (case.lanes(), product.packed.is_some());
        let has_heads = case.isa == Isa::Avx512 && case.is_wide();
        let is_even = !(1..=2 * lanes).contains(&(n % (GROUP_VECTORS * lanes)));
        has_heads && is_even && !is_packed && n >= HEADED_PAST_VECTORS * lanes
    }

    /// Why C is written past the caches, and where its first row has to begin for that; else why it is not.
    pub(super) fn writes_past(
        &self,
        kernel: Kernel,
        product: &ProductLowering,
        n: usize,
    ) -> Result<String, String> {
        let case = &self.case;
        let bytes = case.m.saturating_mul(n).saturating_mul(case.sum_bytes);
        let in_tiles = matches!(kernel, Kernel::Tiles | Kernel::Strips);
        let limit = if in_tiles { STORE_PAST_TILES_BYTES } else { STORE_PAST_BYTES };
        let row = n * case.sum_bytes;
        if !leaves_caches(bytes, in_tiles) {
            return Err(format!("{bytes} bytes, up to {limit}"));
        }
        if !(row.is_multiple_of(64) || row == 32 || row == 16) {
            return Err(format!("rows of {row} bytes are no whole cache lines"));
        }
        let is_in_slabs = matches!(&self.layout.choice, LayoutChoice::Tiles(tiles, _) if tiles.slab_cols.is_some());
        if kernel == Kernel::Tiles && is_in_slabs {
            return Err("slabs add to it".to_owned());
        }
        let is_apart =
            matches!(&self.layout.choice, LayoutChoice::Sorted(_, counts) if !counts.consecutive);
        if kernel == Kernel::Sorted && is_apart && !row.is_multiple_of(64) {
            return Err(format!("rows of {row} bytes that are sorted fill no whole cache lines"));
        }
        if kernel == Kernel::Strips
            && self.strip_packing.choice
            && n >= STRIP_PACK_VECTORS * case.lanes()
        {
            return Err("sums of strips are stored from scratch".to_owned());
        }
        let begins = match kernel {
            Kernel::Sorted if self.begins_with_lines(product, n) => "wherever its first row begins",
            Kernel::Rows | Kernel::Decoded if product.b_is_far => {
                "its first row has to begin with a cache line"
            }
            Kernel::Rows | Kernel::Decoded | Kernel::Tiles
                if self.begins_with_lines(product, n) =>
            {
                "its first row has to begin with a cache line, or as far after one as B"
            }
            _ => "its first row has to begin with a cache line",
        };
        let why = format!("{bytes} bytes, more than {limit}; {begins}");
        Ok(match kernel {
            Kernel::Strips | Kernel::Decoded if !case.is_wide() || kernel == Kernel::Decoded => {
                format!("{why}, and sums of windows in pieces come from scratch")
            }
            _ => why,
        })
    }
}

impl Kernel {
    fn describe(self) -> &'static str {
        match self {
            Self::Rows => "rows of CSR as stored",
            Self::Sorted => "rows of CSR sorted by length",
            Self::Tiles => "tiles of CSR by patterns",
            Self::Strips => "dense strips",
            Self::Decoded => "decoded rows",
        }
    }
}
