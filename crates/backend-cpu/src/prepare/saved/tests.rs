//! Layouts that are kept and loaded: the same decisions and bits, and none of what can't be.

use girih_backend::{DenseScalar, PreparedSpmm};
use girih_formats::{Csr, FormatSpec, RealNumber, RowLayout, Scalar, Tiling};
use girih_generate::{fem_3d, laplacian_5pt, power_law_rows, uniform};
use girih_planner::file::{AttachedData, AttachedElement, Attachment};
use girih_planner::schedule::TaskSize;
use girih_planner::{Fingerprint, Schedule};
use half::bf16;
use ndarray::Array2;

use super::{LoadError, NUMBERS, save};
use crate::Isa;
use crate::exec::Prepared;
use crate::exec::team::Team;
use crate::kernels::CpuScalar;
use crate::lowering::{Case, LayoutChoice};
use crate::machine::{Machine, Vendor};

/// A matrix, its tasks, and what is kept of it for a case.
struct Kept<T: Scalar> {
    tiling: Tiling<T>,
    schedule: Schedule,
    case: Case,
    saved: Attachment,
}

impl<T: CpuScalar + DenseScalar> Kept<T> {
    fn new(a: &Csr<T>, n: usize, splits: bool) -> Self {
        let layout = RowLayout::natural(a.nrows(), 1).unwrap();
        let tiling = Tiling::from_csr(a, FormatSpec::Csr, layout).unwrap();
        let schedule = match splits {
            true => Schedule::by_tiles(&tiling, tiling.n_tiles() / 7 + 1),
            false => {
                Schedule::by_size(&tiling, TaskSize { tiles: 10_000, windows: 60, together: 4 })
            }
        };
        let machine = Machine::with_caches(1 << 20, 128 << 10).with_vendor(Vendor::Amd);
        let case = Case::new(&tiling, n, 2, Isa::best(), machine);
        let saved = save(&tiling, &schedule, None, case).unwrap().unwrap();
        Self { tiling, schedule, case, saved }
    }

    fn prepared(&self) -> Prepared<T> {
        Prepared::build(self.case, Team::with_threads(2).unwrap(), &self.tiling, &self.schedule)
            .unwrap()
    }

    fn load(&self, saved: &Attachment) -> Result<Prepared<T>, LoadError> {
        let (case, team) = (self.case, Team::with_threads(2).unwrap());
        Prepared::load(case, team, &self.tiling, &self.schedule, None, saved)
    }

    fn product(&self, prepared: &Prepared<T>, n: usize) -> Array2<T::Acc> {
        let (m, k) = (self.tiling.nrows(), self.tiling.ncols());
        let b = Array2::from_shape_fn((k, n), |(i, j)| T::from_f64((i % 13 + 2 * j) as f64 / 8.0));
        let mut c = Array2::from_elem((m, n), T::Acc::from_f64(f64::NAN));
        prepared.execute(1.5, T::erase(b.view()), 0.0, T::erase_acc_mut(c.view_mut())).unwrap();
        c
    }

    /// The attachment with one array changed.
    fn with<E: AttachedElement>(&self, name: &str, change: impl FnOnce(&mut Vec<E>)) -> Attachment {
        let mut array = self.saved.array::<E>(name).unwrap().to_vec();
        change(&mut array);
        self.with_data(name, Some(E::data(array.into())))
    }

    /// The attachment with one array replaced or left out.
    fn with_data(&self, name: &str, mut data: Option<AttachedData>) -> Attachment {
        let all = Attachment::new(self.saved.backend(), self.saved.key()).unwrap();
        self.saved.arrays().iter().fold(all, |all, array| {
            let data = match array.name() == name {
                true => data.take(),
                false => Some(array.data().clone()),
            };
            match data {
                Some(data) => all.with_array(array.name(), data).unwrap(),
                None => all,
            }
        })
    }

    fn breaks(&self, saved: &Attachment, at: &str) {
        match self.load(saved) {
            Err(LoadError::Broken(_)) => {}
            other => panic!("{at}: {other:?}"),
        }
    }
}

/// Tiles, tiles in slabs, sorted rows with slices, without, and rows as they stand.
fn cases<T: CpuScalar + DenseScalar>() -> Vec<Kept<T>> {
    let mesh = fem_3d(6, 6, 6, 3, 1).unwrap();
    let weights = uniform(80, 1100, 180, 1).unwrap();
    let stencil = laplacian_5pt(60, 40).unwrap();
    let sparse = uniform(700, 900, 5, 1).unwrap();
    let arrow = power_law_rows(300, 700, 60, 3).unwrap();
    vec![
        Kept::new(&mesh, 64, false),
        Kept::new(&weights, 64, false),
        Kept::new(&stencil, 1, false),
        Kept::new(&stencil, 8, true),
        Kept::new(&sparse, 16, false),
        Kept::new(&sparse, 512, false),
        Kept::new(&arrow, 8, true),
        Kept::new(&arrow, 256, true),
        Kept::new(&Csr::empty(40, 30).unwrap(), 8, false),
    ]
}

