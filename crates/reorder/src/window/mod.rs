//! The window ordering: rows that share columns share a window.

mod closing;
mod hypergraph;
mod initial;
mod layout;
mod options;
mod packing;
mod partition;
mod sequence;
mod stats;

use girih_formats::{CsrPattern, RowLayout};
use rayon::prelude::*;

use crate::ReorderError;
use closing::close;
use hypergraph::Hypergraph;
pub use initial::WindowStart;
pub use options::WindowOptions;
use partition::Partition;
pub use stats::{WindowOrdering, WindowStats};

/// Deals the rows into windows of at most [`window_rows`](WindowOptions::window_rows) rows so that
/// few columns are packed.
///
/// A windowed tiling stores, gathers and multiplies its *packed columns*: the distinct columns of each
/// window, summed over windows. With rows as vertices, columns as nets and windows as parts that is the
/// connectivity of a hypergraph partition (Çatalyürek & Aykanat, *IEEE TPDS* 10(7), 1999), here of
/// very many small parts with a hard limit on their rows. Windows may be short: the layout's empty
/// slots are [`PAD_ROW`](girih_formats::PAD_ROW).
///
/// The start is the best of several orders ([`WindowStart`]), each cut into windows by the dynamic
/// programme of Ahrens & Boman. Short windows are joined, and windows put in reverse Cuthill–McKee order of their
/// quotient graph. Where nothing beats the order of the input, that is what is returned: the packed
/// columns are never more than those of [`RowLayout::natural`]. Rows without columns fill empty slots.
///
/// O(nnz + nrows · `window_rows`) time, near 40 bytes per entry. Deterministic on any number of
/// threads.
///
/// # Errors
/// If `window_rows` is 0 or above [`MAX_DIM`](girih_formats::MAX_DIM).
///
/// ```
/// use girih_formats::Csr;
/// use girih_reorder::{WindowOptions, window};
///
/// // Rows 0 and 2 are alike, and rows 1 and 3.
/// let a = Csr::try_new(4, 4, vec![0, 2, 4, 6, 8], vec![0, 1, 2, 3, 0, 1, 2, 3], vec![1.0f32; 8])?;
/// let found = window(a.pattern(), &WindowOptions::new(2))?;
/// assert_eq!((found.stats.natural, found.stats.packed), (8, 4));
/// # Ok::<(), girih_reorder::ReorderError>(())
/// ```
pub fn window(
    pattern: CsrPattern<'_>,
    options: &WindowOptions,
) -> Result<WindowOrdering, ReorderError> {
    let natural = RowLayout::natural(pattern.nrows(), options.window_rows)?;
    let (graph, lone) = Hypergraph::of(pattern);
    let in_order = Partition::natural(&natural);
    let packed = in_order.packed(&graph) + lone;
    let mut stats = WindowStats { natural: packed, packed, ..WindowStats::default() };
    stats.n_windows = natural.n_windows();
    // A single window packs every column once.
    if natural.n_windows() < 2 {
        return Ok(WindowOrdering { layout: natural, stats });
    }
    let starts: Vec<Start> = WindowStart::ALL
        .into_par_iter()
        .map(|start| {
            let order = start.order(pattern, &graph, options.seed)?;
            let (ends, packed) = close(&graph, &order, options.window_rows);
            Ok(Start { start, order, ends, packed: packed + lone })
        })
        .collect::<Result<_, ReorderError>>()?;
    stats.starts = starts.iter().map(|start| (start.start, start.packed)).collect();
    let Some(best) = starts.iter().min_by_key(|start| start.packed) else {
        return Ok(WindowOrdering { layout: natural, stats });
    };
    let mut found = Partition::contiguous(&graph, &best.order, &best.ends);
    found.join_short_windows(options.window_rows as u32);
    let packed = found.packed(&graph) + lone;
    if packed >= stats.natural {
        return Ok(WindowOrdering { layout: natural, stats });
    }
    found.order_windows(&graph)?;
    let layout = found.layout(options.window_rows)?;
    stats.packed = packed;
    stats.n_windows = layout.n_windows();
    Ok(WindowOrdering { layout, stats })
}

/// An order and its best cut into windows.
struct Start {
    start: WindowStart,
    order: Vec<u32>,
    ends: Vec<u32>,
    packed: u64,
}
