//! One small matrix, laid out by hand in every format, so that nothing here rests on conversions.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use girih_formats::{
    BMat, Bcsr, BlockedEll, Complex, Csr, FormatError, FormatSpec, Hybrid, PAD_COL, PAD_ROW,
    RowCsr, RowLayout, Scalar, ScalesPer, Tiling, TwoFour, Wcsr,
};
use girih_planner::cost::LinearCost;
use girih_planner::file::Attachment;
use girih_planner::{DeviceSpec, Plan, PlanOptions, Planner, Schedule, Space};
use girih_reorder::{Permutation, Reordering};

/// ```text
/// 1 . . 2 . .
/// . . . 3 . .
/// . . . . . .
/// . 4 . . . 5
/// 6 7 . . . .
/// ```
pub(crate) fn tilings<T: Scalar>() -> Result<Vec<Tiling<T>>, FormatError> {
    let of = |values: &[u8]| -> Vec<T> {
        values.iter().map(|&v| T::from_c64(Complex::new(v.into(), -f64::from(v)))).collect()
    };
    let natural = |window_rows| RowLayout::natural(5, window_rows);
    let csr = Csr::try_new(
        5,
        6,
        vec![0, 2, 3, 3, 5, 7],
        vec![0, 3, 3, 1, 5, 0, 1],
        of(b"\x01\x02\x03\x04\x05\x06\x07"),
    )?;
    // Rows 4 and 3, an empty slot and row 0, rows 1 and 2.
    let layout = RowLayout::explicit(5, 2, vec![4, 3, PAD_ROW, 0, 1, 2])?;
    let ordered = Csr::try_new(
        6,
        6,
        vec![0, 2, 4, 4, 6, 7, 7],
        vec![0, 1, 1, 5, 0, 3, 3],
        of(&[6, 7, 4, 5, 1, 2, 3]),
    )?;
    let bmat = |values| {
        let bits = [(0, 0), (0, 2), (1, 2), (3, 1), (3, 3), (4, 0), (4, 1)];
        let word = bits.iter().map(|&(row, col)| 1 << BMat::<T>::bit(row, col).1).sum();
        BMat::try_new(
            RowLayout::natural(5, 16)?,
            6,
            vec![0, 1],
            vec![0, 1, 3, 5, PAD_COL, PAD_COL, PAD_COL, PAD_COL],
            vec![word, 0, 0, 0],
            vec![0, 7],
            values,
        )
    };
    Ok(vec![
        Tiling::Csr(RowCsr::try_new(natural(1)?, csr)?),
        Tiling::Csr(RowCsr::try_new(layout.clone(), ordered)?),
        Tiling::Bcsr(Bcsr::try_new(
            natural(2)?,
            6,
            7,
            3,
            vec![0, 2, 4, 5],
            vec![0, 1, 0, 1, 0],
            of(&[
                1, 0, 0, 0, 0, 0, 2, 0, 0, 3, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 5, 6, 7, 0, 0,
                0, 0,
            ]),
        )?),
        Tiling::Wcsr(Wcsr::try_new(
            natural(2)?,
            6,
            7,
            2,
            vec![0, 2, 4, 6],
            vec![0, 3, 1, 5, 0, 1],
            of(&[1, 2, 0, 0, 6, 7, 0, 3, 4, 5, 0, 0]),
        )?),
        Tiling::Wcsr(Wcsr::try_new(
            layout,
            6,
            7,
            3,
            vec![0, 3, 6, 9],
            vec![0, 1, 5, 0, 3, PAD_COL, 3, PAD_COL, PAD_COL],
            of(&[6, 7, 0, 0, 0, 0, 3, 0, 0, 0, 4, 5, 1, 2, 0, 0, 0, 0]),
        )?),
        Tiling::BlockedEll(BlockedEll::try_new(
            natural(2)?,
            6,
            7,
            2,
            vec![0, 1, 0, 2, 0, PAD_COL],
            of(&[1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 4, 0, 5, 6, 7, 0, 0, 0, 0, 0, 0]),
        )?),
        Tiling::BMat(bmat(Some(of(&[1, 2, 3, 4, 5, 6, 7]).into()))?),
        Tiling::BMat(bmat(None)?),
        Tiling::TwoFour(TwoFour::try_new(
            natural(1)?,
            6,
            7,
            of(&[1, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 5, 6, 7, 0, 0]),
            vec![0x444C, 0x444C, 0x4444, 0x4444, 0x4444],
        )?),
        // Rows 0 and 1 are packed, and the others held one by one.
        Tiling::Hybrid(Hybrid::try_new(
            natural(2)?,
            6,
            7,
            (2, 3),
            vec![0, 2, 2, 2],
            vec![0, 3],
            vec![0, 0, 0, 0, 2, 4, 4],
            vec![1, 5, 0, 1],
            of(&[1, 2, 0, 3, 4, 5, 6, 7]),
        )?),
    ])
}

