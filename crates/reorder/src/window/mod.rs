//! The window ordering: rows that share columns share a window.

mod bisection;
mod blocks;
mod closing;
mod clustering;
mod coarsening;
mod hypergraph;
mod initial;
mod layout;
mod neighbours;
mod options;
mod packing;
mod pairing;
mod partition;
mod progress;
mod refinement;
mod sampled;
mod scratch;
mod sequence;
mod stats;

use girih_formats::{CsrPattern, RowLayout};
use girih_parallel::prelude::*;

use crate::error::ReorderError;
use crate::metrics::window_counts;
use crate::occupied::Occupied;
pub use blocks::{BlockOrdering, BlockStats, blocks};
use closing::close;
use hypergraph::Hypergraph;
pub use initial::WindowStart;
pub use options::{BlockOptions, WindowEffort, WindowOptions};
use partition::Partition;
use progress::{RefinementProgress, on_pool};
use refinement::coarser_levels;
pub use sampled::sampled_windows;
pub use stats::{WindowOrdering, WindowStats};

/// Deals the rows into windows of at most [`window_rows`](WindowOptions::window_rows) rows so that
/// few columns are packed.
///
/// A windowed tiling stores, gathers and multiplies its *packed columns*: the distinct columns of
/// each window, summed over windows. With rows as vertices, columns as nets and windows as parts
/// that is the connectivity of a hypergraph partition (Çatalyürek & Aykanat, *IEEE TPDS* 10(7),
/// 1999), here of very many small parts with a hard limit on their rows. Windows may be short: the
/// layout's empty slots are [`PAD_ROW`](girih_formats::PAD_ROW).
///
/// **Starts.** Several orders ([`WindowStart`]), each cut into windows by the dynamic programme of
/// Ahrens & Boman (arXiv 2005.12414); the best one or two go on. **Refinement.** What two windows
/// pack depends on no other, so disjoint pairs of windows, chosen by what they share, are dealt
/// anew in parallel: moves and exchanges under the hard limit as Fiduccia & Mattheyses make them
/// (DAC 1982), on every level of a hierarchy in which rows that share much move together
/// (multilevel, Karypis & Kumar, *SIAM J. Sci. Comput.* 20(1), 1998), coarsest first. **Last**,
/// windows that fit into one are joined, and windows are put in reverse Cuthill–McKee order of
/// their quotient graph. Where nothing beats the order of the input, that is what is returned: the
/// packed columns are never more than those of [`RowLayout::natural`]. Rows without columns fill
/// empty slots.
///
/// A row with very many columns fills its window with them all, so the other rows of that window
/// pack nothing more. A column that is in too many windows to say which of them are alike is passed
/// over when pairs are chosen, and counts in full when they are dealt.
///
/// O(nnz · log `window_rows` + nrows · min(`window_rows`, 1024)) time, with a constant that depends
/// on how many windows a column is in, and O(nnz + nrows) memory, of which rows
/// take only their slots where most rows and columns are empty. Deterministic on any number of
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
    window_observed(pattern, options, &|_, _| ())
}

/// Like [`window`], with an observer of how far the refinement is: the parts that are done, and
/// how many there are. The same layout comes out.
///
/// Parts are equal shares of the sweeps over pairs of windows that the refinement may take; those that
/// turn out needless count as done. The number never falls and ends at the total. Nothing is reported before
/// the refinement, or where two starts are refined at once, which takes a matter of a second. The observer
/// is called on the calling thread only, a hundred times or so.
///
/// # Errors
/// As [`window`].
///
/// ```
/// use std::cell::Cell;
///
/// use girih_generate::banded;
/// use girih_reorder::{WindowOptions, window, window_observed};
///
/// let band = banded::<f32>(500, 500, 3, 5, 1)?;
/// let options = WindowOptions::new(16);
/// let last = Cell::new(0.0);
/// let observer = |done: u64, total: u64| last.set(done as f64 / total as f64);
/// let found = window_observed(band.pattern(), &options, &observer)?;
/// assert_eq!(found, window(band.pattern(), &options)?);
/// # Ok::<(), girih_reorder::ReorderError>(())
/// ```
pub fn window_observed(
    pattern: CsrPattern<'_>,
    options: &WindowOptions,
    observer: &dyn Fn(u64, u64),
) -> Result<WindowOrdering, ReorderError> {
    let natural = RowLayout::natural(pattern.nrows(), options.window_rows)?;
    if let Some(occupied) = Occupied::of(pattern)? {
        let found = window_observed(occupied.pattern(), options, observer)?;
        return expanded(pattern, natural, found, &occupied);
    }
    let (graph, lone) = Hypergraph::of(pattern);
    let in_order = Partition::natural(&natural);
    let packed = in_order.packed(&graph) + lone;
    let mut stats = WindowStats { natural: packed, packed, ..WindowStats::default() };
    stats.n_windows = natural.n_windows();
    // A single window packs every column once.
    if natural.n_windows() < 2 {
        return Ok(WindowOrdering { layout: natural, stats });
    }
    let window_rows = options.window_rows as u32;
    let mut starts: Vec<Start> = WindowStart::ALL
        .into_par_iter()
        .map(|start| {
            let order = start.order(pattern, &graph, options.seed)?;
            let (ends, packed) = close(&graph, &order, options.window_rows);
            Ok(Start { start, order, ends, packed: packed + lone })
        })
        .collect::<Result<_, ReorderError>>()?;
    stats.starts = starts.iter().map(|start| (start.start, start.packed)).collect();
    starts.sort_by_key(|start| start.packed);
    starts.truncate(options.effort.n_starts(graph.n_pins()));
    let refine =
        |start: &Start| start.refined(&graph, lone, options, &mut RefinementProgress::nobody());
    let found: Vec<(Partition, Vec<u64>)> = match &starts[..] {
        [start] => vec![start.observed(&graph, lone, options, observer)],
        _ => starts.par_iter().map(refine).collect(),
    };
    let found = found.into_iter().zip(&starts).map(|((mut found, refined), start)| {
        found.join_short_windows(window_rows);
        (found.packed(&graph) + lone, found, refined, start.start)
    });
    let Some((packed, mut found, refined, start)) = found.min_by_key(|found| found.0) else {
        return Ok(WindowOrdering { layout: natural, stats });
    };
    stats.refined = refined;
    if packed >= stats.natural {
        return Ok(WindowOrdering { layout: natural, stats });
    }
    found.order_windows(&graph)?;
    let layout = found.layout(options.window_rows)?;
    stats.start = start;
    stats.packed = packed;
    stats.n_windows = layout.n_windows();
    Ok(WindowOrdering { layout, stats })
}

