//! `execute` allocates nothing, but once for a copy of B or a B that is widened. New values of CSR allocate nothing after the first.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use girih_backend::SpmmBackend;
use girih_backend_cpu::CpuBackend;
use girih_formats::{Csr, FormatSpec, RowLayout, Scalar, Tiling};
use girih_generate::{power_law_rows, two_four};
use girih_planner::{Plan, Schedule};
use half::bf16;
use ndarray::{Array2, ShapeBuilder};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the requirements of `alloc` are the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the requirements of `dealloc` are the same, and `ptr` came from `System`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs products of every format from inside a pool; gives how often they allocated.
fn allocations<T>(pool: &rayon::ThreadPool) -> usize
where
    T: girih_backend::DenseScalar,
{
    let mut counted = 0;
    for spec in [
        FormatSpec::Csr,
        FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
        FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
        FormatSpec::BlockedEll { block_size: 8 },
        FormatSpec::BMat { pattern_only: false },
        FormatSpec::TwoFour,
    ] {
        let csr: Csr<f64> = match spec {
            FormatSpec::TwoFour => two_four(30, 5000, 3).unwrap(),
            _ => power_law_rows(60, 3000, 400, 3).unwrap(),
        };
        let csr = csr.cast::<T>();
        let layout = RowLayout::natural(csr.nrows(), spec.window_rows()).unwrap();
        let plan = Plan::from_tiling(Tiling::from_csr(&csr, spec, layout).unwrap());
        let schedule = Schedule::by_tiles(plan.tiling(), 900);
        let plan = plan.with_schedule(&schedule).unwrap();
        let prepared = CpuBackend::new().prepare(&plan).unwrap();
        for (n, col_major) in [(1, false), (77, false), (290, false), (8, true)] {
            let b = Array2::from_elem((plan.ncols(), n).set_f(col_major), T::ONE);
            let mut c = Array2::from_elem((plan.nrows(), n).set_f(col_major), T::Acc::ONE);
            let mut product = || {
                let (b, c) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
                prepared.execute(0.5, b, 0.5, c).unwrap();
            };
            pool.install(|| {
                let widens = n == 1 && size_of::<T>() == 2;
                let copies = n > 1 && size_of::<T>() > 2 && spec == FormatSpec::Csr;
                if col_major || widens || copies {
                    // Memory for a copy of B is kept, and for a B that is widened.
                    product();
                }
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                (0..3).for_each(|_| product());
                counted += ALLOCATIONS.load(Ordering::Relaxed) - before;
            });
        }
        if spec == FormatSpec::Csr {
            let mut prepared = CpuBackend::new().prepare(&plan).unwrap();
            pool.install(|| {
                prepared.refresh(csr.values().as_slice().into()).unwrap();
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                (0..3).for_each(|_| prepared.refresh(csr.values().as_slice().into()).unwrap());
                counted += ALLOCATIONS.load(Ordering::Relaxed) - before;
            });
        }
    }
    counted
}

// One test, because the count is the whole process's.
#[test]
fn execute_allocates_nothing() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        // Rayon's threads allocate a little each when they start and when they first steal.
        allocations::<f32>(&pool);
        assert_eq!(allocations::<f32>(&pool), 0, "f32 on {threads} threads");
        assert_eq!(allocations::<bf16>(&pool), 0, "bf16 on {threads} threads");
    }
}