#[test]
fn what_is_loaded_is_what_would_be_made() {
    let f32s = loaded_is_made::<f32>();
    assert_eq!(f32s, [true; 5], "tiles, slabs, slices, sorted rows, rows as they stand");
    loaded_is_made::<f64>();
    loaded_is_made::<bf16>();
}

fn loaded_is_made<T: CpuScalar + DenseScalar>() -> [bool; 5] {
    let mut seen = [false; 5];
    for kept in cases::<T>() {
        let (made, loaded) = (kept.prepared(), kept.load(&kept.saved).unwrap());
        let n = kept.case.n;
        assert_eq!(loaded.lowering, made.lowering);
        assert_eq!(loaded.lowering(n).choice("layout"), Some("loaded with the plan"));
        assert_eq!(made.lowering(n).choice("layout"), None);
        match &made.lowering.layout.choice {
            LayoutChoice::Tiles(tiles, _) if tiles.slab_cols.is_some() => seen[1] = true,
            LayoutChoice::Tiles(..) => seen[0] = true,
            LayoutChoice::Sorted(_, made) if made.sliced_rows > 0 => seen[2] = true,
            LayoutChoice::Sorted(..) => seen[3] = true,
            LayoutChoice::AsStored => seen[4] = true,
        }
        for n in [1, 3, n, 2 * n + 1] {
            assert_eq!(kept.product(&made, n), kept.product(&loaded, n), "{:?}", kept.case);
        }
    }
    seen
}

#[test]
fn a_layout_of_permuted_rows_is_loaded() {
    let a: Csr<f32> = uniform(700, 900, 5, 1).unwrap();
    let layout = RowLayout::explicit(700, 1, (0..700).rev().collect::<Vec<u32>>()).unwrap();
    let tiling = Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap();
    let schedule = Schedule::by_window(&tiling);
    let case = Case::new(&tiling, 8, 2, Isa::best(), Machine::detect());
    let saved = save(&tiling, &schedule, None, case).unwrap().unwrap();
    let team = Team::with_threads(2).unwrap();
    Prepared::load(case, team, &tiling, &schedule, None, &saved).unwrap();
}

#[test]
fn only_csr_is_copied() {
    let a: Csr<f32> = uniform(60, 70, 5, 1).unwrap();
    let layout = RowLayout::natural(60, 8).unwrap();
    let spec = FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 };
    let tiling = Tiling::from_csr(&a, spec, layout).unwrap();
    let case = Case::new(&tiling, 8, 2, Isa::best(), Machine::detect());
    assert_eq!(save(&tiling, &Schedule::by_window(&tiling), None, case), Ok(None));
}

#[test]
fn a_layout_of_other_decisions_or_another_matrix_is_not_used() {
    let kept = Kept::<f32>::new(&fem_3d(6, 6, 6, 3, 1).unwrap(), 64, false);
    let load = |case, matrix: Option<&Fingerprint>| {
        let team = Team::with_threads(2).unwrap();
        Prepared::load(case, team, &kept.tiling, &kept.schedule, matrix, &kept.saved)
    };
    assert!(load(kept.case, None).is_ok());
    let other = Fingerprint::of(&fem_3d::<f32>(6, 6, 6, 3, 2).unwrap());
    assert!(matches!(load(kept.case, Some(&other)), Err(LoadError::Outdated)));
    // One column: rows are sorted, which nothing was noted for.
    assert!(matches!(load(Case { n: 1, ..kept.case }, None), Err(LoadError::Outdated)));
    // Other parts for the threads.
    assert!(matches!(load(Case { threads: 3, ..kept.case }, None), Err(LoadError::Outdated)));
}

