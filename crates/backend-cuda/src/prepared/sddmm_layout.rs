//! How the entries of a pattern are shared out for sampled products: chosen from statistics, as a value.

use std::fmt;

use girih_backend::{Lowering, Rounding, Unsupported};
use girih_formats::stats::FormatStats;
use girih_formats::{CsrPattern, DType, FormatError, FormatSpec, RowLayout};

use super::tensor_cores;
use crate::kernels::Kernel;
use crate::kernels::csr_sddmm::{self, SampledOperands, Sampling};
use crate::kernels::sm90_window_sddmm::{self, DTYPES, WINDOW_ROWS, WindowSampling};
use crate::launch::{Each, Launch};
use crate::operand::Place;
use crate::{Arch, CudaError};

/// How the entries of a pattern are shared out for [sampled products](crate::CudaSddmm).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SddmmLayout {
    /// Whichever of the others is estimated to be faster, for X and Y with this many columns.
    ///
    /// Entry by entry a row of Y is read for every entry; by windows, in the natural order of rows, for every packed
    /// column, and each tile takes time of its own. So windows pay where their columns have several entries, rows of Y
    /// are long and there are windows for all multiprocessors. Where there are no kernels of windows, for the value
    /// type or the device, it is entry by entry.
    Fastest {
        /// Columns of X and Y that are expected; others are sampled too.
        d: usize,
    },
    /// Entry by entry, on CUDA cores: any value type, on any device.
    Entries,
    /// Windows of 16 rows in this order, times their packed columns, on tensor cores: f16 and bf16, on Hopper. The
    /// layout of a plan in WCSR is one, with
    /// [`with_window_rows(16)`](girih_formats::RowLayout::with_window_rows).
    Windows(RowLayout),
}

impl Default for SddmmLayout {
    /// The fastest for 64 columns.
    fn default() -> Self {
        Self::Fastest { d: 64 }
    }
}

/// What else an entry and a tile take, in bytes that the second-level cache gives meanwhile; and windows that are too few
/// for all multiprocessors. Measured on an H200 in f16 (7 matrices, 16 to 256 columns of X and Y, the example
/// `sampled`): 0.014 ns to an entry, 0.67 ns to a tile, and 6.5 TB/s. So windows take 0.6 of the time entry by entry for
/// `bcsstk33` (5.9 entries to a packed column, 547 windows) and 256 columns, and 1.3 of it for 16; with 104 to 300
/// windows, or two entries to a packed column, they were never faster.
const ENTRY_BYTES: f64 = 91.0;
const TILE_BYTES: f64 = 4350.0;
const LEAST_WINDOWS: u64 = if cfg!(test) { 4 } else { 512 };

/// Bytes that a sampled product reads of X, Y and the pattern, besides S: what the second-level cache serves if
/// nothing is read again from a first-level cache.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Traffic {
    d: usize,
    nnz: u64,
    windows: u64,
    /// Over all windows.
    packed_cols: u64,
    tiles: u64,
    /// Entry by entry, and by windows.
    bytes: [f64; 2],
}

impl Traffic {
    /// Of X and Y with `d` columns of a value type. O(nnz), without building windows.
    fn of(
        pattern: CsrPattern<'_>,
        layout: &RowLayout,
        dtype: DType,
        d: usize,
    ) -> Result<Self, FormatError> {
        let spec = FormatSpec::Wcsr { window_rows: WINDOW_ROWS, pad_cols: 8 };
        let FormatStats { windows, tiles, gathered_cols: packed_cols, .. } =
            FormatStats::of(pattern, spec, layout, dtype)?;
        let (nnz, row_bytes) = (pattern.nnz() as u64, (d * dtype.size()) as f64);
        let rows = pattern.row_ptr().windows(2).filter(|ends| ends[0] < ends[1]).count() as u64;
        // Rows of Y and of X, and what tells where entries are.
        let entries = (nnz + rows + nnz / 64) as f64 * row_bytes + 4.5 * nnz as f64;
        let tasks = (windows + tiles / 64) as f64;
        let by_windows = (packed_cols as f64 + WINDOW_ROWS as f64 * tasks) * row_bytes
            + 112.0 * tiles as f64
            + 16.0 * tasks;
        Ok(Self { d, nnz, windows, packed_cols, tiles, bytes: [entries, by_windows] })
    }

