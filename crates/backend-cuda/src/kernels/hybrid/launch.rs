//! Two launch sequences over disjoint rows of C, as one.

use girih_backend::{Lowering, ProductShape};
use girih_formats::{Hybrid, Scalar};
use girih_planner::Schedule;
use girih_planner::schedule::{Reduction, Task};

use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::kernels::Kernel;
use crate::kernels::csr_spmm::{self, Rows};
use crate::kernels::sm90_wcsr_spmm::{self, Windows};
use crate::launch::Machine;
use crate::launch::tensor_map::MapEncoder;
use crate::launch::{
    ALIGN, Addresses, Bytes, DevicePlan, Each, Launch, LaunchSequence, Operands, ValuesPart,
};
use crate::operand::Place;

/// A launch sequence among the parts and kernels of another.
#[derive(Debug)]
struct Part {
    sequence: Box<dyn LaunchSequence>,
    first_part: usize,
    first_kernel: usize,
    /// Where its workspace begins in that of both.
    workspace: u64,
}

#[derive(Debug)]
struct HybridLaunches {
    /// Of packed windows and of rows, those that there are: at least one, unless C has no rows.
    parts: Vec<Part>,
    packed_windows: usize,
    window_rows: usize,
    /// Rows that are not in packed windows.
    rows: usize,
}

/// A matrix with its work; `n` columns are expected. A schedule that cuts packed windows is kept to; rows are cut by
/// their kernel alone.
pub(crate) fn device_plan<T: Scalar>(
    a: &Hybrid<T>,
    schedule: &Schedule,
    n: usize,
    machine: Machine,
) -> DevicePlan {
    let layout = a.layout();
    let packed_windows = a.packed_windows();
    let mut joined = Joined::default();
    if packed_windows > 0 {
        let cuts = cuts_of_packed(a, schedule.tasks());
        let how = (&cuts[..], Reduction::TwoPass);
        let windows = Windows::packed(a);
        joined.add(sm90_wcsr_spmm::device_plan(&windows, how, n, machine));
    }
    if packed_windows < layout.n_windows() {
        // A layout that options force is for plans in CSR.
        let machine = Machine { csr_layout: None, cta_order: None, ..machine };
        joined.add(csr_spmm::device_plan(&Rows::besides_packed(a), &[], n, machine));
    }
    let besides = (0..layout.n_windows()).filter(|&w| !a.is_packed(w));
    let rows = besides.flat_map(|w| layout.rows(w)).flatten().count();
    let Joined { kernels, uploaded, values, workspace, parts } = joined;
    DevicePlan {
        shape: ProductShape { m: a.nrows(), k: a.ncols(), dtype: T::DTYPE },
        kernels,
        sequence: Box::new(HybridLaunches {
            parts,
            packed_windows,
            window_rows: a.window_rows(),
            rows,
        }),
        values,
        parts: uploaded,
        maps: Vec::new(),
        workspace,
    }
}

/// What several device plans upload and launch, one after the other.
#[derive(Default)]
struct Joined {
    kernels: Vec<Kernel>,
    uploaded: Vec<Box<dyn Bytes>>,
    values: Vec<ValuesPart>,
    workspace: u64,
    parts: Vec<Part>,
}

impl Joined {
    fn add(&mut self, own: DevicePlan) {
        debug_assert!(own.maps.is_empty(), "maps would be of other parts");
        let (first_part, first_kernel) = (self.uploaded.len(), self.kernels.len());
        let workspace = self.workspace.next_multiple_of(ALIGN);
        self.kernels.extend(own.kernels);
        self.uploaded.extend(own.parts);
        let moved = |of: ValuesPart| ValuesPart { part: first_part + of.part, ..of };
        self.values.extend(own.values.into_iter().map(moved));
        self.workspace = workspace + own.workspace;
        self.parts.push(Part { sequence: own.sequence, first_part, first_kernel, workspace });
    }
}

