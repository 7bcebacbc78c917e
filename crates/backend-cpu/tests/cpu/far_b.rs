//! The same bits where B is packed or prefetched, since a core's own caches don't hold it.

use girih_backend::DenseScalar;
use girih_backend_cpu::{CpuBackend, Isa};
use girih_formats::{Csr, Real, RowLayout, Scalar};
use girih_generate::uniform;
use half::bf16;

use crate::reproducible::{csr_plan, product, product_with_beta};

/// A plan for a wide product with a large B packs it; the same product by a plan for a narrower one
/// does not. The bits are the same, also where the last columns fill no group.
fn packing_agrees<T: DenseScalar + Real>(widths: [usize; 3]) {
    let a: Csr<T> = uniform(1_500, 80_000, 800, 1).unwrap();
    let layout = RowLayout::natural(a.nrows(), 1).unwrap();
    let unpacked = csr_plan(&a, &layout, 64);
    for n in widths {
        let packed = csr_plan(&a, &layout, n);
        for isa in [Isa::Avx512, Isa::Avx2, Isa::Neon] {
            let Some(backend) = CpuBackend::with_isa(isa) else { continue };
            let expected = product::<T>(&backend, &unpacked, n, false);
            for col_major in [false, true] {
                let same = product::<T>(&backend, &packed, n, col_major) == expected;
                assert!(same, "{isa}, n = {n}");
            }
        }
    }
}

#[test]
fn packing_changes_no_bit() {
    packing_agrees::<f32>([140, 160, 193]);
    packing_agrees::<f64>([68, 80, 97]);
    packing_agrees::<bf16>([290, 336, 353]);
}

/// Every row four times, which tiles of four rows share.
fn by_fours<T: Scalar>(a: &Csr<T>) -> Csr<T> {
    let rows: Vec<usize> = (0..a.nrows()).flat_map(|row| [row; 4]).collect();
    let mut row_ptr = vec![0];
    row_ptr.extend(rows.iter().scan(0, |end, &row| {
        *end += a.row(row).0.len() as u64;
        Some(*end)
    }));
    let cols: Vec<u32> = rows.iter().flat_map(|&row| a.row(row).0.iter().copied()).collect();
    let values: Vec<T> = rows.iter().flat_map(|&row| a.row(row).1.iter().copied()).collect();
    Csr::try_new(rows.len(), a.ncols(), row_ptr, cols, values).unwrap()
}

/// On processors that gain by it, a plan for a B that a core's own caches don't hold prefetches its scattered
/// rows, and ends vectors with them. The same product by a plan for two columns does not. The bits are the same, and
/// nothing past the last entry is taken for one.
fn prefetching_agrees<T: DenseScalar + Real>(widths: [usize; 9]) {
    let alone: Csr<T> = uniform(2_000, 90_000, 20, 1).unwrap();
    let shared = by_fours(&uniform::<T>(500, 90_000, 40, 2).unwrap());
    // AVX2 has tiles, which add in an order of their own, up to half a vector of 64 bytes and from four such vectors on.
    let has_tiles = |isa: Isa, n: usize| {
        let bytes = n * size_of::<T::Acc>();
        isa != Isa::Avx2 || !(33..256).contains(&bytes)
    };
    for (a, is_shared) in [(alone, false), (shared, true)] {
        let layout = RowLayout::natural(a.nrows(), 1).unwrap();
        let near = csr_plan(&a, &layout, 2);
        for n in widths {
            let ahead = csr_plan(&a, &layout, n);
            let isas = Isa::ALL.into_iter().filter(|&isa| !is_shared || has_tiles(isa, n));
            for (isa, beta) in isas.flat_map(|isa| [0.0, -0.5].map(|beta| (isa, beta))) {
                let Some(backend) = CpuBackend::with_isa(isa) else { continue };
                let expected = product_with_beta::<T>(&backend, &near, n, false, beta);
                for col_major in [false, true] {
                    let found = product_with_beta::<T>(&backend, &ahead, n, col_major, beta);
                    assert!(found == expected, "{isa}, n = {n}, beta = {beta}");
                }
            }
        }
    }
}

#[test]
fn prefetching_changes_no_bit() {
    prefetching_agrees::<f32>([9, 13, 16, 31, 40, 63, 64, 72, 100]);
    prefetching_agrees::<f64>([5, 7, 8, 15, 20, 31, 32, 36, 50]);
    prefetching_agrees::<bf16>([13, 26, 32, 62, 80, 126, 128, 145, 200]);
}
