//! One kernel at one size, and how it is run.

use ptx_emu::{Arg, Launch, LaunchError, Launched, Module, Schedule, Timing};

/// When asynchronous work completes, and which warp goes next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) timing: Timing,
    pub(crate) schedule: Schedule,
}

impl Mode {
    /// Every timing, with fixed and random schedules.
    pub(crate) fn all() -> Vec<Self> {
        let mode = |timing, schedule| Self { timing, schedule };
        vec![
            mode(Timing::Late, Schedule::Fixed),
            mode(Timing::Late, Schedule::Random(3)),
            mode(Timing::Eager, Schedule::Fixed),
            mode(Timing::Eager, Schedule::Random(4)),
            mode(Timing::Random(1), Schedule::Fixed),
            mode(Timing::Random(2), Schedule::Random(5)),
        ]
    }

    /// The launch in this mode.
    pub(crate) fn of(self, launch: Launch) -> Launch {
        launch.timing(self.timing).schedule(self.schedule)
    }
}

/// Why a run did not give the expected result.
pub(crate) enum Failure {
    /// The launch was refused, or the interpreter reported a fault.
    Launch(Box<LaunchError>),
    /// The launch succeeded, but the results are wrong.
    Wrong(String),
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        Self::Launch(Box::new(error))
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

/// Runs the kernel once and compares its results with the host's.
pub(crate) type Run = Box<dyn Fn(&Kernel, Mode) -> Result<Launched, Failure>>;

/// A change to a kernel's text that mends its fault.
pub(crate) type Repair = fn(&str) -> String;

/// What a run must show.
pub(crate) enum Expected {
    /// Right results and no report.
    Right,
    /// A report whose text contains one of these: a fault of the kernel.
    Report(&'static [&'static str]),
}

/// One kernel at one size.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The file's name in the folder of PTX, without its suffix.
    pub(crate) file: &'static str,
    /// A part of the entry's name that only its name has.
    pub(crate) entry: &'static str,
    pub(crate) size: String,
    pub(crate) repair: Option<Repair>,
    pub(crate) expected: Expected,
    pub(crate) run: Run,
}

/// A parsed module and its entry's full name.
pub(crate) struct Kernel {
    pub(crate) module: Module,
    pub(crate) entry: String,
}

impl Kernel {
    /// Parses `ptx` and looks the entry up whose name contains `part`.
    pub(crate) fn new(ptx: &str, part: &str) -> Result<Self, String> {
        let module = Module::parse(ptx).map_err(|error| error.to_string())?;
        let entry = module
            .entries()
            .map(|entry| entry.name().to_owned())
            .find(|name| name.contains(part))
            .ok_or_else(|| format!("no entry whose name contains {part}"))?;
        Ok(Self { entry, module })
    }
}

/// Numbers as arguments.
pub(crate) trait Number: Into<Arg> {
    fn arg(self) -> Arg {
        self.into()
    }
}

impl Number for u32 {}
impl Number for u64 {}