    fn prefers_windows(&self) -> bool {
        let [entries, windows] = self.bytes;
        let entries = entries.max(ENTRY_BYTES * self.nnz as f64);
        self.windows >= LEAST_WINDOWS && windows + TILE_BYTES * (self.tiles as f64) < entries
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_col = self.nnz as f64 / (self.packed_cols as f64).max(1.0);
        let [entries, windows] = self.bytes.map(|bytes| bytes / 1e6);
        write!(
            f,
            "{} windows with {per_col:.2} entries to a packed column; for {} columns of X and Y, {windows:.1} MB are \
             read by windows, and {entries:.1} MB entry by entry",
            self.windows, self.d
        )
    }
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// The order of rows in windows; `None` for entry by entry.
    pub(crate) windows: Option<RowLayout>,
    /// Why.
    pub(crate) why: String,
}

impl Choice {
    /// For a pattern, a value type and an architecture.
    ///
    /// # Errors
    /// What there are no kernels for, if the caller leaves no choice.
    pub(crate) fn of(
        pattern: CsrPattern<'_>,
        dtype: DType,
        arch: Arch,
        layout: &SddmmLayout,
    ) -> Result<Self, Unsupported> {
        let entries = |why: String| Ok(Self { windows: None, why });
        match layout {
            SddmmLayout::Entries => entries("the options name it".to_owned()),
            SddmmLayout::Windows(rows) => {
                has_windows(dtype, arch)?;
                if (rows.window_rows(), rows.nrows()) != (WINDOW_ROWS, pattern.nrows()) {
                    let reason = format!(
                        "windows of {WINDOW_ROWS} of the pattern's {} rows are sampled, and the layout has windows \
                         of {} of {} rows",
                        pattern.nrows(),
                        rows.window_rows(),
                        rows.nrows()
                    );
                    return Err(Unsupported::RowLayout { reason });
                }
                Ok(Self { windows: Some(rows.clone()), why: "the options name it".to_owned() })
            }
            &SddmmLayout::Fastest { d } => {
                if let Err(missing) = has_windows(dtype, arch) {
                    return entries(missing.to_string());
                }
                // What can't be laid out in windows is sampled entry by entry.
                let natural = RowLayout::natural(pattern.nrows(), WINDOW_ROWS);
                let traffic = natural.and_then(|rows| {
                    let traffic = Traffic::of(pattern, &rows, dtype, d)?;
                    Ok((rows, traffic))
                });
                match traffic {
                    Ok((rows, traffic)) => Ok(Self {
                        windows: traffic.prefers_windows().then_some(rows),
                        why: traffic.to_string(),
                    }),
                    Err(error) => entries(error.to_string()),
                }
            }
        }
    }

    /// The kernel.
    pub(crate) fn kernel(&self, dtype: DType) -> Kernel {
        match self.windows {
            None => csr_sddmm::kernel(dtype),
            Some(_) => sm90_window_sddmm::kernel(dtype),
        }
    }

    /// In words.
    pub(crate) fn name(&self) -> String {
        match &self.windows {
            None => "entry by entry".to_owned(),
            Some(rows) => {
                let order = if rows.is_natural() { "" } else { ", in another order" };
                format!("windows of {WINDOW_ROWS} rows{order}")
            }
        }
    }

