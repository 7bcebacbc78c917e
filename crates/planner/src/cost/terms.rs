//! The quantities that a product's time is made of: bytes that move, rows, values and tiles.

use girih_formats::FormatKind;
use girih_formats::stats::FormatStats;

use super::Workload;
use crate::device::{DeviceKind, DeviceSpec, Terms};
use crate::kernels::KernelConfig;

/// The share of a CPU's cache that is B's, while A and C pass through it. With it estimates fit measured
/// times better, on a Xeon and a Zen 4.
const SHARE_OF_B: f64 = 0.75;

/// Multiprocessors of a GPU share its memory and L2. While some are done, the others have up to this many times their
/// even share: one of an H100 reads 64 bytes of L2 in a clock, and has 20 to 25 of them if all read.
///
/// Measured over 88 choices for real matrices: products take 3.1 % longer than the best on an H200 and 3.8 % on an H100.
/// Where the imbalance counts in full they take 4.0 and 5.3 %. With n = 1024 it is 4.9 and 5.0 % instead of 8.0 and 10.8 %.
const MOST_SHARED: f64 = 3.0;

/// Bytes that move.
pub(super) struct Traffic {
    /// Of B, each row that is used: by what is fetched of it at all, into a worker's own cache and into
    /// the one that all share.
    b_once: f64,
    pub(super) b_fetched: f64,
    b_cache: f64,
    pub(super) b_memory: f64,
    pub(super) c: f64,
    pub(super) a_passes: f64,
}

pub(super) fn traffic(
    workload: &Workload,
    stats: &FormatStats,
    device: &DeviceSpec,
    config: Option<&KernelConfig>,
) -> Traffic {
    let n = workload.n as f64;
    let row_bytes = n * workload.dtype.size() as f64;
    let footprint = &workload.footprint;
    let fetched_rows = match config.map_or(0, |config| config.rows_together as usize) {
        0 => (stats.gathered_cols as f64).min(footprint.near()),
        together => workload.nrows.div_ceil(together) as f64 * workload.ncols as f64,
    };
    // Into a cache of this many bytes. Whatever the format, no row is fetched more often than it is used.
    let share = match device.kind {
        DeviceKind::Cpu => SHARE_OF_B,
        DeviceKind::Cuda => 1.0,
    };
    let into = |bytes: f64| {
        let rows = share * bytes / row_bytes.max(1.0);
        footprint.fetched(rows).min(fetched_rows) * row_bytes
    };
    let a_passes = config.map_or(1.0, |config| f64::from(config.passes(workload.n)));
    Traffic {
        b_once: footprint.once() * row_bytes,
        b_fetched: fetched_rows * row_bytes,
        b_cache: into(device.private_cache_bytes as f64),
        b_memory: into(device.cache_bytes as f64),
        c: workload.nrows as f64 * n * workload.dtype.accumulator().size() as f64,
        a_passes,
    }
}

/// How many times as long an uneven schedule makes what a product takes.
#[derive(Clone, Copy)]
pub(super) struct Lengthening {
    /// Of memory and caches.
    pub(super) shared: f64,
    /// Of arithmetic.
    pub(super) own: f64,
}

impl Lengthening {
    pub(super) const NONE: Self = Self { shared: 1.0, own: 1.0 };

    /// Of a schedule whose busiest worker has `imbalance` times its share. On a CPU that is at most the number of
    /// workers: what takes no less time together, one of them does alone.
    pub(super) fn by(imbalance: f64, device: &DeviceSpec) -> Self {
        match device.kind {
            DeviceKind::Cpu => {
                let imbalance = imbalance.min(f64::from(device.workers));
                Self { shared: imbalance, own: imbalance }
            }
            DeviceKind::Cuda => Self { shared: (imbalance / MOST_SHARED).max(1.0), own: imbalance },
        }
    }

    /// Quantities of a product, each as many times as it takes longer. What is paid per product and per window is
    /// paid once.
    fn of(self, terms: Terms) -> Terms {
        let Self { shared, own } = self;
        Terms {
            product: terms.product,
            windows: terms.windows,
            c_elements: shared * terms.c_elements,
            values: own * terms.values,
            multiply_adds: own * terms.multiply_adds,
            tiles: own * terms.tiles,
            b_fetched: shared * terms.b_fetched,
            from_cache: shared * terms.from_cache,
            from_memory: shared * terms.from_memory,
        }
    }
}

/// The quantities that a product's time is linear in: those of evenly shared work, each as many times as a schedule
/// of this `imbalance` makes it take longer. 1 is a perfect schedule.
#[must_use]
pub fn terms(
    workload: &Workload,
    stats: &FormatStats,
    device: &DeviceSpec,
    imbalance: f64,
) -> Terms {
    Lengthening::by(imbalance, device).of(even_terms(workload, stats, device))
}

pub(super) fn even_terms(workload: &Workload, stats: &FormatStats, device: &DeviceSpec) -> Terms {
    let kind = stats.spec.kind();
    let Traffic { b_once, b_fetched, b_cache, b_memory, c, .. } =
        traffic(workload, stats, device, None);
    // Products follow one another: of what one touches, a cache still has what fits into it.
    let own = stats.bytes as f64 + b_once + c;
    let all = own + workload.beside_bytes;
    let share = if all > 0.0 { own / all } else { 0.0 };
    let evicted = |bytes: f64| (all - bytes).max(0.0) * share;
    let private = device.private_cache_bytes as f64 * f64::from(device.workers);
    // A line of C is computed whole, however many of its columns there are.
    let lanes = (device.simd_bits as usize / 8 / workload.dtype.accumulator().part().size()).max(1);
    let cols = workload.real_cols(workload.n).next_multiple_of(lanes) as f64;
    let values = workload.real_values(stats);
    Terms {
        product: 1.0,
        windows: workload.nrows as f64 + windows_of_several(stats),
        c_elements: workload.nrows as f64 * cols,
        values,
        multiply_adds: values * cols,
        tiles: if kind == FormatKind::BMat { stats.tiles as f64 } else { 0.0 },
        b_fetched,
        from_cache: evicted(private) + (b_cache - b_once).max(0.0),
        from_memory: evicted(device.cache_bytes as f64) + (b_memory - b_once).max(0.0),
    }
}

pub(super) fn windows_of_several(stats: &FormatStats) -> f64 {
    if stats.spec.kind() == FormatKind::Csr { 0.0 } else { stats.windows as f64 }
}
