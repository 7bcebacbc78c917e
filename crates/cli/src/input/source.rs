//! A matrix or a plan, in a file or on standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use girih::formats::io::{self as matrix_io, Info, ReadError};
use girih::formats::{ComplexScalar, Csr, Real, Scalar};
use girih::planner::Plan;
use girih::planner::file::PlanFileInfo;
use girih::planner::file::{LoadOptions, PlanFileError};

use girih_measure::units;

use crate::args::ReadArgs;
use crate::error::{CliError, shown};
use crate::output::progress::Progress;

/// The beginning of a plan file. What follows it tells a sound plan from a damaged one, which is
/// still a plan and not a matrix.
const PLAN_MAGIC: &[u8] = &[0xE7, b'G', b'R', b'H'];

/// Something given by path or on standard input, recognised but not read.
#[derive(Debug)]
pub(crate) enum Source {
    Plan(PlanSource),
    Matrix(MatrixSource),
}

/// A plan to be loaded.
#[derive(Debug)]
pub(crate) struct PlanSource {
    input: InputPath,
    options: LoadOptions,
}

/// A matrix to be read.
#[derive(Debug)]
pub(crate) struct MatrixSource(InputPath);

#[derive(Debug)]
struct InputPath {
    /// As the user wrote it.
    path: PathBuf,
    /// What can be read only once, with its beginning looked at; `None` for a file.
    stream: Option<BufReader<Stream>>,
}

/// What can be read only once.
#[derive(Debug)]
enum Stream {
    Stdin(io::Stdin),
    /// A pipe or a device.
    Pipe(File),
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stdin(stdin) => stdin.read(into),
            Self::Pipe(pipe) => pipe.read(into),
        }
    }
}

impl Source {
    /// Recognises what `path` holds by its first bytes; a file whose name ends in `.girih` is a plan
    /// whatever it holds, so that a damaged one is reported as that.
    pub(crate) fn detect(path: &Path) -> Result<Self, CliError> {
        let failed = |e: io::Error| CliError::input_from(path, e);
        let named = path.extension().is_some_and(|e| e == "girih");
        let streamed = |stream| {
            let mut stream = BufReader::with_capacity(1 << 16, stream);
            let is_plan = named || stream.fill_buf().map_err(failed)?.starts_with(PLAN_MAGIC);
            Ok::<_, CliError>((Some(stream), is_plan))
        };
        let (stream, is_plan) = if path.as_os_str() == "-" {
            streamed(Stream::Stdin(io::stdin()))?
        } else {
            let metadata = std::fs::metadata(path).map_err(failed)?;
            if metadata.is_dir() {
                return Err(CliError::input(format!("{}: is a directory", path.display())));
            }
            if metadata.is_file() {
                (None, named || begins_as_plan(path).map_err(failed)?)
            } else {
                streamed(Stream::Pipe(File::open(path).map_err(failed)?))?
            }
        };
        let place = InputPath { path: path.to_owned(), stream };
        Ok(if is_plan {
            Self::Plan(PlanSource { input: place, options: LoadOptions::default() })
        } else {
            Self::Matrix(MatrixSource(place))
        })
    }

    /// What `path` holds, for commands that take no plan.
    pub(crate) fn matrix(path: &Path) -> Result<MatrixSource, CliError> {
        match Self::detect(path)? {
            Self::Matrix(matrix) => Ok(matrix),
            Self::Plan(_) => Err(CliError::input(format!(
                "{}: this is a plan, but a matrix is needed; `girih inspect` shows plans",
                shown(path)
            ))),
        }
    }

    /// What `path` holds, for commands that take no matrix.
    pub(crate) fn plan(path: &Path) -> Result<PlanSource, CliError> {
        match Self::detect(path)? {
            Self::Plan(plan) => Ok(plan),
            Self::Matrix(_) => Err(CliError::input(format!(
                "{}: not a plan file; `girih plan` makes one from a matrix",
                shown(path)
            ))),
        }
    }
}

impl MatrixSource {
    /// The path, as the user wrote it.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Reads the matrix in value type `T`.
    pub(crate) fn read<T: Scalar>(
        self,
        args: &ReadArgs,
        progress: &Progress,
    ) -> Result<(Csr<T>, Info), CliError> {
        let path = self.0.path.clone();
        self.try_read(args, progress).map_err(|e| refused_matrix(&path, e))
    }