    /// Calls `with` with what is uploaded of the pattern. O(rows + nnz), by windows O(rows + nnz · log).
    pub(crate) fn parts<R>(
        &self,
        pattern: CsrPattern<'_>,
        dtype: DType,
        multiprocessors: u32,
        with: impl FnOnce(&[&[u8]]) -> R,
    ) -> (Method, R) {
        match &self.windows {
            None => {
                let nnz = pattern.nnz() as u64;
                let method = Method::Entries(Sampling { dtype, nnz, multiprocessors });
                (method, csr_sddmm::parts(pattern, with))
            }
            Some(rows) => {
                let (sampling, done) = sm90_window_sddmm::parts(pattern, rows, with);
                (Method::Windows(sampling), done)
            }
        }
    }

    /// Adds what a product of X and Y with `d` columns executes, whose rows are contiguous and begin on 16 bytes.
    pub(crate) fn describe(
        &self,
        method: &Method,
        parts: &[u64],
        dtype: DType,
        d: usize,
        lowering: Lowering,
    ) -> Lowering {
        let mut lowering = lowering.with("layout", self.name(), &*self.why);
        if let Method::Windows(sampling) = method {
            let tiles = format!("{} in {} tasks", sampling.n_tiles, sampling.n_tasks);
            lowering =
                lowering.with("tiles", tiles, "a task's rows of X come to shared memory once");
        }
        let place = |rows, cols, size| Place::row_major(256, (rows, cols), size);
        let (x, s) = (place(2, d, dtype.size()), place(2, 1, dtype.accumulator().size()));
        let operands = SampledOperands { alpha: 1.0, x, y: x, beta: 0.0, s };
        let kernel = self.kernel(dtype);
        let mut launches = Vec::new();
        let launched = method.launch(parts, &operands, &mut |launch: &Launch<'_>| {
            let (&Launch { entry, block, .. }, [blocks, ..]) = (launch, launch.grid);
            launches.push(format!("{entry} of {kernel}, {blocks} blocks of {block} threads"));
            Ok(())
        });
        match launched {
            Ok(()) => launches.into_iter().fold(lowering, |all, one| all.with("launch", one, "")),
            Err(error) => lowering.with("launch", "none", error.to_string()),
        }
    }

    /// How entries are rounded.
    pub(crate) fn rounding(&self, dtype: DType) -> Rounding {
        match self.windows {
            None => Rounding::exact_inputs(dtype),
            Some(_) => tensor_cores(dtype),
        }
    }
}

/// Whether there are kernels of windows.
fn has_windows(dtype: DType, arch: Arch) -> Result<(), Unsupported> {
    if !DTYPES.contains(&dtype) {
        let reason =
            format!("tensor cores sample f16 and bf16 as they are, and would round {dtype}");
        return Err(Unsupported::ValueType { dtype, reason });
    }
    if arch != Arch::SM_90A {
        let reason = format!(
            "the kernel of windows needs compute capability 9.0 (Hopper), and the device has {}.{}",
            arch.major, arch.minor
        );
        return Err(Unsupported::Device { reason });
    }
    Ok(())
}

/// What decides the launches, besides their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Entries(Sampling),
    Windows(WindowSampling),
}

