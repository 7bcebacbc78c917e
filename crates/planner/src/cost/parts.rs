//! The products that one in a hybrid consists of: packed windows as WCSR has them, and rows as CSR does.

use girih_formats::FormatSpec;
use girih_formats::stats::FormatStats;

use super::{Cost, Workload};

/// One of the two, with what is known of it. Each has rows of C, entries and rows of B of its own.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) workload: Workload,
    pub(crate) stats: FormatStats,
}

/// The parts of a product in a hybrid that have windows: packed ones, then rows. None for other formats.
///
/// Of windows of 16 rows or more it is known what their rows of B come to by windows of 16: packed windows hold no
/// more columns than these fetch, and rows fetch what is left at the most.
pub(crate) fn parts(workload: &Workload, stats: &FormatStats) -> Vec<Part> {
    let FormatSpec::Hybrid { window_rows, pad_cols, .. } = stats.spec else { return Vec::new() };
    let value_bytes = workload.dtype.size() as u64;
    let (row_windows, entries) = (stats.row_windows, stats.row_entries);
    let packed_windows = stats.windows - row_windows;
    let packed_rows =
        (packed_windows.saturating_mul(window_rows as u64)).min(workload.nrows as u64);
    let rows = workload.nrows as u64 - packed_rows;
    let row_bytes = 8 * (rows + 1) + entries * (4 + value_bytes);
    let gathered = stats.gathered_cols - entries;
    let near = workload.footprint.near();
    let near_rows = match window_rows >= 16 {
        true => (near - gathered as f64).max(entries as f64 / 16.0),
        false => near,
    };
    let stored = stats.stored - entries;
    let packed = FormatStats {
        spec: FormatSpec::Wcsr { window_rows, pad_cols },
        bytes: stats.bytes.saturating_sub(row_bytes),
        stored,
        fill_ratio: (workload.nnz as f64 - entries as f64) / stored.max(1) as f64,
        windows: packed_windows,
        tiles: stored / (window_rows.saturating_mul(pad_cols)).max(1) as u64,
        gathered_cols: gathered,
        row_windows: 0,
        row_entries: 0,
        ..stats.clone()
    };
    let by_rows = FormatStats {
        spec: FormatSpec::Csr,
        bytes: row_bytes,
        stored: entries,
        fill_ratio: 1.0,
        windows: rows,
        tiles: entries,
        max_tiles_per_window: 0,
        gathered_cols: entries,
        padding_cols: 0,
        row_windows: 0,
        row_entries: 0,
        ..stats.clone()
    };
    let part = |stats: FormatStats, nrows: u64, nnz: u64, near: f64| {
        let share = nrows as f64 / workload.nrows.max(1) as f64;
        let workload = Workload {
            nrows: nrows as usize,
            nnz: nnz as usize,
            footprint: workload.footprint.part(nrows as usize, near),
            scattered_rows: (workload.scattered_rows as f64 * share) as usize,
            ..*workload
        };
        Part { workload, stats }
    };
    let packed_nnz = workload.nnz as u64 - entries;
    let mut both = vec![
        part(packed, packed_rows, packed_nnz, (gathered as f64).min(near)),
        part(by_rows, rows, entries, near_rows.min(entries as f64)),
    ];
    let windows = [packed_windows, row_windows];
    let mut windows = windows.iter();
    both.retain(|_| windows.next().is_some_and(|&windows| windows > 0));
    let touched: Vec<f64> = both.iter().map(Part::touched_bytes).collect();
    let all: f64 = touched.iter().sum();
    for (part, touched) in both.iter_mut().zip(touched) {
        part.workload.beside_bytes = all - touched;
    }
    both
}

impl Part {
    /// Bytes of A, B and C that a product of it touches.
    fn touched_bytes(&self) -> f64 {
        let Self { workload, stats } = self;
        let n = workload.n as f64;
        let (b, c) = (workload.dtype.size() as f64, workload.dtype.accumulator().size() as f64);
        stats.bytes as f64 + workload.footprint.once() * n * b + workload.nrows as f64 * n * c
    }
}