#[test]
fn arrays_that_are_no_layout_are_refused() {
    for (i, kept) in cases::<f32>().iter().enumerate() {
        for array in kept.saved.arrays() {
            let (name, at) = (array.name(), format!("case {i}, {}", array.name()));
            kept.breaks(&kept.with_data(name, None), &at);
            match array.data() {
                AttachedData::U8(_) => {
                    kept.breaks(&kept.with(name, |json: &mut Vec<u8>| json.truncate(9)), &at);
                }
                AttachedData::U64(_) => {
                    // Any number of a table that is changed contradicts another.
                    for at in 0..kept.saved.array::<u64>(name).unwrap().len().min(60) {
                        for to in [u64::MAX, 1 << 40] {
                            let changed = kept.with(name, |array: &mut Vec<u64>| array[at] = to);
                            kept.breaks(&changed, &format!("case {i}, {name} {at}"));
                        }
                        let changed = kept.with(name, |array: &mut Vec<u64>| array[at] += 1);
                        kept.breaks(&changed, &format!("case {i}, {name} {at} + 1"));
                    }
                }
                AttachedData::U32(array) if !array.is_empty() => {
                    for to in [u32::MAX - 1, kept.tiling.ncols() as u32] {
                        let changed = kept.with(name, |array: &mut Vec<u32>| array[0] = to);
                        kept.breaks(&changed, &at);
                    }
                }
                _ => {}
            }
            for change in [-1isize, 1] {
                let resized = resized(kept, name, array.data(), change);
                if let Some(resized) = resized {
                    kept.breaks(&resized, &format!("{at}, resized by {change}"));
                }
            }
        }
    }
}

/// The attachment with an array of one element less or more.
fn resized(kept: &Kept<f32>, name: &str, data: &AttachedData, by: isize) -> Option<Attachment> {
    fn to<E: AttachedElement>(array: &[E], by: isize) -> Option<AttachedData> {
        let len = array.len().checked_add_signed(by)?;
        let mut array = array.to_vec();
        array.resize(len, E::zeroed());
        Some(E::data(array.into()))
    }
    let data = match data {
        AttachedData::U32(array) => to(array, by),
        AttachedData::U64(array) => to(array, by),
        AttachedData::F32(array) => to(array, by),
        _ => None,
    }?;
    Some(kept.with_data(name, Some(data)))
}

#[test]
fn rows_that_two_tasks_would_write_are_refused() {
    let kept = Kept::<f32>::new(&fem_3d(6, 6, 6, 3, 1).unwrap(), 64, false);
    // The first row of the second tile becomes that of the first.
    let twice = kept.with("tiles", |tiles: &mut Vec<u32>| tiles[19] = tiles[0]);
    kept.breaks(&twice, "a row twice");
    let lacking = kept.with("tiles", |tiles: &mut Vec<u32>| tiles[0] = u32::MAX);
    kept.breaks(&lacking, "a row lacks");
    let kept = Kept::<f32>::new(&uniform(700, 900, 5, 1).unwrap(), 16, false);
    let twice = kept.with("rows", |rows: &mut Vec<u32>| rows[1] = rows[0]);
    kept.breaks(&twice, "a row twice");
    // Columns of slices go on for as many rows as a vector has lanes.
    let kept = Kept::<f32>::new(&laplacian_5pt(60, 40).unwrap(), 1, false);
    let beyond = kept.with("col_idx", |cols: &mut Vec<u32>| cols[0] = 60 * 40 - 15);
    kept.breaks(&beyond, "columns of a slice beyond A");
}

/// Copies of the tasks that are parts of a window are never run.
#[test]
fn rows_that_no_task_would_write_are_refused() {
    let arrow = power_law_rows(300, 700, 60, 3).unwrap();
    let mut refused = 0;
    for (n, name) in [(8, "parts"), (256, "slabs")] {
        let kept = Kept::<f32>::new(&arrow, n, true);
        let Some(numbers) = kept.saved.array::<u64>(name) else { continue };
        let expected = kept.product(&kept.prepared(), n);
        for task in 1..numbers.len() / 5 {
            let moved = kept.with(name, |numbers: &mut Vec<u64>| {
                let (before, after) = numbers.split_at_mut(5 * task);
                before[5 * task - 5..].swap_with_slice(&mut after[..5]);
            });
            match kept.load(&moved) {
                Ok(loaded) => assert_eq!(kept.product(&loaded, n), expected, "{name} {task}"),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn numbers_of_no_matrix_are_refused() {
    let kept = Kept::<f32>::new(&fem_3d(6, 6, 6, 3, 1).unwrap(), 64, false);
    let json = kept.saved.array::<u8>(NUMBERS).unwrap();
    let json = std::str::from_utf8(json).unwrap();
    for (from, to) in [("\"spared\":", "\"spared\":9999999"), ("\"tiles\":", "\"tiles\":9999999")] {
        assert!(json.contains(from), "{json}");
        let lie = json.replacen(from, to, 1).into_bytes();
        kept.breaks(&kept.with_data(NUMBERS, Some(lie.into())), to);
    }
}