impl Method {
    /// Hands the launch of a product to `each`: see [`Sampling::launch`] and [`WindowSampling::launch`].
    ///
    /// # Errors
    /// Theirs.
    pub(crate) fn launch(
        &self,
        parts: &[u64],
        operands: &SampledOperands,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        match self {
            Self::Entries(sampling) => sampling.launch(parts, operands, each),
            Self::Windows(sampling) => sampling.launch(parts, operands, each),
        }
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_testkit::matrices;

    use super::*;

    fn chosen(a: &Csr<f64>, dtype: DType, layout: &SddmmLayout) -> Result<Choice, Unsupported> {
        Choice::of(a.pattern(), dtype, Arch::SM_90A, layout)
    }

    /// All rows of a window have the same columns.
    fn dense_windows() -> Csr<f64> {
        matrices::where_(64, 400, |i, j| (i / 16 + j).is_multiple_of(5)).unwrap()
    }

    /// No two rows of a window share a column.
    fn diagonal() -> Csr<f64> {
        matrices::where_(64, 64, |i, j| i == j).unwrap()
    }

    #[test]
    fn windows_are_chosen_where_their_columns_have_several_entries() {
        let fastest = SddmmLayout::default();
        let dense = chosen(&dense_windows(), DType::F16, &fastest).unwrap();
        assert_eq!(dense.name(), "windows of 16 rows");
        assert!(
            dense.why.starts_with("4 windows with 16.00 entries to a packed column; for 64 col"),
            "{}",
            dense.why
        );
        assert!(dense.why.contains("MB entry by entry"), "{}", dense.why);
        let sparse = chosen(&diagonal(), DType::F16, &fastest).unwrap();
        assert!(sparse.windows.is_none() && sparse.why.contains(" 1.00 "), "{}", sparse.why);
        let none = matrices::where_(20, 20, |_, _| false).unwrap();
        assert_eq!(chosen(&none, DType::Bf16, &fastest).unwrap().windows, None);
    }

    #[test]
    fn what_tiles_take_counts_where_rows_of_y_are_short() {
        // Four entries to a packed column.
        let a = matrices::where_(64, 2000, |i, j| i / 4 % 4 == j % 4).unwrap();
        let of = |a: &Csr<f64>, d| {
            chosen(a, DType::F16, &SddmmLayout::Fastest { d }).unwrap().windows.is_some()
        };
        assert!(!of(&a, 16) && of(&a, 256));
        // Two are too few, and so are two windows.
        let sparser = matrices::where_(64, 2000, |i, j| i / 2 % 8 == j % 8).unwrap();
        assert!(!of(&sparser, 256) && !of(&a.slice_rows(..32), 256));
    }

    #[test]
    fn bytes_are_those_of_rows_and_tiles() {
        let rows = RowLayout::natural(64, WINDOW_ROWS).unwrap();
        let traffic = Traffic::of(dense_windows().pattern(), &rows, DType::Bf16, 100).unwrap();
        // 80 columns to each of 4 windows, 10 tiles each: 64 rows of X either way.
        assert_eq!((traffic.nnz, traffic.packed_cols), (5120, 320));
        assert_eq!(traffic.bytes[1], (320.0 + 64.0) * 200.0 + 112.0 * 40.0 + 16.0 * 4.0);
        assert_eq!(traffic.bytes[0], (5120.0 + 64.0 + 80.0) * 200.0 + 4.5 * 5120.0);
    }

    #[test]
    fn what_has_no_kernel_is_sampled_entry_by_entry_or_refused() {
        let a = dense_windows();
        let windows = SddmmLayout::Windows(RowLayout::natural(64, WINDOW_ROWS).unwrap());
        for dtype in [DType::F32, DType::F64] {
            let fastest = chosen(&a, dtype, &SddmmLayout::default()).unwrap();
            assert!(fastest.windows.is_none() && fastest.why.contains("round"), "{}", fastest.why);
            let refused = chosen(&a, dtype, &windows).unwrap_err();
            assert!(matches!(refused, Unsupported::ValueType { dtype: of, .. } if of == dtype));
        }
        let ampere = Arch { major: 8, minor: 0 };
        let refused = Choice::of(a.pattern(), DType::F16, ampere, &windows).unwrap_err();
        assert!(matches!(refused, Unsupported::Device { .. }), "{refused}");
        let fastest = Choice::of(a.pattern(), DType::F16, ampere, &SddmmLayout::default()).unwrap();
        assert!(fastest.windows.is_none() && fastest.why.contains("has 8.0"), "{}", fastest.why);
        for (nrows, window_rows) in [(64, 8), (63, 16)] {
            let other = RowLayout::natural(nrows, window_rows).unwrap();
            let refused = chosen(&a, DType::F16, &SddmmLayout::Windows(other)).unwrap_err();
            assert!(matches!(refused, Unsupported::RowLayout { .. }), "{refused}");
        }
    }
}
