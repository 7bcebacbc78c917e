//! How long sampled products `S = (X·Yᵀ) ⊙ pattern` take, beside cuSPARSE's SDDMM, on the device of this machine.
//!
//! ```sh
//! sampled [--d 16,32,64,128,256] [--types f32,f16,f64] [--layout fastest|entries|windows] FILE...
//! ```
//!
//! Prints a line of values between tabs for each matrix, value type and d; `layout` is how entries are shared out, which
//! is left to an estimate for this d unless the command names it. Times are of single products by events on
//! the device, over copies of X, Y and S that together outgrow its second-level cache; the two take turns. cuSPARSE
//! has analysed the pattern, and `-` stands where it refuses such values. Every S is compared with the product in
//! higher precision. Libraries are found where the loader finds them, and in the folders that
//! `GIRIH_CUDA_LIBRARIES` names.

#![expect(clippy::print_stdout, reason = "it is a program that prints what it measures")]

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use girih_backend::{DenseScalar, Rounding, SampledProduct, SpmmBackend, verify_sddmm};
use girih_backend_cuda::{CudaBackend, CudaOptions, LibrarySearch, SddmmLayout};
use girih_cuda_libraries::{CusparseBackend, CusparseOptions, Sampler, TimedSampled};
use girih_formats::{Csr, DType, Real, RowLayout, io};
use half::{bf16, f16};
use ndarray::Array2;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Products of each that are timed, after some that do not count.
const TIMES: usize = 25;
const WARM_UP: u32 = 3;