/// The tasks of a schedule that begin inside of a packed window, in windows and tiles of packed windows alone.
fn cuts_of_packed<T: Scalar>(a: &Hybrid<T>, tasks: &[Task]) -> Vec<Task> {
    let tiles_before = |w: usize| a.window_ptr()[w] / a.pad_cols() as u64;
    let (mut cuts, mut packed_before, mut next) = (Vec::new(), 0, 0);
    for w in 0..a.layout().n_windows() {
        let (first, end, is_packed) = (a.tile_ptr(w), a.tile_ptr(w + 1), a.is_packed(w));
        while let Some(task) = tasks.get(next).filter(|task| task.tile_start < end) {
            if is_packed && task.tile_start > first {
                let at = tiles_before(w) + task.tile_start - first;
                let (window_start, window_end) = (packed_before, packed_before + 1);
                cuts.push(Task { window_start, window_end, tile_start: at, tile_end: at });
            }
            next += 1;
        }
        packed_before += u64::from(is_packed);
    }
    cuts
}

impl HybridLaunches {
    /// The parts that a product has work for. With α = 0 either scales all of C, so one does.
    fn parts(&self, operands: &Operands) -> &[Part] {
        match operands.real_factors().0 as f32 == 0.0 {
            true => &self.parts[..self.parts.len().min(1)],
            false => &self.parts,
        }
    }
}

impl LaunchSequence for HybridLaunches {
    fn uses_workspace(&self, operands: &Operands) -> bool {
        self.parts(operands).iter().any(|part| part.sequence.uses_workspace(operands))
    }

    fn reads_as_it_is(&self, b: &Place) -> bool {
        self.parts.iter().all(|part| part.sequence.reads_as_it_is(b))
    }

    fn launches(
        &self,
        at: &Addresses<'_>,
        operands: &Operands,
        epilogue: &PlacedEpilogue,
        encoder: &dyn MapEncoder,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        for part in self.parts(operands) {
            let own = Addresses {
                parts: &at.parts[part.first_part..],
                maps: at.maps,
                workspace: at.workspace + part.workspace,
            };
            part.sequence.launches(&own, operands, epilogue, encoder, &mut |launch| {
                each(&Launch { kernel: part.first_kernel + launch.kernel, ..*launch })
            })?;
        }
        Ok(())
    }

