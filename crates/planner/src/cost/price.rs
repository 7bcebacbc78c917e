//! From counts to seconds.
//!
//! A product takes as long as the busiest of memory, cache and arithmetic — or all of them together,
//! on a device without [overlap](crate::device::Overlap) — and the work per window and tile on top. An uneven
//! schedule makes all of that longer on a CPU. On a GPU arithmetic is longer; memory and L2, which multiprocessors
//! share, serve those that still work.
//!
//! ```text
//! memory   = (tiles + B once + B missed + C) / memory_bandwidth
//! cache    = (rows of B fetched · n · size + tiles read again) / cache_bandwidth
//! compute  = values · (value_seconds + 2n / flops)        entry by entry
//!          = values · max(value_seconds, 2n / flops)      in dense tiles
//! overhead = (rows + windows of several) · window_seconds + BMat tiles · bmat_tile_seconds + launch
//!          + rows of C stored out of order · 20 ns / workers, on a CPU
//! ```
//!
//! A product of complex values is priced as what it comes to in real ones: real and imaginary part of each value
//! multiply the 2n real columns of which B consists, by the rates and fits of the parts' type. So there are twice as
//! many values and twice as many columns, and bytes are what they are.
//!
//! Every window fetches every row of B it holds a column of; windows of fewer than 16 rows, CSR's
//! included, fetch as windows of 16 would, since the nearest cache keeps what so close neighbours
//! share. What larger caches fetch is said by the [`Footprint`](super::Footprint) of the matrix: the rows
//! of B that stretches of A touch; on a CPU, three quarters of a cache, since A and C pass through it too.
//!
//! On a device with shared memory a kernel's [configuration](KernelConfig) says how many columns of C a
//! block computes, so how often A is read and how many columns are computed beyond the last, how
//! many bytes are on their way at once, and whether many rows fetch all of B together, as those of 2:4 do on
//! sparse tensor cores. By Little's law the cache gives no more than the bytes on their way per latency.
//!
//! A hybrid is priced as the two products that it consists of.
//!
//! Where calibration found coefficients for the format and value type, they are what counts:
//! `seconds = Σ coefficient · quantity` over the [`Terms`], Voltrix's eq. 1 with cf₁ taken apart.

use girih_formats::stats::FormatStats;
use girih_formats::{FormatKind, FormatSpec};

use super::{Cost, LinearCost, Resource, Workload, parts};
use crate::device::{DeviceKind, DeviceSpec, Overlap, Terms, Unit};
use crate::kernels::KernelConfig;

/// Seconds that a worker of a CPU waits for where a row of C goes that does not lie behind the one
/// before: nothing was prefetched there, and another core may have had its lines. Measured in CSR with
/// 32 and 128 columns against the same rows stored in order, on a Xeon: 1 to 20 ns on one thread, 16 to
/// 90 on each of 16.
const SCATTERED_ROW_SECONDS: f64 = 20e-9;

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
struct Traffic {
    /// Of B, each row that is used: by what is fetched of it at all, into a worker's own cache and into
    /// the one that all share.
    b_once: f64,
    b_fetched: f64,
    b_cache: f64,
    b_memory: f64,
    c: f64,
    a_passes: f64,
}