    /// Reads the matrix in the real type `R`, or in `C` if it holds complex numbers: a file says so where it begins,
    /// and is opened again. Of what can be read once only, plain Matrix Market text is known by its first line;
    /// anything else is read in `R`.
    pub(crate) fn read_either<R, C, M>(
        mut self,
        args: &ReadArgs,
        progress: &Progress,
    ) -> Result<(M, Info), CliError>
    where
        R: Real,
        C: ComplexScalar,
        M: From<Csr<R>> + From<Csr<C>>,
    {
        let (path, is_file) = (self.0.path.clone(), self.0.stream.is_none());
        if self.0.stream.as_mut().is_some_and(begins_as_complex) {
            let (csr, info) = self.read::<C>(args, progress)?;
            return Ok((csr.into(), info));
        }
        match self.try_read::<R>(args, progress) {
            Ok((csr, info)) => Ok((csr.into(), info)),
            Err(ReadError::Complex { .. }) if is_file => {
                let again = Self(InputPath { path, stream: None });
                let (csr, info) = again.read::<C>(args, progress)?;
                Ok((csr.into(), info))
            }
            Err(e) => Err(refused_matrix(&path, e)),
        }
    }

    fn try_read<T: Scalar>(
        self,
        args: &ReadArgs,
        progress: &Progress,
    ) -> Result<(Csr<T>, Info), ReadError> {
        let InputPath { path, stream } = self.0;
        let mut options = args.options();
        options.progress = progress.reading(format!("reading {}", shown(&path)));
        match stream {
            Some(stream) => matrix_io::read_with_info(matrix_io::Source::reader(stream), &options),
            None => matrix_io::read_with_info(&path, &options),
        }
    }
}

impl PlanSource {
    /// The path, as the user wrote it.
    pub(crate) fn path(&self) -> &Path {
        &self.input.path
    }

    /// With a plan of far more rows than entries accepted, or refused.
    pub(crate) fn allow_hypersparse(self, allow: bool) -> Self {
        Self { options: self.options.allow_hypersparse(allow), ..self }
    }

    /// Loads the plan with full checks.
    pub(crate) fn read(self) -> Result<Plan, CliError> {
        self.read_with_info().map(|(plan, _)| plan)
    }

    /// Loads the plan with full checks, and what its file says of itself.
    pub(crate) fn read_with_info(self) -> Result<(Plan, PlanFileInfo), CliError> {
        let Self { input: InputPath { path, stream }, options } = self;
        let read = match stream {
            Some(stream) => options.read_from_with_info(stream),
            None => options.read_with_info(&path),
        };
        read.map_err(|e| refused(&path, e))
    }

    /// Maps the plan with full checks.
    pub(crate) fn map(self) -> Result<Plan, CliError> {
        let Self { input: InputPath { path, stream }, options } = self;
        if stream.is_some() {
            return Err(CliError::usage("--mmap needs a plan in a file, not in a stream"));
        }
        super::map::map(&path, options)?.map_err(|e| refused(&path, e))
    }
}

fn refused(path: &Path, error: PlanFileError) -> CliError {
    match error {
        PlanFileError::Hypersparse { rows, entries, .. } => CliError::input(format!(
            "{}: {rows} rows for {entries} entries would take far more memory than the file; if that is meant, \
             give --allow-hypersparse",
            shown(path)
        )),
        error => CliError::input_from(path, error),
    }
}

/// Whether the first line of a text says that it is a matrix of complex numbers.
fn begins_as_complex(text: &mut BufReader<Stream>) -> bool {
    // What cannot be looked at cannot be read either, and the reader says why.
    let start = text.fill_buf().unwrap_or_default();
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is = |word: Option<&[u8]>, what: &str| {
        word.is_some_and(|word| word.eq_ignore_ascii_case(what.as_bytes()))
    };
    is(words.next(), "%%MatrixMarket") && is(words.nth(2), "complex")
}

/// The error of a matrix that is not read, with the flag that helps.
fn refused_matrix(path: &Path, error: ReadError) -> CliError {
    match error {
        ReadError::Hypersparse { nrows, entries } => CliError::input(format!(
            "{}: {nrows} rows for {entries} entries need {} of row offsets alone; if that is meant, \
             give --allow-hypersparse",
            shown(path),
            units::bytes(8 * nrows)
        )),
        e => CliError::input_from(path, e),
    }
}

fn begins_as_plan(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(PLAN_MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == PLAN_MAGIC)
}
