//! Layouts that the CPU backend saves in plans: arrays and numbers of some of them changed, hashes right.
//! What is refused is refused with a reason. What is taken multiplies within A, B and C, and stores every row
//! once.

use std::borrow::Cow;
use std::sync::LazyLock;

use girih_backend::{DenseScalar, SpmmBackend};
use girih_backend_cpu::{CpuBackend, Isa, NAME};
use girih_formats::{Csr, FormatSpec, Scalar, for_any_tiling};
use girih_planner::file::LoadOptions;
use girih_planner::file::{AttachedData, AttachedElement, Attachment};
use girih_planner::{Plan, PlanOptions, Planner, Schedule};
use ndarray::{Array2, s};

/// A plan and what a backend saves of it.
struct Saved {
    plan: Plan,
    backend: CpuBackend,
    layout: Attachment,
}

/// A matrix of rows that are given by their columns.
fn matrix<T: Scalar>(ncols: usize, rows: impl Iterator<Item = Vec<usize>>) -> Csr<T> {
    let (mut row_ptr, mut col_idx) = (vec![0], Vec::new());
    for mut row in rows {
        row.sort_unstable();
        row.dedup();
        col_idx.extend(row.into_iter().filter(|&col| col < ncols).map(|col| col as u32));
        row_ptr.push(col_idx.len() as u64);
    }
    let values: Vec<T> =
        (0..col_idx.len()).map(|i| T::from_c64(((i % 7) as f64 - 2.5).into())).collect();
    match Csr::try_new(row_ptr.len() - 1, ncols, row_ptr, col_idx, values) {
        Ok(a) => a,
        Err(error) => unreachable!("columns rise within the matrix: {error}"),
    }
}

/// Tiles, tiles in slabs, sorted rows with slices and without, split rows, and no entries.
static SAVED: LazyLock<Vec<Saved>> = LazyLock::new(|| {
    let isas = [Isa::best(), Isa::Portable].into_iter().filter_map(CpuBackend::with_isa);
    let of_isa = |backend: CpuBackend| {
        let Ok(backend) = backend.with_threads(1) else {
            unreachable!("one thread starts no other")
        };
        let save = |plan: Plan| {
            let layout = backend.layout(&plan).unwrap().unwrap();
            Saved { plan, backend: backend.clone(), layout }
        };
        plans().into_iter().map(save).collect::<Vec<_>>()
    };
    isas.flat_map(of_isa).collect()
});

fn plans() -> Vec<Plan> {
    // Three rows for each point of a line, with the columns of the points around it.
    let mesh = || (0..30).map(|i: usize| ((i / 3).saturating_sub(3) * 3..i / 3 * 3 + 12).collect());
    let weights = (0..10)
        .map(|i: usize| (0..600).filter(|j| !(i * 131 + j * j * 7).is_multiple_of(3)).collect());
    let stencil =
        (0..60).map(|i: usize| [i.wrapping_sub(8), i.wrapping_sub(1), i, i + 1, i + 8].into());
    let sparse = (0..60).map(|i: usize| (0..i % 7).map(|j| (i * 37 + j * 11) % 70).collect());
    let arrow = (0..20).map(|i: usize| (0..if i < 3 { 200 } else { i % 5 }).collect());
    let plan = |a: &Csr<f32>, n| csr(a, n);
    let arrow = plan(&matrix(200, arrow), 8);
    let splits = Schedule::by_tiles(arrow.tiling(), 40);
    vec![
        plan(&matrix(30, mesh()), 64),
        plan(&matrix(600, weights), 64),
        plan(&matrix(60, stencil), 1),
        plan(&matrix(70, sparse), 8),
        arrow.with_schedule(&splits).unwrap(),
        plan(&Csr::empty(40, 30).unwrap(), 8),
        csr(&matrix::<f64>(30, mesh()), 32),
        csr(&matrix::<half::bf16>(30, mesh()), 1),
    ]
}

/// The plan of a matrix whose rows keep their order.
fn csr<T: Scalar>(a: &Csr<T>, n: usize) -> Plan {
    Planner::new(PlanOptions::new(n).format(FormatSpec::Csr)).plan(a).unwrap()
}

/// A change of an array: what, where, and a number for it.
#[derive(Clone, Copy)]
struct Change {
    what: u8,
    at: usize,
    by: u16,
}

/// An array with a change.
fn edited<E: AttachedElement>(
    array: &[E],
    Change { what, at, by }: Change,
    number: impl Fn(u64) -> E,
    value: impl Fn(E) -> u64,
) -> AttachedData {
    let mut array = array.to_vec();
    let n = array.len();
    if n > 0 {
        let (at, other) = (at % n, usize::from(by) % n);
        match what % 10 {
            0 => array[at] = number(by.into()),
            1 => array[at] = number(value(array[at]).wrapping_add_signed((by as i16).into())),
            2 => array[at] = number(u64::MAX - u64::from(by)),
            3 => array[at] = number(1 << (by % 64)),
            4 => array[at] = array[other],
            5 => array.swap(at, other),
            6 => array.insert(at, number(by.into())),
            7 => drop(array.remove(at)),
            8 => array.truncate(at),
            _ => array.rotate_left(at),
        }
    } else {
        array.push(number(by.into()));
    }
    E::data(array.into())
}

