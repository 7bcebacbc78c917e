//! `girih bench`: products timed beside what the machine could reach.

mod asked;
mod engine;
mod facts;
mod generated;
mod group;
mod input;
mod on_device;
mod options;
mod ratios;
mod roofline;
pub(super) mod runner;
pub(super) mod sampling;
mod text;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use girih::formats::generate::Problem;
use girih::{AnyTiling, DType, DenseScalar, Tiling};
use half::{bf16, f16};

use crate::args::{DEFAULT_MEMORY_LIMIT, Limit};
use crate::device;
use crate::error::{Class, CliError};
use crate::machine::Machine;
use crate::output;
use crate::progress::Progress;
use crate::report::Report;

use asked::{Asked, FormatAsked, OrderAsked};
use engine::Engines;
use facts::{Facts, MatrixFacts, Reach};
use group::Terms;
use input::Input;
use options::{FileType, RooflineAsked};
use text::Style;

pub(crate) use options::Options;

/// Widths of B: with one column a product is bound by A, with many by B and C.
const WIDTHS: [usize; 4] = [1, 8, 32, 128];
const QUICK_WIDTHS: [usize; 2] = [8, 128];

/// Seconds for each case.
const SECONDS: f64 = 0.5;
const QUICK_SECONDS: f64 = 0.05;

pub(crate) fn run(options: &Options, progress: &Progress) -> Result<Report, CliError> {
    let quick = options.quick;
    let formats =
        distinct(or_default(&options.format, || vec![FormatAsked::CSR, FormatAsked::AUTO]));
    let dtypes = distinct(or_default(&options.dtype, || vec![DType::F32]));
    let widths =
        or_default(&options.n, || if quick { QUICK_WIDTHS.to_vec() } else { WIDTHS.to_vec() });
    let widths = distinct(widths);
    let memory_limit = options.memory_limit.map_or(Some(DEFAULT_MEMORY_LIMIT), |Limit(most)| most);
    // All that can be wrong with the options, before anything takes time.
    for format in &formats {
        for &dtype in &dtypes {
            format.choice(dtype)?;
        }
    }
    let orders = distinct(or_default(&options.reorder, || vec![OrderAsked::NONE]));
    let in_orders = |&format| orders.iter().map(move |&order| Asked { format, order });
    let asked: Vec<Asked> = formats.iter().flat_map(in_orders).collect();
    let file_type = options.output.as_deref().map(FileType::of).transpose()?;
    options.output.as_deref().map_or(Ok(()), output::check)?;
    let inputs = inputs(options, &dtypes)?;
    let engines = Engines::new(options)?;
    let target = match &options.device {
        Some(name) => device::find(name)?,
        None => engines.target()?,
    };

    let machine = Machine::this();
    let effort = options.roofline.unwrap_or(match quick {
        true => RooflineAsked::Quick,
        false => RooflineAsked::Full,
    });
    let measured = engines.rooflines(effort, &machine, memory_limit, progress)?;
    let device = engines.cuda_roofline(effort, progress)?;
    let reach = Reach { here: &measured, device: device.as_ref() };
    let seconds = options.seconds.unwrap_or(if quick { QUICK_SECONDS } else { SECONDS });
    let mut bench = Bench {
        options,
        widths,
        terms: Terms {
            asked: &asked,
            engines: &engines,
            seconds,
            memory_limit,
            seed: options.seed,
            target,
        },
        facts: Facts::new(machine, reach, seconds, options.seed),
        reach,
        progress,
    };
    for input in &inputs {
        for &dtype in &dtypes {
            match dtype {
                DType::F16 => bench.measure::<f16>(input)?,
                DType::Bf16 => bench.measure::<bf16>(input)?,
                DType::F32 => bench.measure::<f32>(input)?,
                DType::F64 => bench.measure::<f64>(input)?,
            }
        }
    }
    report(&bench.facts, options.output.as_deref().zip(file_type))
}

/// A run under way.
struct Bench<'a> {
    options: &'a Options,
    widths: Vec<usize>,
    terms: Terms<'a>,
    reach: Reach<'a>,
    facts: Facts,
    progress: &'a Progress,
}

impl Bench<'_> {
    /// All cases of a matrix in one value type.
    fn measure<T: DenseScalar>(&mut self, input: &Input) -> Result<(), CliError>
    where
        AnyTiling: From<Tiling<T>>,
    {
        let a = input.load::<T>(&self.options.read, self.progress)?;
        let name = self.name(input);
        let matrix = MatrixFacts {
            name: name.clone(),
            source: input.source(),
            m: a.nrows(),
            k: a.ncols(),
            nnz: a.nnz(),
        };
        for &n in &self.widths {
            let group = group::run(&name, &a, n, &self.terms, self.progress)?;
            let engines = self.terms.engines;
            self.facts.push(&matrix, (T::DTYPE, n), &group, engines, self.reach);
        }
        if self
            .facts
            .matrices
            .iter()
            .all(|known| known.source != matrix.source || known.name != name)
        {
            self.facts.matrices.push(matrix);
        }
        Ok(())
    }

    /// The input's short name, or where it comes from if another one has that name.
    fn name(&self, input: &Input) -> String {
        let (name, source) = (input.name(), input.source());
        let taken = |known: &MatrixFacts| known.name == name && known.source != source;
        if self.facts.matrices.iter().any(taken) { source } else { name }
    }
}

fn inputs(options: &Options, dtypes: &[DType]) -> Result<Vec<Input>, CliError> {
    let named = or_default(&options.matrices, || {
        Problem::ALL.map(|problem| PathBuf::from(problem.name())).to_vec()
    });
    let inputs = named.iter().map(|path| Input::find(path)).collect::<Result<Vec<_>, _>>()?;
    let inputs = distinct(inputs);
    if let Some(stream) = inputs.iter().find(|input| input.is_stream() && dtypes.len() > 1) {
        return Err(CliError::usage(format!(
            "{} can be read only once, and is needed in {} value types; give one --dtype or a file",
            stream.source(),
            dtypes.len()
        )));
    }
    Ok(inputs)
}

fn report(facts: &Facts, file: Option<(&Path, FileType)>) -> Result<Report, CliError> {
    let mut report = Report::new(text::text(facts, Style::Plain), facts)?;
    if facts.cases.is_empty() {
        let reason = facts.skipped.first().map_or("", |skipped| &skipped.reason);
        let failure = CliError::new(Class::Unsupported, format!("no case could be run: {reason}"));
        report = report.with_failure(Some(failure));
    }
    if let Some((path, file_type)) = file {
        let contents = match file_type {
            FileType::Json => format!("{:#}\n", report.json),
            FileType::Markdown => format!("{}\n", text::text(facts, Style::Markdown)),
        };
        output::create(path, |temporary| {
            fs::write(temporary, contents).map_err(|e| {
                CliError::failed(format!("cannot write {}", path.display())).because(e)
            })
        })?;
    }
    Ok(report)
}

/// What was given, or what is meant by nothing.
fn or_default<T: Clone>(given: &[T], default: impl FnOnce() -> Vec<T>) -> Vec<T> {
    if given.is_empty() { default() } else { given.to_vec() }
}

/// Each value where it comes first.
fn distinct<T: PartialEq>(values: Vec<T>) -> Vec<T> {
    values.into_iter().fold(Vec::new(), |mut kept, value| {
        if !kept.contains(&value) {
            kept.push(value);
        }
        kept
    })
}
