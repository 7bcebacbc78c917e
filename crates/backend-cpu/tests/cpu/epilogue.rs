//! Epilogues and rounding on every path of a product: once for every element, epilogues with the bits of the plain product.

use girih_backend::{
    Activation, DenseScalar, Epilogue, PreparedSpmm, Product, SpmmBackend, verify,
};
use girih_backend_cpu::{CpuBackend, Isa};
use girih_formats::{Accumulator, Csr, FormatSpec, Real, RealNumber, Scalar, Tiling};
use girih_generate::{fem_3d, laplacian_5pt, power_law_rows, uniform};
use girih_planner::{Plan, PlanOptions, Planner, Schedule};
use girih_reorder::Method;
use girih_testkit::operands::random;
use half::{bf16, f16};
use ndarray::{Array2, ArrayViewMut2, ShapeBuilder, s};

const WIDTHS: [usize; 6] = [1, 4, 13, 64, 100, 520];

/// Prepared for `n` columns, where the matrix's copy is made for them too.
fn plan<T: DenseScalar>(a: &Csr<T>, spec: FormatSpec, n: usize, tiles: Option<u64>) -> Plan {
    let plan = Planner::new(PlanOptions::new(n).format(spec)).plan(a).unwrap();
    match tiles {
        None => plan,
        Some(tiles) => {
            let schedule = Schedule::by_tiles(plan.tiling(), tiles);
            plan.with_schedule(&schedule).unwrap()
        }
    }
}

/// The plain product put through `max(x + bias, 0)` has the same bits, in C of either order.
fn agrees<T: DenseScalar + Real>(prepared: &dyn PreparedSpmm, a: &Csr<T>, n: usize, what: &str) {
    let (m, k) = (a.nrows(), a.ncols());
    let b =
        Array2::from_shape_fn((k, n), |(i, j)| T::from_f64(((i + 3 * j) % 29) as f64 / 7.0 - 2.0));
    let value = |i: usize| T::Acc::from_f64(((i * 5) % 11) as f64 - 5.0);
    let (per_row, per_col): (Vec<_>, Vec<_>) =
        ((0..m).map(value).collect(), (0..n).map(value).collect());
    for (col_major, alpha, beta) in
        [(false, 1.5, 0.0), (true, -1.5, 0.5), (false, 1.0, 1.0), (false, 0.0, 2.0)]
    {
        let start = Array2::from_shape_fn((m, n).set_f(col_major), |(i, j)| {
            T::Acc::from_f64((i + j) as f64 / 3.0)
        });
        let mut plain = start.clone();
        prepared
            .execute(alpha, T::erase(b.view()), beta, T::erase_acc_mut(plain.view_mut()))
            .unwrap();
        for rows in [true, false] {
            let epilogue = match rows {
                true => Epilogue::new().bias_per_row(T::erase_acc(column(&per_row))),
                false => Epilogue::new().bias_per_column(T::erase_acc(column(&per_col))),
            };
            let epilogue = epilogue.activation(Activation::Relu);
            let mut found = start.clone();
            let into = T::erase_acc_mut(found.view_mut());
            prepared.execute_with(alpha, T::erase(b.view()), beta, into, &epilogue).unwrap();
            for ((i, j), &x) in plain.indexed_iter() {
                let biased = x + if rows { per_row[i] } else { per_col[j] };
                let expected = if biased.to_f64() < 0.0 { T::Acc::ZERO } else { biased };
                assert!(expected == found[[i, j]], "{what}, n = {n}, ({i}, {j}), rows {rows}");
            }
        }
    }
}

fn column<A: Accumulator>(values: &[A]) -> ndarray::ArrayView2<'_, A> {
    ndarray::ArrayView1::from(values).insert_axis(ndarray::Axis(1))
}

fn every_path<T: DenseScalar + Real>(isa: Isa) {
    let matrices: [(&str, Csr<T>); 4] = [
        ("stencil", laplacian_5pt(17, 15).unwrap()),
        ("mesh", fem_3d(4, 4, 4, 3, 1).unwrap()),
        ("power law", power_law_rows(150, 300, 40, 3).unwrap()),
        ("slabs", uniform(40, 1500, 400, 3).unwrap()),
    ];
    let backend = CpuBackend::with_isa(isa).unwrap();
    for (name, a) in &matrices {
        for spec in [
            FormatSpec::Csr,
            FormatSpec::Bcsr { block_rows: 8, block_cols: 4 },
            FormatSpec::Wcsr { window_rows: 40, pad_cols: 8 },
            FormatSpec::BMat { pattern_only: false },
        ] {
            for n in WIDTHS {
                for tiles in [None, Some(37)] {
                    let plan = plan(a, spec, n, tiles);
                    let prepared = backend.prepare(&plan).unwrap();
                    let what = format!("{name}, {spec}, {isa}, {tiles:?} {}", T::DTYPE);
                    agrees(&*prepared, a, n, &what);
                }
            }
        }
    }
}