/// Text with one of its numbers changed, or a byte.
fn edited_text(text: &[u8], change: Change) -> AttachedData {
    let at = change.at % text.len().max(1);
    let begin = text[at..].iter().position(u8::is_ascii_digit).map(|begin| at + begin);
    let Some(begin) = begin.filter(|_| change.what & 16 == 0) else {
        return edited(text, change, |n| n as u8, u64::from);
    };
    let len = text[begin..].iter().position(|byte| !byte.is_ascii_digit()).unwrap_or_default();
    let (before, rest) = text.split_at(begin);
    let (number, after) = rest.split_at(len);
    let old: u64 = str::from_utf8(number).ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let by = u64::from(change.by);
    let new = match change.what % 4 {
        0 => by,
        1 => old.wrapping_add_signed((change.by as i16).into()),
        2 => u64::MAX - by,
        _ => 1 << (by % 64),
    };
    [before, new.to_string().as_bytes(), after].concat().into()
}

fn changed(data: &AttachedData, change: Change) -> AttachedData {
    match data {
        AttachedData::U8(text) => edited_text(text, change),
        AttachedData::U32(array) => edited(array, change, |n| n as u32, u64::from),
        AttachedData::U64(array) => edited(array, change, |n| n, |n| n),
        // Numbers that are finite, so that what is not shows.
        AttachedData::F32(array) => edited(array, change, |n| f32::from(n as u8), |_| 1),
        AttachedData::F64(array) => edited(array, change, |n| f64::from(n as u8), |_| 1),
        _ => data.clone(),
    }
}

/// A layout with changes: for each an array, what becomes of it, a place and a number.
fn attachment(saved: &Attachment, changes: &[u8]) -> Attachment {
    let mut arrays: Vec<Cow<'_, AttachedData>> =
        saved.arrays().iter().map(|array| Cow::Borrowed(array.data())).collect();
    for change in changes.chunks_exact(6) {
        let &[array, what, at0, at1, by0, by1] = change else { break };
        let array = &mut arrays[usize::from(array) % saved.arrays().len()];
        let (at, by) = (u16::from_le_bytes([at0, at1]).into(), u16::from_le_bytes([by0, by1]));
        *array = Cow::Owned(changed(array, Change { what, at, by }));
    }
    let empty = Attachment::new(saved.backend(), saved.key()).unwrap();
    let named = saved.arrays().iter().zip(arrays);
    named.fold(empty, |all, (array, data)| all.with_array(array.name(), data.into_owned()).unwrap())
}

/// Multiplies, by old values and new ones, with walls of NaN around B and walls around C.
fn multiply<T: DenseScalar>(saved: &Saved, plan: &Plan, a: &Csr<T>, is_saved: bool) {
    let Ok(mut prepared) = saved.backend.prepare(plan) else {
        assert!(!is_saved, "a layout that was saved is refused");
        return;
    };
    let n = plan.options().n;
    assert!(!is_saved || prepared.lowering(n).choice("layout").is_some(), "it was not loaded");
    let (m, k) = (plan.nrows(), plan.ncols());
    let mut b = Array2::from_elem((k + 2, n), T::from_c64(f64::NAN.into()));
    b.slice_mut(s![1..=k, ..]).fill(T::from_c64(0.5.into()));
    let (wall, unwritten) = (T::Acc::from_c64((-7.0).into()), T::Acc::from_c64(f64::NAN.into()));
    for is_refreshed in [false, true] {
        let values: Vec<T> = vec![T::from_c64(1.5.into()); a.nnz()];
        let values = ndarray::ArrayView2::from_shape((a.nnz(), 1), &values).unwrap();
        if is_refreshed && prepared.refresh(T::erase(values)).is_err() {
            return;
        }
        let mut c = Array2::from_elem((m + 2, n), wall);
        c.slice_mut(s![1..=m, ..]).fill(unwritten);
        let inner = c.slice_mut(s![1..=m, ..]);
        prepared
            .execute(1.0, T::erase(b.slice(s![1..=k, ..])), 0.0, T::erase_acc_mut(inner))
            .unwrap();
        let is_wall = |row: usize| c.row(row).iter().all(|&x| x == wall);
        assert!(is_wall(0) && is_wall(m + 1), "a product writes beside C");
        let is_finite = |&x: &T::Acc| x.is_finite();
        assert!(c.slice(s![1..=m, ..]).iter().all(is_finite), "a row lacks, or B was left");
    }
}

/// Runs the target on an input: which layout, how the plan gets it, and changes.
pub(crate) fn run(data: &[u8]) {
    let &[which, how, ref changes @ ..] = data else { return };
    let saved = &SAVED[usize::from(which) % SAVED.len()];
    let mut plan = saved.plan.clone();
    plan.attach(attachment(&saved.layout, changes)).unwrap();
    if how & 1 == 1 {
        // Through a file, whose arrays lie at pages of their own.
        let mut bytes = Vec::new();
        plan.write_to(&mut bytes).unwrap();
        plan = LoadOptions::default().read_bytes(&bytes).unwrap();
    }
    assert!(plan.attachments().iter().all(|attached| attached.backend() == NAME));
    for_any_tiling!(plan.tiling(), tiling => {
        multiply(saved, &plan, &tiling.to_csr(), changes.len() < 6);
    });
}
