//! Schedules for a format on a device, compared by replaying them.

use girih_formats::{DType, FormatSpec};
use serde::{Deserialize, Serialize};

use crate::cost::LinearCost;
use crate::device::{DeviceKind, DeviceSpec};
use crate::kernels::{Dispatch, KernelCatalog, KernelConfig, KernelWork};
use crate::schedule::{Reduction, Schedule, ScheduleKind, TaskSize, Windows};
use crate::simulate::{self, Busy, ScheduleCost};

/// A schedule that was considered for a format, and what its replay says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScheduleOption {
    /// How it cuts.
    pub kind: ScheduleKind,
    /// Tiles of a sub-task, where windows are split at a limit; 0 elsewhere.
    pub limit: u64,
    /// Number of tasks.
    pub tasks: u64,
    /// Windows that several tasks add up to.
    pub split_windows: u64,
    /// Seconds until the last worker is through.
    pub makespan: f64,
    /// How many times as long as with the work shared out evenly.
    pub imbalance: f64,
    /// The share of the workers' time that they wait.
    pub idle_share: f64,
    /// How many times as long as the bare work shared out evenly: beginning tasks, loading tiles again
    /// and adding up count too.
    pub stretch: f64,
}

impl ScheduleOption {
    /// A task for each of `windows` windows.
    pub(crate) fn whole_windows(windows: u64) -> Self {
        Self {
            kind: ScheduleKind::Windows,
            limit: 0,
            tasks: windows,
            split_windows: 0,
            makespan: 0.0,
            imbalance: 1.0,
            idle_share: 0.0,
            stretch: 1.0,
        }
    }

    /// A schedule of packed windows with a task for each of a hybrid's other windows.
    pub(crate) fn beside(self, windows: u64) -> Self {
        Self { tasks: self.tasks + windows, ..self }
    }
}

/// What is cut, and for which kernels of which device.
pub(crate) struct Cut<'a> {
    pub(crate) spec: FormatSpec,
    pub(crate) dtype: DType,
    pub(crate) ncols: usize,
    pub(crate) nnz: usize,
    pub(crate) n: usize,
    pub(crate) device: &'a DeviceSpec,
    pub(crate) kernels: &'a dyn KernelCatalog,
    pub(crate) deterministic: bool,
}

/// A schedule that was considered, with the configuration in which the kernel runs it.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) option: ScheduleOption,
    pub(crate) config: Option<KernelConfig>,
}

/// Sub-tasks for each worker and pass over the columns that a limit aims at.
const SUB_TASKS: [u64; 3] = [1, 4, 16];

/// Tasks beyond which a schedule is not replayed unless the windows or the entries are as many: it would
/// take longer, and more memory, than the matrix it is for.
const MOST_REPLAYED: u64 = 1 << 20;