impl Cost {
    /// Of two products, one after the other, that are one together.
    pub(crate) fn and(self, next: Self) -> Self {
        let dominant = if next.seconds > self.seconds { next.dominant } else { self.dominant };
        let busy = |cost: &Self| (cost.seconds - cost.overhead_seconds).max(0.0);
        let even = |cost: &Self| busy(cost) / cost.imbalance.max(1.0);
        let evenly = even(&self) + even(&next);
        let imbalance = match evenly > 0.0 {
            true => ((busy(&self) + busy(&next)) / evenly).max(1.0),
            false => self.imbalance.max(next.imbalance),
        };
        Self {
            tile_bytes: self.tile_bytes + next.tile_bytes,
            fill_ratio: self.fill_ratio,
            b_fetched_bytes: self.b_fetched_bytes + next.b_fetched_bytes,
            b_memory_bytes: self.b_memory_bytes + next.b_memory_bytes,
            c_bytes: self.c_bytes + next.c_bytes,
            a_passes: self.a_passes.max(next.a_passes),
            flops: self.flops + next.flops,
            unit: self.unit,
            memory_seconds: self.memory_seconds + next.memory_seconds,
            cache_seconds: self.cache_seconds + next.cache_seconds,
            compute_seconds: self.compute_seconds + next.compute_seconds,
            overhead_seconds: self.overhead_seconds + next.overhead_seconds,
            imbalance,
            seconds: self.seconds + next.seconds,
            dominant,
        }
    }

    /// Of parts that are priced one by one; `whole` has the counts that are those of all.
    pub(crate) fn of_parts(
        parts: impl IntoIterator<Item = Self>,
        whole: &FormatStats,
    ) -> Option<Self> {
        let cost = parts.into_iter().reduce(Self::and)?;
        Some(Self { tile_bytes: whole.bytes, fill_ratio: whole.fill_ratio, ..cost })
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::stats::SharedStats;
    use girih_formats::{Csr, DType, RowLayout};

    use super::*;
    use crate::cost::price;
    use crate::device::DeviceSpec;

    /// Half of the rows alike, of 200 entries each, and half with 40 columns of their own.
    fn halves(rows: usize) -> Csr<f32> {
        let columns = |row: usize| match row < rows / 2 {
            true => 0..200,
            false => 40 * (row % 220)..40 * (row % 220) + 40,
        };
        let entries = (0..rows).flat_map(|row| columns(row).map(move |col| (row, col, 1.0f32)));
        Csr::from_triplets(rows, 9000, entries.collect::<Vec<_>>()).unwrap()
    }

    fn priced(spec: FormatSpec, device: &DeviceSpec, n: usize) -> (Vec<Part>, Cost) {
        let a = halves(16384);
        let rows = RowLayout::natural(a.nrows(), 1).unwrap();
        let shared = SharedStats::new(a.pattern(), &rows);
        let stats = shared.format(spec, DType::F32).unwrap();
        let workload = Workload::of(&shared, n, DType::F32);
        (parts(&workload, &stats), price(&workload, &stats, device, None, 1.0))
    }

    #[test]
    fn parts_are_all_of_the_product() {
        let device = DeviceSpec::builtin("h100-sxm").unwrap();
        let hybrid =
            |tile_entries| FormatSpec::Hybrid { window_rows: 64, pad_cols: 8, tile_entries };
        let (both, cost) = priced(hybrid(16), &device, 64);
        let [packed, rows] = &both[..] else { panic!("{both:?}") };
        assert_eq!((packed.stats.windows, packed.workload.nrows), (128, 8192));
        assert_eq!((packed.stats.tiles, packed.stats.gathered_cols), (128 * 25, 128 * 200));
        assert_eq!((rows.stats.spec, rows.workload.nrows), (FormatSpec::Csr, 8192));
        assert_eq!((rows.stats.tiles, rows.workload.nnz), (8192 * 40, 8192 * 40));
        assert_eq!(packed.workload.nnz + rows.workload.nnz, 8192 * 240);
        let priced_apart =
            both.iter().map(|part| price(&part.workload, &part.stats, &device, None, 1.0).seconds);
        let seconds: f64 = priced_apart.sum();
        assert!((cost.seconds - seconds).abs() < 1e-12);
        // Less than either format takes for all.
        for spec in [FormatSpec::Csr, FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 }] {
            let alone = priced(spec, &device, 64).1.seconds;
            assert!(cost.seconds < alone, "{spec}: {alone}, together {}", cost.seconds);
        }
    }

    #[test]
    fn a_hybrid_of_one_kind_costs_what_that_kind_costs() {
        let device = DeviceSpec::builtin("h100-sxm").unwrap();
        let hybrid =
            |tile_entries| FormatSpec::Hybrid { window_rows: 64, pad_cols: 8, tile_entries };
        for (spec, same) in [
            (hybrid(1), FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 }),
            (hybrid(1000), FormatSpec::Csr),
        ] {
            let ((parts, cost), (_, alone)) =
                (priced(spec, &device, 512), priced(same, &device, 512));
            assert_eq!((parts.len(), parts[0].stats.spec), (1, same));
            let off = (cost.seconds / alone.seconds - 1.0).abs();
            assert!(off < 0.02, "{spec}: {} s, {same}: {} s", cost.seconds, alone.seconds);
        }
    }
}