#[test]
fn every_path_finishes_each_element_once() {
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        every_path::<f32>(isa);
    }
    every_path::<f64>(Isa::best());
    every_path::<f16>(Isa::best());
}

/// The tiles of a wide matrix are summed slab by slab, and only the last slab's sums are finished.
#[test]
fn slabs_are_finished_once() {
    let a: Csr<f32> = uniform(500, 6000, 600, 3).unwrap();
    let prepared = CpuBackend::new().prepare(&plan(&a, FormatSpec::Csr, 256, None)).unwrap();
    let lowering = prepared.lowering(256);
    agrees(&*prepared, &a, 256, &lowering.to_string());
    let tiling =
        Tiling::from_csr(&a, FormatSpec::Csr, girih_formats::RowLayout::natural(500, 1).unwrap());
    let plan = Plan::from_tiling(tiling.unwrap());
    agrees(&*CpuBackend::new().prepare(&plan).unwrap(), &a, 256, "as stored");
}

/// A C of 16 bits holds no sums of single slabs: they are complete before they are rounded.
#[test]
fn slabs_are_rounded_once() {
    let (m, k) = (500, 6000);
    // Whole groups of columns, and a part of one.
    for n in [256, 270] {
        let a: Csr<f16> = uniform::<f32>(m, k, 600, 3).unwrap().cast();
        let plan = plan(&a, FormatSpec::Csr, n, None);
        let prepared = CpuBackend::new().prepare(&plan).unwrap();
        assert!(prepared.lowering(n).to_string().contains("slabs"), "{}", prepared.lowering(n));
        let b = random::<f16>(k, n, 1);
        let before = random::<f16>(m, n, 2);
        for (alpha, beta) in [(1.0, 0.0), (-1.5, 0.5)] {
            let mut c = before.clone();
            prepared.execute(alpha, (&b).into(), beta, (&mut c).into()).unwrap();
            let added = (beta != 0.0).then(|| (beta, (&before).into()));
            let product = Product { alpha, b: (&b).into(), added };
            let rounding = CpuBackend::new().rounding(&plan);
            let verdict = verify(&a, &plan, &product, &(&c).into(), rounding).unwrap();
            assert!(verdict.passed(), "n = {n}: {verdict:?}");
        }
    }
}

/// Without slabs, sums are those of a C in f32: of whole vectors and parts of them, of single columns, and of Inf and NaN.
#[test]
fn rounded_elements_are_those_of_f32() {
    let a: Csr<f32> = uniform(400, 300, 20, 3).unwrap();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        for spec in [FormatSpec::Csr, FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 }] {
            for n in [1, 2, 5, 8, 16, 21, 70, 128] {
                let prepared = CpuBackend::with_isa(isa).unwrap();
                let prepared = prepared.prepare(&plan(&a, spec, n, None)).unwrap();
                let mut b = random::<f32>(300, n, 1);
                b.row_mut(7).fill(3e5);
                b[[9, n / 2]] = f32::NAN;
                let mut wide = Array2::from_elem((400, n), f32::NAN);
                prepared.execute(1.0, (&b).into(), 0.0, (&mut wide).into()).unwrap();
                for col_major in [false, true] {
                    let shape = (400, n).set_f(col_major);
                    let (mut half, mut brief) =
                        (Array2::from_elem(shape, f16::NAN), Array2::from_elem(shape, bf16::NAN));
                    prepared.execute(1.0, (&b).into(), 0.0, (&mut half).into()).unwrap();
                    prepared.execute(1.0, (&b).into(), 0.0, (&mut brief).into()).unwrap();
                    let what = format!("{spec}, {isa}, n = {n}, column-major: {col_major}");
                    for (at, &x) in wide.indexed_iter() {
                        let same = |found: f32, nearest: f32| {
                            found == nearest || found.is_nan() && nearest.is_nan()
                        };
                        assert!(same(half[at].into(), f16::from_f32(x).into()), "{what}, {at:?}");
                        assert!(same(brief[at].into(), bf16::from_f32(x).into()), "{what}, {at:?}");
                    }
                }
            }
        }
    }
}