    fn explain(&self, operands: &Operands, lowering: Lowering) -> Lowering {
        let Self { packed_windows, window_rows, rows, .. } = *self;
        let parts = format!("{packed_windows} packed windows of {window_rows} rows, {rows} rows");
        let why = "by tensor cores, then by CUDA cores: each writes rows of C of its own";
        let lowering = lowering.with("parts", parts, why);
        let explained = self.parts.iter().map(|part| &part.sequence);
        explained.fold(lowering, |lowering, sequence| sequence.explain(operands, lowering))
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{Csr, PAD_ROW, RowLayout};

    use super::*;
    use crate::launch::tensor_map::{EncodedMap, TensorMap};

    /// Windows of two rows: alike, apart, without entries, and alike again.
    fn hybrid(layout: RowLayout) -> Hybrid<f32> {
        let columns: [&[u32]; 8] =
            [&[0, 2, 5], &[0, 2, 5], &[1], &[7], &[], &[], &[1, 3, 4, 6, 8], &[1, 3, 4, 6, 8]];
        let mut row_ptr = vec![0];
        row_ptr.extend(columns.iter().scan(0, |end, row| {
            *end += row.len() as u64;
            Some(*end)
        }));
        let col_idx: Vec<u32> = columns.concat();
        let values = (1..=col_idx.len()).map(|v| v as f32).collect::<Vec<_>>();
        let a = Csr::try_new(8, 9, row_ptr, col_idx, values).unwrap();
        Hybrid::from_csr(&a, layout, (2, 3)).unwrap()
    }

    fn machine() -> Machine {
        Machine {
            multiprocessors: 132,
            cache_bytes: 50 << 20,
            memory_bandwidth: 28,
            cache_bandwidth: 68,
            csr_layout: None,
            cta_order: None,
            copies_b: false,
        }
    }

    #[test]
    fn cuts_are_counted_in_packed_windows() {
        let a = hybrid(RowLayout::natural(8, 2).unwrap());
        assert_eq!([0, 1, 2, 3].map(|w| a.is_packed(w)), [true, false, false, true]);
        let tiles: Vec<u64> = (0..=4).map(|w| a.tile_ptr(w)).collect();
        assert_eq!(tiles, [0, 2, 3, 3, 6]);
        let task = |window_start, window_end, tile_start, tile_end| Task {
            window_start,
            window_end,
            tile_start,
            tile_end,
        };
        let tasks = [
            task(0, 1, 0, 1),
            task(0, 1, 1, 2),
            task(1, 3, 2, 3),
            task(3, 4, 3, 5),
            task(3, 4, 5, 6),
        ];
        // The second tile of the first packed window, and the third of the second.
        let cuts: Vec<_> =
            cuts_of_packed(&a, &tasks).iter().map(|t| (t.window_start, t.tile_start)).collect();
        assert_eq!(cuts, [(0, 1), (1, 4)]);
    }

    struct Unencoded;

    impl MapEncoder for Unencoded {
        fn encode(&self, _: &TensorMap) -> Result<EncodedMap, CudaError> {
            Ok(EncodedMap::default())
        }
    }

    /// Eight rows alike, and eight with a column of their own each.
    fn tall(tile_entries: usize) -> Hybrid<f32> {
        let alike = (0..8).flat_map(|i| [0, 2, 5].map(|j| (i, j, 1.0)));
        let entries: Vec<_> = alike.chain((0..8).map(|j| (8 + j, j, 1.0))).collect();
        let a = Csr::from_triplets(16, 9, entries).unwrap();
        Hybrid::from_csr(&a, RowLayout::natural(16, 8).unwrap(), (8, tile_entries)).unwrap()
    }

    fn entries(a: &Hybrid<f32>, alpha: f64) -> Vec<(usize, String)> {
        let tiling = girih_formats::AnyTiling::from(girih_formats::Tiling::Hybrid(a.clone()));
        let plan = device_plan(a, &Schedule::by_window(&tiling), 64, machine());
        let parts: Vec<u64> = (1..=plan.parts.len() as u64).map(|part| part * ALIGN).collect();
        let at = plan.placed(parts, 0, &Unencoded).unwrap();
        let place = |rows| Place::row_major(0, (rows, 64), 4);
        let (alpha, beta) = (alpha.into(), 0.5.into());
        let operands = Operands { alpha, beta, b: place(9), c: place(16) };
        let mut launched = Vec::new();
        let plain = PlacedEpilogue::default();
        let each = &mut |launch: &Launch<'_>| {
            launched.push((launch.kernel, launch.entry.to_owned()));
            Ok(())
        };
        plan.sequence.launches(&at.addresses(), &operands, &plain, &Unencoded, each).unwrap();
        assert!(launched.iter().all(|&(kernel, _)| kernel < plan.kernels.len()));
        launched
    }

    #[test]
    fn each_part_is_launched_where_it_has_rows_and_c_is_scaled_once() {
        let launched = entries(&tall(10), 1.0);
        assert_eq!(launched.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 1]);
        let is_of = |at: usize, kernel: &str| launched[at].1.starts_with(kernel);
        assert!(is_of(0, "wcsr") && is_of(1, "csr"), "{launched:?}");
        for (tile_entries, kernel) in [(1, "wcsr"), (100, "csr")] {
            let launched = entries(&tall(tile_entries), 1.0);
            assert!(
                matches!(&launched[..], [(0, entry)] if entry.starts_with(kernel)),
                "{launched:?}"
            );
        }
        for tile_entries in [1, 10, 100] {
            assert_eq!(entries(&tall(tile_entries), 0.0).len(), 1);
        }
    }

    #[test]
    fn every_row_of_c_is_in_one_part() {
        let layout = RowLayout::explicit(8, 2, vec![7, 6, 0, 1, 5, PAD_ROW, PAD_ROW, 2, 3, 4]);
        for layout in [RowLayout::natural(8, 2).unwrap(), layout.unwrap()] {
            let a = hybrid(layout);
            let (windows, rows) = (Windows::packed(&a), Rows::besides_packed(&a));
            let mut all: Vec<u32> = windows.rows().iter().copied().chain(rows.listed()).collect();
            all.retain(|&row| row != PAD_ROW);
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }
}
