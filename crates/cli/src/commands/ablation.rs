//! `girih ablation`: what each step of a paper's kernel brings.

use std::fs;
use std::path::{Path, PathBuf};

use girih::DType;
use girih_measure::ablation::{Ablation, AblationConfig, Ladder};
use half::{bf16, f16};
use serde::Serialize;

use crate::args::{AblationArgs, FileType};
use crate::error::CliError;
use crate::input::cuda;
use crate::input::problem::Problem;
use crate::output::ablation::{Style, list, text};
use crate::output::file;
use crate::output::progress::Progress;
use crate::output::report::Report;

/// What `--list --json` prints.
#[derive(Debug, Serialize)]
struct ListReport<'a> {
    ladders: &'a [Ladder],
}

pub(crate) fn run(args: &AblationArgs, progress: &Progress) -> Result<Report, CliError> {
    let ladders = ladders(args)?;
    if args.list {
        return Report::new(list(&ladders), &ListReport { ladders: &ladders });
    }
    // Everything that can be wrong with the flags is found before anything takes time.
    let file_type = args.output.as_deref().map(FileType::from_path).transpose()?;
    args.output.as_deref().map_or(Ok(()), file::check)?;
    let problems = ladders.iter().map(problems).collect::<Result<Vec<_>, _>>()?;
    let config = AblationConfig { seconds: args.seconds, seed: args.seed, cuda: cuda::options()? };
    let mut ablation = Ablation::new(config, progress)?;
    for (ladder, problems) in ladders.iter().zip(&problems) {
        ablation.begin(ladder);
        // What no kernel reproduces is listed without a product.
        let reproduced = ladder.steps.iter().any(|step| step.variant.is_some());
        for problem in problems.iter().filter(|_| reproduced) {
            let (name, read) = (problem.name(), &args.read);
            match ladder.dtype {
                DType::F16 => ablation.measure(&name, &problem.load::<f16>(read, progress)?)?,
                DType::Bf16 => ablation.measure(&name, &problem.load::<bf16>(read, progress)?)?,
                DType::F32 => ablation.measure(&name, &problem.load::<f32>(read, progress)?)?,
                DType::F64 => ablation.measure(&name, &problem.load::<f64>(read, progress)?)?,
                dtype @ (DType::C32 | DType::C64) => {
                    let said = format!("a ladder is of real values, and this one is of {dtype}");
                    return Err(CliError::usage(said));
                }
            }
        }
    }
    let measured = ablation.into_report();
    let report = Report::new(text(&measured, Style::Plain), &measured)?;
    if let Some((path, file_type)) = args.output.as_deref().zip(file_type) {
        let contents = match file_type {
            FileType::Json => format!("{:#}\n", report.json),
            FileType::Markdown => format!("{}\n", text(&measured, Style::Markdown)),
        };
        write(path, &contents)?;
    }
    Ok(report)
}

/// The ladders that are named, or all of them, with the matrices and columns that were given.
fn ladders(args: &AblationArgs) -> Result<Vec<Ladder>, CliError> {
    let all: Vec<_> = Ladder::names().map(str::to_owned).collect();
    let named = if args.ladders.is_empty() { &all } else { &args.ladders };
    let mut ladders = Vec::new();
    for name in named {
        let mut ladder = Ladder::built_in(name)?;
        if !args.n.is_empty() {
            ladder.n.clone_from(&args.n);
        }
        if !args.matrix.is_empty() {
            ladder.matrices = args.matrix.iter().map(|path| path.display().to_string()).collect();
        }
        ladders.push(ladder);
    }
    Ok(ladders)
}

fn problems(ladder: &Ladder) -> Result<Vec<Problem>, CliError> {
    let paths = ladder.matrices.iter().map(PathBuf::from);
    let problems: Vec<_> = paths.map(|path| Problem::find(&path)).collect::<Result<_, _>>()?;
    match problems.iter().find(|problem| problem.is_stream()) {
        Some(stream) => {
            Err(CliError::usage(format!("{} can be read only once; give a file", stream.source())))
        }
        None => Ok(problems),
    }
}

fn write(path: &Path, contents: &str) -> Result<(), CliError> {
    file::create(path, |temporary| {
        fs::write(temporary, contents)
            .map_err(|e| CliError::failed(format!("cannot write {}", path.display())).because(e))
    })
}