fn traffic(
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
struct Lengthening {
    /// Of memory and caches.
    shared: f64,
    /// Of arithmetic.
    own: f64,
}

impl Lengthening {
    const NONE: Self = Self { shared: 1.0, own: 1.0 };

    /// Of a schedule whose busiest worker has `imbalance` times its share. On a CPU that is at most the number of
    /// workers: what takes no less time together, one of them does alone.
    fn by(imbalance: f64, device: &DeviceSpec) -> Self {
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

fn even_terms(workload: &Workload, stats: &FormatStats, device: &DeviceSpec) -> Terms {
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

fn windows_of_several(stats: &FormatStats) -> f64 {
    if stats.spec.kind() == FormatKind::Csr { 0.0 } else { stats.windows as f64 }
}

/// Estimates a product: a pure function of what is known of it.
///
/// `config` is the kernel's on a device with shared memory, of a hybrid that of its packed windows; `imbalance` the
/// schedule's, 1 if it is perfect.
#[must_use]
pub fn price(
    workload: &Workload,
    stats: &FormatStats,
    device: &DeviceSpec,
    config: Option<&KernelConfig>,
    imbalance: f64,
) -> Cost {
    // One kernel after the other, the second of which has but one configuration.
    let each = parts(workload, stats).into_iter().map(|part| {
        let config = config.filter(|_| part.stats.spec != FormatSpec::Csr);
        price(&part.workload, &part.stats, device, config, imbalance)
    });
    if let Some(cost) = Cost::of_parts(each, stats) {
        return cost;
    }
    let kind = stats.spec.kind();
    let Traffic { b_fetched, b_memory, c, a_passes, .. } = traffic(workload, stats, device, config);
    let a = stats.bytes as f64;
    let cols = config.map_or(workload.n, |config| config.padded(workload.n));
    let cols = workload.real_cols(cols) as f64;
    let values = workload.real_values(stats);
    let flops = 2.0 * values * cols;
    let unit = device.unit_in(kind, workload.dtype, workload.precision);
    let fit = device.fit(stats.spec, workload.dtype, workload.precision);
    let (memory_seconds, cache_seconds, compute_seconds, overhead_seconds) = match fit {
        Some(fit) => {
            let t = fit.seconds.times(even_terms(workload, stats, device));
            let compute = t.values + t.multiply_adds + t.tiles;
            (
                t.from_memory + t.c_elements,
                t.b_fetched + t.from_cache,
                compute,
                t.product + t.windows,
            )
        }
        None => {
            let value_seconds = device.value_seconds(kind);
            let flops = device.flops_in(kind, workload.dtype, workload.precision);
            let per_value = 2.0 * cols / flops;
            let per_value = match (unit, device.kind) {
                (Unit::Tiles, DeviceKind::Cpu) => value_seconds.max(per_value),
                _ => value_seconds + per_value,
            };
            let tiles = if kind == FormatKind::BMat { stats.tiles as f64 } else { 0.0 };
            let windows = workload.nrows as f64 + windows_of_several(stats);
            let bandwidth =
                config.map_or(device.cache_bandwidth, |config| config.cache_bandwidth(device));
            (
                (a + b_memory + c) / device.memory_bandwidth,
                (b_fetched + a * (a_passes - 1.0)) / bandwidth,
                values * per_value,
                windows * device.window_seconds
                    + tiles * device.bmat_tile_seconds
                    + device.product_seconds(workload.dtype),
            )
        }
    };
    let scattered_seconds = match device.kind {
        DeviceKind::Cpu => {
            workload.scattered_rows as f64 * SCATTERED_ROW_SECONDS / f64::from(device.workers)
        }
        DeviceKind::Cuda => 0.0,
    };
    let overhead_seconds = overhead_seconds + scattered_seconds;
    let (dominant, longest) = [
        (Resource::Memory, memory_seconds),
        (Resource::Cache, cache_seconds),
        (Resource::Compute, compute_seconds),
        (Resource::Overhead, overhead_seconds),
    ]
    .into_iter()
    .fold((Resource::Memory, -1.0), |a, b| if b.1 > a.1 { b } else { a });
    let busy = |Lengthening { shared, own }| {
        let (memory, cache) = (memory_seconds * shared, cache_seconds * shared);
        let compute = compute_seconds * own;
        match device.overlap {
            Overlap::Full if fit.is_none() => memory.max(cache).max(compute),
            _ => memory + cache + compute,
        }
    };
    let evenly = busy(Lengthening::NONE);
    let uneven = busy(Lengthening::by(imbalance, device));
    debug_assert!(longest >= 0.0);
    Cost {
        tile_bytes: stats.bytes,
        fill_ratio: stats.fill_ratio,
        b_fetched_bytes: b_fetched,
        b_memory_bytes: b_memory,
        c_bytes: c,
        a_passes,
        flops,
        unit,
        memory_seconds,
        cache_seconds,
        compute_seconds,
        overhead_seconds,
        imbalance: if evenly > 0.0 { uneven / evenly } else { 1.0 },
        seconds: uneven + overhead_seconds,
        dominant,
    }
}

/// The linear core of an estimate, for one of the device's workers: what schedules are cut and replayed
/// by. Writing C and the work per window are its cf₂, launching its cf₃, all else its cf₁.
#[must_use]
pub fn linear_cost(
    workload: &Workload,
    stats: &FormatStats,
    device: &DeviceSpec,
    cost: &Cost,
) -> LinearCost {
    let workers = f64::from(device.workers);
    let per = |seconds: f64, count: f64| if count > 0.0 { seconds * workers / count } else { 0.0 };
    let n = workload.n.max(1) as f64;
    let (tiles, windows) = (stats.tiles as f64, stats.windows as f64);
    let fixed = match device.fit(stats.spec, workload.dtype, workload.precision) {
        Some(fit) => fit.seconds.product,
        None => device.product_seconds(workload.dtype),
    };
    let all = (cost.seconds - cost.overhead_seconds) / cost.imbalance.max(1.0);
    let writing = (cost.c_bytes / device.memory_bandwidth).min(all);
    LinearCost {
        tile_col: per(all - writing, tiles * n),
        window_col: per(writing + (cost.overhead_seconds - fixed).max(0.0), windows * n),
        fixed,
        tile_again: per(stats.bytes as f64 / device.cache_bandwidth, tiles),
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::stats::SharedStats;
    use girih_formats::{DType, FormatSpec, RowLayout};
    use girih_generate::{two_four, uniform};

    use super::*;

    #[test]
    fn rows_that_fetch_b_together_fetch_all_of_it_once() {
        let a = two_four::<f32>(600, 300, 1).unwrap();
        let rows = RowLayout::natural(600, 1).unwrap();
        let shared = SharedStats::new(a.pattern(), &rows);
        let stats = shared.format(FormatSpec::TwoFour, DType::F16).unwrap();
        let workload = Workload::of(&shared, 64, DType::F16);
        let config = KernelConfig::new("spmm").block_cols(64).stages(4).shared_bytes(100 << 10);
        let device = DeviceSpec::builtin("h200").unwrap();
        let fetched = |rows_together| {
            let config = config.clone().rows_together(rows_together);
            price(&workload, &stats, &device, Some(&config), 1.0).b_fetched_bytes
        };
        // Windows of 16 rows, and tiles of 256, of which the last is not full.
        assert!(workload.footprint.near() > 37.0 * 300.0);
        assert_eq!(fetched(0), workload.footprint.near() * 128.0);
        assert_eq!(fetched(256), 3.0 * 300.0 * 128.0);
    }

    #[test]
    fn rows_stored_out_of_order_cost_a_cpu() {
        let a = uniform::<f32>(400, 300, 5, 1).unwrap();
        let rows = RowLayout::natural(400, 1).unwrap();
        let shared = SharedStats::new(a.pattern(), &rows);
        let stats = shared.format(FormatSpec::Csr, DType::F32).unwrap();
        let in_order = Workload::of(&shared, 32, DType::F32);
        let scattered = Workload { scattered_rows: 399, ..in_order };
        let longer = |device: &DeviceSpec| {
            let seconds = |workload| price(workload, &stats, device, None, 1.0).seconds;
            seconds(&scattered) - seconds(&in_order)
        };
        let cpu = DeviceSpec::cpu();
        let expected = 399.0 * SCATTERED_ROW_SECONDS / f64::from(cpu.workers);
        assert!((longer(&cpu) - expected).abs() < 1e-12, "{} s", longer(&cpu));
        assert_eq!(longer(&DeviceSpec::builtin("h200").unwrap()), 0.0);
    }

    #[test]
    fn an_uneven_schedule_leaves_a_gpu_its_memory_and_l2() {
        let a = uniform::<f32>(400, 300, 5, 1).unwrap();
        let rows = RowLayout::natural(400, 1).unwrap();
        let shared = SharedStats::new(a.pattern(), &rows);
        let stats = shared.format(FormatSpec::Csr, DType::F32).unwrap();
        let workload = Workload::of(&shared, 32, DType::F32);
        // By how much the work of one is more than its share, what is shared is longer, and arithmetic.
        for (name, own, longer) in [("h200", 2.0, 1.0), ("h200", 6.0, 2.0), ("zen5", 2.0, 2.0)] {
            let device = DeviceSpec::builtin(name).unwrap();
            let of = |imbalance| price(&workload, &stats, &device, None, imbalance);
            let (even, uneven) = (of(1.0), of(own));
            let shared = even.memory_seconds + even.cache_seconds;
            let expected = longer * shared + own * even.compute_seconds + even.overhead_seconds;
            assert!((uneven.seconds / expected - 1.0).abs() < 1e-9, "{name}: {uneven:?}");
            let evenly = shared + even.compute_seconds;
            let imbalance = (expected - even.overhead_seconds) / evenly;
            assert!((uneven.imbalance - imbalance).abs() < 1e-9, "{name}: {uneven:?}");
        }
    }

    #[test]
    fn complex_products_are_two_real_ones_of_twice_the_columns() {
        let a = uniform::<f32>(400, 300, 5, 1).unwrap();
        let rows = RowLayout::natural(400, 1).unwrap();
        let shared = SharedStats::new(a.pattern(), &rows);
        for device in [DeviceSpec::cpu(), DeviceSpec::builtin("zen5").unwrap()] {
            for (complex, part) in [(DType::C32, DType::F32), (DType::C64, DType::F64)] {
                let of = |dtype, n| {
                    let stats = shared.format(FormatSpec::Csr, dtype).unwrap();
                    price(&Workload::of(&shared, n, dtype), &stats, &device, None, 1.0)
                };
                let (complex, real) = (of(complex, 24), of(part, 48));
                assert_eq!((complex.flops, complex.flops), (8.0 * 2000.0 * 24.0, 2.0 * real.flops));
                assert_eq!(complex.b_fetched_bytes, real.b_fetched_bytes);
                assert_eq!(complex.c_bytes, real.c_bytes);
                let doubled = complex.compute_seconds / real.compute_seconds;
                assert!((doubled - 2.0).abs() < 1e-9, "{doubled}");
            }
        }
    }
}
