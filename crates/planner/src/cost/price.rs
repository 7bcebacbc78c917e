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
//! `seconds = Σ coefficient · quantity` over the [`Terms`](crate::device::Terms), Voltrix's eq. 1 with cf₁ taken apart.

use girih_formats::stats::FormatStats;
use girih_formats::{FormatKind, FormatSpec};

use super::terms::{Lengthening, Traffic, even_terms, traffic, windows_of_several};
use super::{Cost, LinearCost, Resource, Workload, parts};
use crate::device::{DeviceKind, DeviceSpec, Overlap, Unit};
use crate::kernels::KernelConfig;

/// Seconds that a worker of a CPU loses for each byte of a row of C that does not lie behind the row before.
///
/// Measured in CSR with rows of A in a random order, against the same rows in theirs. Entries are drawn uniformly, so that
/// the order changes nothing else. Nanoseconds for a row of f32, of 4700 to 150 000 rows on the Zen 5 and of 45 000 and
/// 150 000 on the Xeon:
///
/// | n | Zen 5, 1 and 2 threads | Xeon, 1, 4 and 16 threads |
/// |---|---|---|
/// | 8 | 0 to 0.7 | 5 to 13 |
/// | 32 | 0 to 1 | 0 to 9 |
/// | 128 | 0 to 8 | 0 to 6 |
/// | 512 | 6 to 28 | less than the spread |
///
/// Of 5000 rows on the Xeon, differences are less than the spread: -32 to 47 ns with 128 columns.
const SCATTERED_BYTE_SECONDS: f64 = 1e-11;

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
            let row_bytes = c / (workload.nrows as f64).max(1.0);
            let bytes = workload.scattered_rows as f64 * row_bytes;
            bytes * SCATTERED_BYTE_SECONDS / f64::from(device.workers)
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

    use super::super::terms;
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
        let expected = 399.0 * 32.0 * 4.0 * SCATTERED_BYTE_SECONDS / f64::from(cpu.workers);
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
    fn calibration_fits_what_estimates_multiply() {
        let a = uniform::<f32>(400, 300, 5, 1).unwrap();
        let rows = RowLayout::natural(400, 1).unwrap();
        let shared = SharedStats::new(a.pattern(), &rows);
        let stats = shared.format(FormatSpec::Csr, DType::F32).unwrap();
        let workload = Workload::of(&shared, 32, DType::F32);
        for name in ["h200", "zen5"] {
            let device = DeviceSpec::builtin(name).unwrap();
            let fit = device.fit(FormatSpec::Csr, DType::F32, workload.precision).unwrap();
            for imbalance in [1.0, 1.5, 6.0, 1000.0] {
                let terms = terms(&workload, &stats, &device, imbalance);
                let (predicted, priced) = (
                    fit.seconds.times(terms).sum(),
                    price(&workload, &stats, &device, None, imbalance).seconds,
                );
                let off = (predicted / priced - 1.0).abs();
                assert!(off < 1e-12, "{name}, {imbalance}: {predicted} s, {priced} s");
            }
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