/// A C beyond the caches, whose rows begin with a cache line or not: rounded, and through a bias and a rectifier.
#[test]
fn a_large_c_is_finished_as_a_small_one_is() {
    let matrices: [(&str, Csr<f32>); 3] = [
        ("stencil", laplacian_5pt(200, 100).unwrap()),
        ("mesh", fem_3d(19, 19, 19, 3, 1).unwrap()),
        ("power law", power_law_rows(20_000, 3000, 5, 3).unwrap()),
    ];
    for ((name, a), isa) in matrices.iter().flat_map(|a| {
        Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(move |isa| (a, isa))
    }) {
        for n in [32, 64, 71, 90] {
            let (m, k) = (a.nrows(), a.ncols());
            let prepared = CpuBackend::with_isa(isa).unwrap();
            let prepared = prepared.prepare(&plan(a, FormatSpec::Csr, n, None)).unwrap();
            let b = random::<f32>(k, n, 1);
            let mut plain = Array2::from_elem((m, n), f32::NAN);
            prepared.execute(1.0, (&b).into(), 0.0, (&mut plain).into()).unwrap();
            let bias: Vec<f32> = (0..n).map(|j| (j % 7) as f32 - 3.0).collect();
            let epilogue = Epilogue::new().bias_per_column(f32::erase_acc(column(&bias)));
            let epilogue = epilogue.activation(Activation::Relu);
            // Rows without gaps, the first of which begins with a cache line.
            let mut all = vec![f16::NAN; m * n + 32];
            let first = all.as_ptr().align_offset(64);
            let mut half =
                ArrayViewMut2::from_shape((m, n), &mut all[first..first + m * n]).unwrap();
            prepared.execute(1.0, (&b).into(), 0.0, half.view_mut().into()).unwrap();
            let rounded = |(x, &found): (&f32, &f16)| found == f16::from_f32(*x);
            assert!(plain.iter().zip(&half).all(rounded), "{name}, {isa}, n = {n}, without gaps");
            let mut all = vec![f32::NAN; m * n + 16];
            let first = all.as_ptr().align_offset(64);
            let mut c = ArrayViewMut2::from_shape((m, n), &mut all[first..first + m * n]).unwrap();
            let relu = Epilogue::new().activation(Activation::Relu);
            prepared.execute_with(1.0, (&b).into(), 0.0, c.view_mut().into(), &relu).unwrap();
            assert!(
                plain.iter().map(|x| x.max(0.0)).eq(c.iter().copied()),
                "{name}, {isa}, n = {n}"
            );
            for skip in [0, 1] {
                let what = format!("{name}, {isa}, n = {n}, {skip} elements after a cache line");
                let mut all = Array2::from_elem((m, n.next_multiple_of(32) + 64), f16::NAN);
                let first = all.as_ptr().align_offset(64) + skip;
                let mut half = all.slice_mut(s![.., first..first + n]);
                prepared.execute(1.0, (&b).into(), 0.0, half.view_mut().into()).unwrap();
                assert!(plain.iter().zip(&half).all(rounded), "{what}");
                let mut all = Array2::from_elem((m, n.next_multiple_of(16) + 32), f32::NAN);
                let first = all.as_ptr().align_offset(64) + skip;
                let mut c = all.slice_mut(s![.., first..first + n]);
                prepared
                    .execute_with(1.0, (&b).into(), 0.0, c.view_mut().into(), &epilogue)
                    .unwrap();
                let finished = |((_, j), &x): ((usize, usize), &f32)| (x + bias[j]).max(0.0);
                assert!(plain.indexed_iter().map(finished).eq(c.iter().copied()), "{what}");
                // Nothing is written beside C.
                assert!(all.iter().filter(|x| x.is_nan()).count() == all.len() - m * n, "{what}");
            }
        }
    }
}

/// Rows that go elsewhere, in tiles and sorted: backwards, so that later ones come first, and in no order.
#[test]
fn rows_in_other_orders_are_finished_where_they_go() {
    let matrices: [Csr<f32>; 3] = [
        laplacian_5pt(40, 30).unwrap(),
        fem_3d(6, 6, 6, 3, 1).unwrap(),
        power_law_rows(900, 700, 40, 3).unwrap(),
    ];
    for a in &matrices {
        for method in [Method::Reverse, Method::Random { seed: 3 }] {
            for n in [1, 16, 64, 100, 300] {
                let options = PlanOptions::new(n).format(FormatSpec::Csr).reorder(method);
                let plan = Planner::new(options).plan(a).unwrap();
                let prepared = CpuBackend::new().prepare(&plan).unwrap();
                let what = format!("{method:?}: {}", prepared.lowering(n));
                agrees(&*prepared, a, n, &what);
                let b = random::<f32>(a.ncols(), n, 1);
                let mut plain = Array2::from_elem((a.nrows(), n), f32::NAN);
                prepared.execute(1.0, (&b).into(), 0.0, (&mut plain).into()).unwrap();
                let mut half = Array2::from_elem((a.nrows(), n), f16::NAN);
                prepared.execute(1.0, (&b).into(), 0.0, (&mut half).into()).unwrap();
                assert!(half.iter().eq(plain.mapv(f16::from_f32).iter()), "{what}, n = {n}");
            }
        }
    }
}