impl Cut<'_> {
    /// The kinds that the kernels for the format execute, in this product's mode.
    fn kinds(&self) -> Vec<ScheduleKind> {
        let mut kinds = self.kernels.schedules(self.spec);
        if self.deterministic {
            kinds.retain(|kind| *kind != ScheduleKind::Split(Reduction::Atomic));
        }
        kinds
    }

    /// The configuration of the kernel for a schedule of `tasks` blocks.
    pub(crate) fn config(&self, tasks: u64, windows: &impl Windows) -> Option<KernelConfig> {
        let (spec, dtype, n, tiles) = (self.spec, self.dtype, self.n, windows.n_tiles());
        let work = KernelWork { spec, dtype, n, tasks, tiles, ncols: self.ncols };
        self.kernels.config(self.device, &work)
    }

    /// Blocks of columns that the hardware dispatches beside one another.
    fn passes(&self, config: Option<&KernelConfig>) -> u64 {
        config.map_or(1, |config| u64::from(config.passes(self.n)))
    }

    /// Limits to try: a few sub-tasks for each worker.
    fn limits(&self, windows: &impl Windows) -> Vec<u64> {
        let config = self.config(windows.n_windows() as u64, windows);
        let slots = u64::from(self.device.workers).div_ceil(self.passes(config.as_ref()));
        let limits = SUB_TASKS.map(|each| windows.n_tiles().div_ceil((slots * each).max(1)).max(1));
        let mut limits = limits.to_vec();
        limits.dedup();
        limits
    }

    fn task_size(&self, windows: &impl Windows) -> TaskSize {
        TaskSize::balanced_for(self.spec, self.nnz as u64, windows, self.n, self.device.kind)
    }

    /// Cuts a schedule that was considered, out of counted windows or the tiling itself.
    pub(crate) fn schedule(
        &self,
        option: &ScheduleOption,
        windows: &impl Windows,
        linear: &LinearCost,
    ) -> Schedule {
        match option.kind {
            ScheduleKind::Tasks => Schedule::by_size(windows, self.task_size(windows)),
            ScheduleKind::Split(reduction) => Schedule::by_limit(windows, option.limit, reduction),
            ScheduleKind::Windows => Schedule::by_window(windows),
            ScheduleKind::Partitions => {
                Schedule::sm_aligned(windows, self.n, self.device.workers as usize, linear)
            }
        }
    }

    /// Tasks that a kind would cut, at the most.
    fn most_tasks(&self, kind: ScheduleKind, limit: u64, windows: &impl Windows) -> u64 {
        let n_windows = windows.n_windows() as u64;
        match kind {
            ScheduleKind::Tasks => {
                let TaskSize { tiles, windows: per_task, .. } = self.task_size(windows);
                let by_tiles = windows.n_tiles() / tiles.max(1);
                by_tiles.saturating_add(n_windows / per_task.max(1)).saturating_add(1)
            }
            ScheduleKind::Split(_) => n_windows.saturating_add(windows.n_tiles() / limit.max(1)),
            ScheduleKind::Windows | ScheduleKind::Partitions => n_windows,
        }
    }

    /// Every schedule that is considered: its kind, and the limit where it splits windows.
    fn considered(&self, windows: &impl Windows) -> Vec<(ScheduleKind, u64)> {
        let limits = |kind: ScheduleKind| match kind {
            ScheduleKind::Split(_) => self.limits(windows),
            _ => vec![0],
        };
        let of_kind = |kind: ScheduleKind| limits(kind).into_iter().map(move |limit| (kind, limit));
        self.kinds().into_iter().flat_map(of_kind).collect()
    }

    /// Whether a schedule of `tasks` tasks is too large to be replayed.
    fn is_unplayed(&self, tasks: u64, windows: &impl Windows) -> bool {
        tasks > MOST_REPLAYED.max(self.nnz as u64).max(windows.n_windows() as u64)
    }

    /// Tasks of all schedules that [`compare`] replays, at the most.
    pub(crate) fn tasks_to_replay(&self, windows: &impl Windows) -> u64 {
        let considered = self.considered(windows).into_iter();
        let tasks = considered.map(|(kind, limit)| self.most_tasks(kind, limit, windows));
        tasks.filter(|&tasks| !self.is_unplayed(tasks, windows)).fold(0, u64::saturating_add)
    }

    /// A schedule that is taken to be even, for it is too large to be replayed.
    fn unplayed(&self, kind: ScheduleKind, limit: u64, windows: &impl Windows) -> Compared {
        let tasks = self.most_tasks(kind, limit, windows);
        let option = ScheduleOption { kind, limit, ..ScheduleOption::whole_windows(tasks) };
        Compared { option, config: self.config(tasks, windows) }
    }

    fn replayed(
        &self,
        kind: ScheduleKind,
        limit: u64,
        windows: &impl Windows,
        linear: &LinearCost,
    ) -> Compared {
        let Compared { mut option, config } = self.unplayed(kind, limit, windows);
        if self.is_unplayed(option.tasks, windows) {
            let bare = linear.work(windows.n_tiles(), windows.n_windows() as u64, self.n as f64);
            option.makespan = bare / f64::from(self.device.workers);
            return Compared { option, config };
        }
        let schedule = self.schedule(&option, windows, linear);
        // Kernels may put small windows into one block, which then begins once.
        let tasks = schedule.tasks().len() as u64;
        let blocks =
            self.kernels.blocks(self.device, (self.spec, self.dtype), windows, schedule.tasks());
        let config = self.config(blocks, windows);
        let apart = self.dispatched(&schedule, windows);
        let task = match apart {
            // Many windows are begun beside one another: what that takes is in the cost of windows.
            Some(_) => 0.0,
            None => self.device.task_seconds * blocks as f64 / tasks.max(1) as f64,
        };
        let played = apart.as_ref().unwrap_or(&schedule);
        let tile = config.as_ref().map_or(0.0, |config| config.tile_seconds(self.device));
        let cost = ScheduleCost { linear: *linear, task, tile };
        let workers = self.device.workers as usize;
        // Every task is dispatched once for each block of columns: as many tasks, each narrower.
        let passes = match kind {
            ScheduleKind::Partitions => 1,
            _ => self.passes(config.as_ref()) as usize,
        };
        let Busy { makespan, total } =
            simulate::busy(played, windows, self.n.div_ceil(passes), workers, &cost);
        // One block of threads takes a task, however many are idle. A persistent worker asks for the next
        // window's columns while it multiplies one.
        let chain = config.as_ref().map_or(0.0, |config| config.chain_seconds(self.device));
        let longest = match kind {
            ScheduleKind::Partitions => (0..windows.n_windows()).map(|w| windows.tiles(w)).max(),
            _ => schedule.tasks().iter().map(|task| task.tiles().len() as u64).max(),
        };
        let makespan = makespan.max(longest.unwrap_or(0) as f64 * chain);
        // The later passes fill the gaps of the earlier ones: only the last one's end is ragged.
        let even = total / workers as f64;
        let makespan = makespan + even * (passes - 1) as f64 + self.more_launches(kind, &schedule);
        let total = total * passes as f64;
        option.tasks = tasks;
        option.split_windows = schedule.split_windows() as u64;
        option.makespan = makespan;
        option.imbalance = if total > 0.0 { makespan * workers as f64 / total } else { 1.0 };
        option.idle_share = 1.0 - 1.0 / option.imbalance;
        let n_windows = windows.n_windows() as u64;
        let bare = linear.work(windows.n_tiles(), n_windows, self.n.max(1) as f64);
        if bare > 0.0 {
            option.stretch = (makespan * workers as f64 / bare).max(1.0);
        }
        Compared { option, config }
    }

    /// What is dispatched, if not the schedule's own tasks: each window, or part of one, by itself.
    fn dispatched(&self, schedule: &Schedule, windows: &impl Windows) -> Option<Schedule> {
        let size = TaskSize { windows: 1, together: 1, ..self.task_size(windows) };
        let apart = self.kernels.dispatch(self.spec) == Dispatch::Windows
            && schedule.tasks().len() < windows.n_windows();
        apart.then(|| Schedule::by_size(windows, size))
    }

    /// Seconds of launching a kernel beside the first, which adds up the parts of split windows, or clears
    /// what they are added to.
    fn more_launches(&self, kind: ScheduleKind, schedule: &Schedule) -> f64 {
        match (self.device.kind, kind) {
            (DeviceKind::Cuda, ScheduleKind::Split(_)) if schedule.split_windows() > 0 => {
                self.device.launch_seconds
            }
            _ => 0.0,
        }
    }
}

/// Every schedule that the kernels for the format execute, replayed; the shortest first, and of equal
/// ones in the order of the catalogue.
pub(crate) fn compare(cut: &Cut<'_>, windows: &impl Windows, linear: &LinearCost) -> Vec<Compared> {
    let considered = cut.considered(windows).into_iter();
    let mut options: Vec<Compared> =
        considered.map(|(kind, limit)| cut.replayed(kind, limit, windows, linear)).collect();
    options.sort_by(|a, b| a.option.makespan.total_cmp(&b.option.makespan));
    options
}
