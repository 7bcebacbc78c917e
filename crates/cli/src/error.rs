//! What can go wrong, and the exit code that says so.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

use girih::backend::BackendError;
use girih::cpu::roofline::RooflineError;
use girih::formats::FormatError;
use girih::planner::PlanError;
use girih::planner::file::PlanFileError;
use girih::reorder::ReorderError;
use girih_measure::{MeasureError, is_unsupported};

/// The classes of failure that scripts tell apart by exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Anything without a class of its own: output that can't be written, say.
    Failed,
    /// Options that don't go together. The argument parser exits with the same code.
    Usage,
    /// A file, a matrix, a plan or an operand that can't be used as it is.
    Input,
    /// Well-formed input in a combination that is not supported, or above a limit.
    Unsupported,
    /// The requested backend can't run on this machine.
    Unavailable,
    /// A product with an element outside its error bound.
    Wrong,
}

impl Class {
    /// The process exit code of this class.
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Unsupported => 4,
            Self::Unavailable => 5,
            Self::Wrong => 6,
        }
    }
}

/// A failed command: its class, and one message for the person who ran it.
#[derive(Debug)]
pub(crate) struct CliError {
    class: Class,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CliError {
    /// An error of class `class` that speaks for itself.
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), source: None }
    }

    /// Options that don't go together.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Class::Usage, message)
    }

    /// Input that can't be used.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(Class::Input, message)
    }

    /// Input from `path` that can't be used, and why.
    pub(crate) fn input_from(path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::input(shown(path)).because(source)
    }

    /// A matrix, by name, whose rows or columns cannot be ordered.
    pub(crate) fn ordering(name: &str, error: ReorderError) -> Self {
        let class = match error {
            ReorderError::TooManyColumns { .. } | ReorderError::TooLarge { .. } => {
                Class::Unsupported
            }
            _ => Class::Failed,
        };
        Self::new(class, format!("cannot order {name}")).because(error)
    }

    /// Anything else.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Class::Failed, message)
    }

    /// Adds the cause, which the message does not repeat. No class is at fault for memory that is not there.
    pub(crate) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source = source.into();
        if is_out_of_memory(&*source) {
            self.class = Class::Failed;
        }
        self.source = Some(source);
        self
    }

    /// The process exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        self.class.exit_code()
    }
}

/// The message with its causes, on one line.
impl Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut said = self.message.clone();
        let mut cause = self.source.as_deref().map(|e| e as &dyn Error);
        while let Some(error) = cause {
            let text = error.to_string();
            // Some error types print their source as part of themselves.
            if !said.ends_with(&text) {
                write!(f, ": {text}")?;
            }
            said = text;
            cause = error.source();
        }
        Ok(())
    }
}

impl Error for CliError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|e| e as &(dyn Error + 'static))
    }
}

/// Whether an error, or what it came of, is that the system refused memory.
fn is_out_of_memory(error: &(dyn Error + 'static)) -> bool {
    let format = |error: &FormatError| matches!(error, FormatError::OutOfMemory { .. });
    let order = |error: &ReorderError| matches!(error, ReorderError::Format(e) if format(e));
    let file = |error: &PlanFileError| match error {
        PlanFileError::OutOfMemory { .. } => true,
        PlanFileError::Tiling(error) => format(error),
        _ => false,
    };
    let plan = |error: &PlanError| match error {
        PlanError::Format(error) => format(error),
        PlanError::Ordering(error) => order(error),
        PlanError::File(error) => file(error),
        _ => false,
    };
    let system = |error: &io::Error| error.kind() == io::ErrorKind::OutOfMemory;
    error.downcast_ref().is_some_and(format)
        || error.downcast_ref().is_some_and(order)
        || error.downcast_ref().is_some_and(file)
        || error.downcast_ref().is_some_and(plan)
        || error.downcast_ref().is_some_and(system)
        || error.source().is_some_and(is_out_of_memory)
}

/// The class that a planner's refusal belongs to.
pub(crate) fn plan_error_class(error: &PlanError) -> Class {
    match error {
        error if is_out_of_memory(error) => Class::Failed,
        PlanError::Format(FormatError::Parameter { .. }) | PlanError::Options { .. } => {
            Class::Usage
        }
        error if is_unsupported(error) => Class::Unsupported,
        _ => Class::Failed,
    }
}

fn backend_error_class(error: &BackendError) -> Class {
    match error {
        BackendError::Unavailable { .. } | BackendError::UnknownBackend { .. } => {
            Class::Unavailable
        }
        BackendError::Unsupported { .. } | BackendError::NoBackend { .. } => Class::Unsupported,
        BackendError::Shape { .. } => Class::Input,
        _ => Class::Failed,
    }
}

impl From<BackendError> for CliError {
    fn from(error: BackendError) -> Self {
        Self::new(backend_error_class(&error), "the product was not computed").because(error)
    }
}

impl From<MeasureError> for CliError {
    fn from(error: MeasureError) -> Self {
        let class = match &error {
            MeasureError::Request(_) => Class::Usage,
            MeasureError::Unavailable(_) | MeasureError::Device(_) => Class::Unavailable,
            MeasureError::Backend(error) => backend_error_class(error),
            MeasureError::Wrong { .. } => Class::Wrong,
            MeasureError::Plan { source, .. } => plan_error_class(source),
            MeasureError::Roofline(RooflineError::Option { .. }) => Class::Unsupported,
            _ => Class::Failed,
        };
        // The error prints itself; only its causes remain to be said.
        let message = error.to_string();
        Self::new(class, message).because(error)
    }
}

/// How a source is named in messages: its path, or what `-` stands for.
pub(crate) fn shown(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_that_is_not_there_exits_with_5() {
        let (backend, reason) = ("cuda".to_owned(), "libcuda.so.1 was not found".to_owned());
        let unavailable = || {
            let (backend, reason) = (backend.clone(), reason.clone());
            BackendError::Unavailable { backend, reason }
        };
        let errors = [CliError::from(unavailable()), MeasureError::Backend(unavailable()).into()];
        for error in errors {
            assert_eq!(error.exit_code(), 5);
            assert!(error.to_string().contains("libcuda.so.1"), "{error}");
        }
    }

    #[test]
    fn causes_are_said_once() {
        let inner = io::Error::other("disk on fire");
        let error = CliError::input_from(Path::new("a.mtx"), inner);
        assert_eq!(error.to_string(), "a.mtx: disk on fire");
        assert_eq!(error.exit_code(), 3);

        let repeated = CliError::failed("x: y").because(CliError::failed("y"));
        assert_eq!(repeated.to_string(), "x: y");
    }
}