/// What was found for the rows that have entries, with the others in empty slots; natural if that packs no
/// fewer columns.
fn expanded(
    pattern: CsrPattern<'_>,
    natural: RowLayout,
    mut found: WindowOrdering,
    occupied: &Occupied,
) -> Result<WindowOrdering, ReorderError> {
    let counts = window_counts(pattern, &natural, None, 1)?;
    found.stats.natural = counts.iter().map(|&count| u64::from(count)).sum();
    found.layout = match found.stats.packed < found.stats.natural {
        true => occupied.layout(&found.layout)?,
        false => natural,
    };
    found.stats.packed = found.stats.packed.min(found.stats.natural);
    found.stats.n_windows = found.layout.n_windows();
    Ok(found)
}

/// An order and its best cut into windows.
struct Start {
    start: WindowStart,
    order: Vec<u32>,
    ends: Vec<u32>,
    packed: u64,
}

impl Start {
    /// The windows after refinement, and the packed columns after each stage of it.
    fn refined(
        &self,
        graph: &Hypergraph,
        lone: u64,
        options: &WindowOptions,
        progress: &mut RefinementProgress<'_>,
    ) -> (Partition, Vec<u64>) {
        let mut found = Partition::contiguous(graph, &self.order, &self.ends);
        let mut packed = Vec::new();
        if let Some(limits) = options.effort.limits() {
            let window_rows = options.window_rows as u32;
            for _ in 0..limits.cycles {
                found.refine_levels(graph, window_rows, 1, &limits, progress);
                packed.push(found.packed(graph) + lone);
            }
            found.refine(graph, window_rows, limits.last_sweeps, limits.partners, progress);
            packed.push(found.packed(graph) + lone);
        }
        (found, packed)
    }
    /// The same, telling an observer how far it is.
    fn observed(
        &self,
        graph: &Hypergraph,
        lone: u64,
        options: &WindowOptions,
        observer: &dyn Fn(u64, u64),
    ) -> (Partition, Vec<u64>) {
        let levels = 1 + coarser_levels(options.window_rows as u32, 1);
        let limits = options.effort.limits();
        let sweeps = limits.map_or(0, |l| l.cycles * l.sweeps * levels + l.last_sweeps);
        if sweeps == 0 {
            return self.refined(graph, lone, options, &mut RefinementProgress::nobody());
        }
        on_pool(observer, |tell| {
            self.refined(graph, lone, options, &mut RefinementProgress::to(tell, sweeps))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use girih_generate::rmat;

    use super::*;

    #[test]
    fn a_refinement_tells_how_far_it_is() {
        let a = rmat::<f32>(9, 6, 1).unwrap();
        let (graph, lone) = Hypergraph::of(a.pattern());
        let order = WindowStart::Natural.order(a.pattern(), &graph, 0).unwrap();
        for (rows, effort) in [(16, WindowEffort::Normal), (2, WindowEffort::High)] {
            let (ends, packed) = close(&graph, &order, rows);
            let order = order.clone();
            let start = Start { start: WindowStart::Natural, order, ends, packed: packed + lone };
            let options = WindowOptions::new(rows).effort(effort);
            let heard = RefCell::new(Vec::new());
            let observer = |done, total| heard.borrow_mut().push((done, total));
            let found = start.observed(&graph, lone, &options, &observer);
            let unseen = start.refined(&graph, lone, &options, &mut RefinementProgress::nobody());
            assert_eq!((&found.0.window, found.1), (&unseen.0.window, unseen.1));
            let heard = heard.into_inner();
            let total = heard[0].1;
            assert!((3..=300).contains(&heard.len()), "{heard:?}");
            assert!(heard.iter().all(|progress| progress.1 == total), "{heard:?}");
            assert!(heard.windows(2).all(|progress| progress[0].0 < progress[1].0), "{heard:?}");
            assert_eq!((heard[0].0, heard[heard.len() - 1].0), (0, total), "{heard:?}");
        }
    }
}
