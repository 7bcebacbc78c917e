//! The ladder of the dense kernel, rung by rung, beside the kernel for blocks and cuBLASLt in the same run.
//!
//! ```text
//! cargo run --release -p girih-backend-cuda --example dense_ladder [-- SIZE... [DTYPE...]]
//! ```
//!
//! By default A, B and C are 4096² and 8192², in bf16; f16 and f32 (as TF32) are multiplied too where they
//! are named, and a size may be `MxKxN`. With `two-four` two of every four values of A are zeros, and the
//! kernel for such matrices stands in place of the ladder. Values are random: tensor cores that multiply zeros draw less power
//! and run faster. All that is compared takes turns, in rounds, so that a clock that falls falls for all. A
//! sample of each C, which was NaN before, is compared with sums in f64. Libraries are found where the
//! loader finds them, and in the folders that `GIRIH_CUDA_LIBRARIES` lists.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measures")]

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use girih_backend::{DenseScalar, PreparedSpmm, Rounding, SpmmBackend};
use girih_backend_cuda::{CudaBackend, CudaOptions, DenseConfig, FullBlocks, LibrarySearch};
use girih_cuda_libraries::{CublasLtOptions, DenseYardstick, TimedOperands, TimedProducts};
use girih_formats::{
    AnyTiling, Csr, DType, FormatSpec, Real, RealNumber, RowLayout, Scalar, Tiling,
};
use girih_planner::{Plan, PlanOptions, Planner};
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Rounds in which everything takes a turn, after one that does not count.
const ROUNDS: usize = 12;
/// How long a turn is, about.
const TURN: Duration = Duration::from_millis(10);
/// Rows and columns of C that are compared.
const SAMPLE: usize = 61;

/// m, k and n.
#[derive(Clone, Copy)]
struct Shape([usize; 3]);

impl Shape {
    fn parse(text: &str) -> Option<Self> {
        let numbers = text.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>().ok()?;
        match numbers[..] {
            [size] => Some(Self([size; 3])),
            [m, k, n] => Some(Self([m, k, n])),
            _ => None,
        }
    }
}

fn main() -> Outcome<()> {
    let (mut shapes, mut dtypes) = (Vec::new(), Vec::new());
    let mut two_four = false;
    for argument in std::env::args().skip(1) {
        if argument == "two-four" {
            two_four = true;
            continue;
        }
        match (Shape::parse(&argument), argument.parse::<DType>()) {
            (Some(shape), _) => shapes.push(shape),
            (None, Ok(dtype)) => dtypes.push(dtype),
            (None, Err(_)) => return Err(format!("{argument} is no size and no value type").into()),
        }
    }
    if shapes.is_empty() {
        shapes = vec![Shape([4096; 3]), Shape([8192; 3])];
    }
    if dtypes.is_empty() {
        dtypes = vec![DType::Bf16];
    }
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
    let libraries = folders.fold(LibrarySearch::new(), LibrarySearch::folder);
    let backend = CudaBackend::new(CudaOptions::default().libraries(libraries.clone()));
    println!("{}", backend.capabilities()?.device);
    let yardstick = DenseYardstick::new(CublasLtOptions::default().libraries(libraries).tf32(true));
    let yardstick = match yardstick.describe() {
        Ok(name) => {
            println!("beside {name}");
            Some(yardstick)
        }
        Err(error) => {
            println!("without cuBLASLt: {error}");
            None
        }
    };
    for dtype in dtypes {
        for &shape in &shapes {
            match dtype {
                DType::F16 => measure::<f16>(&backend, yardstick.as_ref(), shape, two_four)?,
                DType::Bf16 => measure::<bf16>(&backend, yardstick.as_ref(), shape, two_four)?,
                DType::F32 => measure::<f32>(&backend, yardstick.as_ref(), shape, false)?,
                DType::F64 | DType::C32 | DType::C64 => {
                    return Err("tensor cores multiply f16, bf16 and f32".into());
                }
            }
        }
    }
    Ok(())
}

/// What is compared.
struct Contender<T> {
    name: String,
    products: TimedProducts<T>,
    rounding: Rounding,
    /// Products of a turn.
    calls: u32,
    /// Seconds of a product, in each round.
    seconds: Vec<f64>,
}