/// The matrix in e4m3, with one scale and with one for each row.
pub(crate) fn narrow_tilings() -> Vec<Tiling<half::bf16>> {
    let csr = tilings::<half::bf16>().unwrap()[0].to_csr();
    ScalesPer::ALL
        .map(|scales| {
            let layout = RowLayout::natural(csr.nrows(), 1).unwrap();
            Tiling::from_csr(&csr, FormatSpec::TwoFourE4m3 { scales }, layout).unwrap()
        })
        .into()
}

/// For the same machine wherever tests run, so that files have the same size.
fn for_any() -> PlanOptions {
    PlanOptions::default().target(DeviceSpec::cpu())
}

/// Plans of the matrix in every format, of one value type.
pub(crate) fn plans<T: Scalar>() -> Vec<Plan> {
    let mut plans: Vec<_> = tilings::<T>().unwrap().into_iter().map(Plan::from_tiling).collect();
    // One with everything a plan can hold: a fingerprint, candidates, a slot map.
    let csr = tilings::<T>().unwrap()[0].to_csr();
    let options = for_any().n(3).keep_slot_map(true);
    plans.push(Planner::new(options).plan(&csr).unwrap());
    // One whose windows are cut by columns, for workers with partitions of their own.
    let cost = LinearCost { tile_col: 1.0, window_col: 1.0, fixed: 0.0, tile_again: 0.0 };
    let schedule = Schedule::sm_aligned(plans[3].tiling(), 40, 3, &cost);
    plans.push(plans[3].clone().with_schedule(&schedule).unwrap());
    // One whose tiles hold the columns in another order, and one in a space of its own.
    let cols = Permutation::try_new(vec![3, 5, 0, 1, 4, 2]).unwrap();
    plans.push(plans[4].clone().with_columns(cols.clone()).unwrap());
    let rows = Permutation::try_new(vec![4, 0, 2, 3, 1]).unwrap();
    let order = Reordering::new(&rows, Some(cols));
    let options = for_any().space(Space::Permuted);
    plans.push(Planner::new(options).plan_reordered(&csr, &order).unwrap());
    // One with what a backend keeps with it.
    let mut attached = plans[2].clone();
    let layout = Attachment::new("cpu", "avx2 v1")
        .and_then(|a| a.with_array("order", vec![1u32, 0]))
        .and_then(|a| a.with_array("bytes", vec![7u8; 5]));
    attached.attach(layout.unwrap()).unwrap();
    plans.push(attached);
    plans
}

/// Plans of the matrix in every format and value type.
pub(crate) fn all_plans() -> Vec<Plan> {
    let mut all = plans::<half::f16>();
    all.extend(plans::<half::bf16>());
    all.extend(plans::<f32>());
    all.extend(plans::<f64>());
    all.extend(plans::<Complex<f32>>());
    all.extend(plans::<Complex<f64>>());
    all.extend(narrow_tilings().into_iter().map(Plan::from_tiling));
    all
}

/// The plan's file.
pub(crate) fn file_of(plan: &Plan) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = plan.write_to(&mut bytes).unwrap();
    assert_eq!(written, bytes.len() as u64);
    bytes
}

/// The bytes of a file that mean something, and some of the padding between.
pub(crate) fn meaningful(bytes: &[u8]) -> Vec<usize> {
    let end = crate::hostile::header_end(bytes);
    let padding = |page: usize| {
        let used = bytes[page..page + 4096].iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
        let begin = page + used.next_multiple_of(64);
        (page..begin).chain((begin..page + 4096).step_by(401)).chain([page + 4095])
    };
    let after = end.next_multiple_of(4096);
    let header = (0..end).chain((end..after).step_by(401));
    header.chain((after..bytes.len()).step_by(4096).flat_map(padding)).collect()
}

static LARGEST: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a memory for the largest request.
pub(crate) struct LargestAllocation;

impl LargestAllocation {
    /// Bytes of the largest allocation that any test requested so far.
    pub(crate) fn bytes() -> usize {
        LARGEST.load(Ordering::Relaxed)
    }
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for LargestAllocation {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc_zeroed`'s contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller keeps `realloc`'s contract.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract.
        unsafe { System.dealloc(at, layout) }
    }
}