/// Both backends, and the geometric mean of ratios so far.
struct Run {
    cuda: CudaBackend,
    cusparse: CusparseBackend,
    layout: String,
    logs: Vec<f64>,
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let (mut widths, mut types, mut files) =
        (vec![16, 32, 64, 128, 256], vec![DType::F32], Vec::new());
    let mut layout = "fastest".to_owned();
    while let Some(arg) = args.next() {
        let mut list = |what| args.next().ok_or(format!("{arg} takes {what}"));
        match arg.as_str() {
            "--d" => {
                let list = list("numbers of columns, such as 32,128")?;
                widths = list.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--types" => {
                let list = list("value types, such as f32,f16")?;
                types = list.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            "--layout" => layout = list("fastest, entries or windows")?,
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        return Err("which matrices? sampled [--d 32,128] [--types f32,f16] FILE...".into());
    }
    let folders = std::env::var_os("GIRIH_CUDA_LIBRARIES").unwrap_or_default();
    let folders = std::env::split_paths(&folders).filter(|path| !path.as_os_str().is_empty());
    let libraries = folders.fold(LibrarySearch::new(), LibrarySearch::folder);
    let cache = Some(std::env::temp_dir().join("girih-sampled"));
    let options = CudaOptions::default().libraries(libraries.clone()).cache(cache);
    let cusparse = CusparseBackend::new(CusparseOptions::default().libraries(libraries));
    let mut run = Run { cuda: CudaBackend::new(options), cusparse, layout, logs: Vec::new() };
    println!("# {}", run.cusparse.capabilities()?.device);
    println!(
        "matrix\tnnz\ttype\td\tlayout\tus_min\tus_median\tcusparse_us_min\tcusparse_us_median\tratio_of_medians\t\
         bytes_least\tbytes_of_entries\tGB_s_least\tGB_s_of_entries\tGflop_s\terror_over_bound\tcusparse_error_over_bound"
    );
    for file in &files {
        let a: Csr<f32> = io::read(file, &io::ReadOptions::default())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_end_matches(".gz").trim_end_matches(".mtx");
        for &dtype in &types {
            for &d in &widths {
                match dtype {
                    DType::F16 => run.measure::<f16>(name, &a, d)?,
                    DType::Bf16 => run.measure::<bf16>(name, &a, d)?,
                    DType::F32 => run.measure::<f32>(name, &a, d)?,
                    DType::F64 => run.measure::<f64>(name, &a, d)?,
                    DType::C32 | DType::C64 => {
                        return Err("products of real values are sampled".into());
                    }
                }
            }
        }
    }
    if !run.logs.is_empty() {
        let mean = run.logs.iter().sum::<f64>() / run.logs.len() as f64;
        println!("# geometric mean of {} ratios: {:.3}", run.logs.len(), mean.exp());
    }
    Ok(())
}

impl Run {
    fn measure<T: DenseScalar + Real>(
        &mut self,
        name: &str,
        a: &Csr<f32>,
        d: usize,
    ) -> Outcome<()> {
        let x = Array2::from_shape_fn((a.nrows(), d), |(i, j)| value::<T>(i, j));
        let y = Array2::from_shape_fn((a.ncols(), d), |(i, j)| value::<T>(i + 1_000_003, j));
        let layout = match &*self.layout {
            "fastest" => SddmmLayout::Fastest { d },
            "entries" => SddmmLayout::Entries,
            "windows" => SddmmLayout::Windows(RowLayout::natural(a.nrows(), 16)?),
            other => {
                return Err(
                    format!("{other} is no layout; fastest, entries and windows are").into()
                );
            }
        };
        let own = self.cuda.prepare_sddmm_in(a.pattern(), T::DTYPE, &layout)?;
        let lowering = own.lowering(d);
        let layout = lowering.choice("layout").unwrap_or_default();
        let other = self.cusparse.prepare_sddmm(a.pattern(), T::DTYPE, d);
        if let Err(why) = &other {
            println!("# cuSPARSE, {name}, {}, d = {d}: {why}", T::DTYPE);
        }
        let other = other.ok();
        let mut timed = TimedSampled::<T>::new(&own, &x.view(), &y.view())?;
        let samplers = [Some(Sampler::Girih(&own)), other.as_ref().map(Sampler::Cusparse)];
        let mut errors = [None; 2];
        for (sampler, error) in samplers.iter().zip(&mut errors) {
            let Some(sampler) = *sampler else { continue };
            timed.poison()?;
            let sampled = timed.time(sampler, WARM_UP).map_err(Into::into);
            let rounding = match sampler {
                Sampler::Girih(own) => own.rounding(),
                Sampler::Cusparse(_) => Rounding::exact_inputs(T::DTYPE),
            };
            match sampled.and_then(|_| check(a, [&x, &y], &timed, rounding)) {
                Ok(found) => *error = Some(found),
                // What the library refuses only now, or gets wrong, is not timed.
                Err(why) if matches!(sampler, Sampler::Cusparse(_)) => {
                    println!("# cuSPARSE, {name}, {}, d = {d}: {why}", T::DTYPE);
                }
                Err(why) => return Err(why),
            }
        }
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..TIMES {
            for ((sampler, error), times) in samplers.iter().zip(&errors).zip(&mut times) {
                if let (Some(sampler), Some(_)) = (*sampler, error) {
                    times.push(timed.time(sampler, 1)?);
                }
            }
        }
        times.iter_mut().for_each(|times| times.sort_unstable());
        let [own, other] = times;
        let microseconds =
            |times: &[Duration], at: usize| times.get(at).map(|time| time.as_secs_f64() * 1e6);
        let (min, median) = (microseconds(&own, 0), microseconds(&own, TIMES / 2));
        let (Some(min), Some(median)) = (min, median) else {
            return Err("nothing was timed".into());
        };
        let (other_min, other_median) = (microseconds(&other, 0), microseconds(&other, TIMES / 2));
        let ratio = other_median.map(|other| other / median);
        self.logs.extend(ratio.map(f64::ln));
        let (size, acc) = (size_of::<T>(), size_of::<T::Acc>());
        let least = ((x.len() + y.len()) * size + a.nnz() * (4 + acc)) as f64;
        let of_entries = (a.nnz() * (d * size + 4 + acc)) as f64;
        let shown = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:.3}"));
        println!(
            "{name}\t{}\t{}\t{d}\t{layout}\t{min:.2}\t{median:.2}\t{}\t{}\t{}\t{least:.0}\t{of_entries:.0}\t{:.0}\t{:.0}\t{:.0}\t{}\t{}",
            a.nnz(),
            T::DTYPE,
            shown(other_min),
            shown(other_median),
            shown(ratio),
            least / min / 1e3,
            of_entries / min / 1e3,
            2.0 * (a.nnz() * d) as f64 / min / 1e3,
            shown(errors[0]),
            shown(errors[1]),
        );
        Ok(())
    }
}

/// The largest error of the last product's S, over its bound.
fn check<T: DenseScalar + Real>(
    a: &Csr<f32>,
    [x, y]: [&Array2<T>; 2],
    timed: &TimedSampled<T>,
    rounding: Rounding,
) -> Outcome<f64> {
    let mut s = Array2::from_elem((a.nnz(), 1), T::Acc::default());
    timed.last(s.view_mut())?;
    let (x, y) = (T::erase(x.view()), T::erase(y.view()));
    let product = SampledProduct { alpha: 1.0, x, y, added: None };
    let verdict = verify_sddmm::<T>(a.pattern(), &product, &T::erase_acc(s.view()), rounding)?;
    match verdict.passed() {
        true => Ok(verdict.max_error_over_bound),
        false => Err(format!("S is wrong: {verdict:?}").into()),
    }
}

/// Between -1 and 1, of no pattern.
fn value<T: DenseScalar + Real>(i: usize, j: usize) -> T {
    let mut bits = (i as u64) << 32 ^ j as u64;
    for _ in 0..2 {
        bits = (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    T::from_f64((bits >> 40) as f64 / f64::from(1 << 23) - 1.0)
}