fn measure<T: DenseScalar + Real>(
    backend: &CudaBackend,
    yardstick: Option<&DenseYardstick>,
    shape: Shape,
    two_four: bool,
) -> Outcome<()>
where
    AnyTiling: From<Tiling<T>>,
{
    let Shape([m, k, n]) = shape;
    println!("\n{m}×{k} times {k}×{n} in {}", T::DTYPE);
    let (mut a, b) = (random::<T>((m, k), 1), random::<T>((k, n), 2));
    if two_four {
        // The places of the two that stay differ from one four to the next.
        let stays = |i: usize, j: usize| [5, 3, 9, 6, 10, 12][(i + j / 4) % 6] >> (j % 4) & 1 == 1;
        for ((i, j), value) in a.indexed_iter_mut() {
            if !stays(i, j) {
                *value = T::ZERO;
            }
        }
    }
    let csr = Csr::from_dense(a.view())?;
    let spec = FormatSpec::Bcsr { block_rows: 64, block_cols: 64 };
    let plan = Plan::from_tiling(Tiling::from_csr(&csr, spec, RowLayout::natural(m, 64)?)?);

    let mut prepared = Vec::new();
    if two_four {
        let spec = FormatSpec::TwoFour;
        let tiles = Tiling::from_csr(&csr, spec, RowLayout::natural(m, spec.window_rows())?)?;
        let prepared_tiles = backend.prepare_device(&Plan::from_tiling(tiles))?;
        println!("{}", prepared_tiles.lowering(n));
        prepared.push(("two of every four, by sparse tensor cores".to_owned(), prepared_tiles));
    }
    let rungs = if two_four { Vec::new() } else { DenseConfig::ladder(T::DTYPE) };
    for rung in &rungs {
        let full = FullBlocks::Dense(rung.config);
        prepared.push((rung.adds.to_owned(), backend.prepare_device_with(&plan, full)?));
    }
    for config in DenseConfig::products(T::DTYPE) {
        let full = FullBlocks::Dense(*config);
        prepared.push((format!("{config}"), backend.prepare_device_with(&plan, full)?));
    }
    let blocks = backend.prepare_device_with(&plan, FullBlocks::Blocks)?;
    prepared.push(("the kernel for blocks".to_owned(), blocks));
    let rounding = backend.rounding(&plan);
    let mut roundings = vec![rounding; prepared.len()];
    drop(plan);
    if let Some(yardstick) = yardstick {
        let plan = Planner::new(PlanOptions::new(n).format(FormatSpec::Csr)).plan(&csr)?;
        prepared.push((
            "cuBLASLt, the fastest of its algorithms".to_owned(),
            yardstick.prepare_device(&plan)?,
        ));
        roundings.push(yardstick.rounding(T::DTYPE));
    }
    drop(csr);

    let operands = Arc::new(TimedOperands::new(&prepared[0].1, &b.view())?);
    let mut contenders = Vec::new();
    for ((name, prepared), rounding) in prepared.into_iter().zip(roundings) {
        let mut products = TimedProducts::new(prepared, operands.clone())?;
        products.poison()?;
        products.time(1)?;
        let mut c = Array2::from_elem((m, n), T::Acc::ZERO);
        products.last(c.view_mut())?;
        check(&name, (a.view(), b.view(), c.view()), rounding)?;
        let once = products.time(2)? / 2;
        let calls = (TURN.as_secs_f64() / once.as_secs_f64().max(1e-6)).ceil().clamp(2.0, 1e4);
        contenders.push(Contender {
            name,
            products,
            rounding,
            calls: calls as u32,
            seconds: Vec::new(),
        });
    }
    for round in 0..=ROUNDS {
        for one in &mut contenders {
            let time = one.products.time(one.calls)?.as_secs_f64() / f64::from(one.calls);
            if round > 0 {
                one.seconds.push(time);
            }
        }
    }
    report(&mut contenders, shape, yardstick.is_some());
    // What was timed is what was checked: the last C again.
    for one in &contenders {
        let mut c = Array2::from_elem((m, n), T::Acc::ZERO);
        one.products.last(c.view_mut())?;
        check(&one.name, (a.view(), b.view(), c.view()), one.rounding)?;
    }
    Ok(())
}

/// Prints medians and minima, and what they are of the last contender's.
fn report<T>(contenders: &mut [Contender<T>], Shape([m, k, n]): Shape, has_yardstick: bool) {
    let flops = 2.0 * m as f64 * k as f64 * n as f64;
    let median = |seconds: &mut Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    let medians: Vec<f64> = contenders.iter_mut().map(|one| median(&mut one.seconds)).collect();
    println!("  median µs    least  TFLOP/s  of cuBLASLt");
    for (one, &seconds) in contenders.iter().zip(&medians) {
        let of = match medians.last() {
            Some(&yardstick) if has_yardstick => format!("{:10.1} %", 100.0 * yardstick / seconds),
            _ => "         –".to_owned(),
        };
        println!(
            "  {:9.1} {:8.1} {:8.1} {of}  {}",
            seconds * 1e6,
            one.seconds[0] * 1e6,
            flops / seconds / 1e12,
            one.name
        );
    }
}

/// Compares a sample of C with sums in f64, by the error bound of `girih_backend::verify`.
fn check<T: DenseScalar + Real>(
    name: &str,
    (a, b, c): (ArrayView2<'_, T>, ArrayView2<'_, T>, ArrayView2<'_, T::Acc>),
    rounding: Rounding,
) -> Outcome<()> {
    let (m, n) = c.dim();
    let (rows, columns) = (m.min(SAMPLE), n.min(SAMPLE));
    let Rounding { input_unit: u, unit, .. } = rounding;
    let additions = a.ncols() as f64 * unit;
    let gamma = additions / (1.0 - additions);
    for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
        // The first and the last, and others at odd distances between.
        let (i, j) = (i * (m - 1) / (rows - 1).max(1), j * (n - 1) / (columns - 1).max(1));
        let products = a.row(i).into_iter().zip(b.column(j)).map(|(a, b)| a.to_f64() * b.to_f64());
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
        let found = c[[i, j]].to_f64();
        let bound = (2.0 * u + u * u + gamma) * size;
        // A NaN is not.
        let is_within = (found - sum).abs() <= bound;
        if !is_within {
            return Err(format!("{name}: C[{i}, {j}] is {found}, not {sum} ± {bound}").into());
        }
    }
    Ok(())
}

/// Values between -1 and 1, none of them zero, of a hash of where they are.
fn random<T: Real>(dim: (usize, usize), seed: u64) -> Array2<T> {
    Array2::from_shape_fn(dim, |(i, j)| {
        let mut x = (seed << 60) ^ ((i as u64) << 30) ^ j as u64;
        for multiplier in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
            x = (x ^ (x >> 31)).wrapping_mul(multiplier);
        }
        T::from_f64(((x >> 40) as f64 + 0.5) / f64::from(1 << 23) - 1.0)
    })
}
