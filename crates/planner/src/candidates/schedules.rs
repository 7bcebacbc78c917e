//! Schedules for a format on a device, compared by replaying them.

use girih_formats::stats::{FormatStats, SharedStats};
use girih_formats::{BMat, FormatError, FormatKind, FormatSpec, TwoFour};
use serde::{Deserialize, Serialize};

use super::KernelConfig;
use crate::cost::LinearCost;
use crate::device::{DeviceKind, DeviceSpec};
use crate::schedule::{Reduction, Schedule, TaskSize, TilePtr, Windows};
use crate::simulate::{ScheduleCost, simulate};

/// How work is cut into tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScheduleKind {
    /// Tasks of a size: windows gathered, long ones split.
    Tasks,
    /// A task for each window, long ones split at a limit.
    Split(Reduction),
    /// A task for each window.
    Windows,
    /// Partitions for persistent workers (Voltrix's Algorithm 1).
    Partitions,
}

impl ScheduleKind {
    /// A name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "balanced tasks",
            Self::Split(Reduction::TwoPass) => "split windows, two-pass",
            Self::Split(Reduction::Atomic) => "split windows, atomic",
            Self::Windows => "one window each",
            Self::Partitions => "partitions",
        }
    }
}

/// A schedule that was considered for a format, and what its replay says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// What is cut: windows as they were counted, and how a device computes them.
pub(crate) struct Cut<'a> {
    pub(crate) spec: FormatSpec,
    pub(crate) nnz: usize,
    pub(crate) n: usize,
    pub(crate) device: &'a DeviceSpec,
    pub(crate) config: Option<&'a KernelConfig>,
    pub(crate) deterministic: bool,
}

/// Sub-tasks for each worker and pass over the columns that a limit aims at.
const SUB_TASKS: [u64; 3] = [1, 4, 16];

/// The tiles of every window of a format, counted.
pub(crate) fn windows(
    shared: &SharedStats<'_>,
    stats: &FormatStats,
) -> Result<TilePtr, FormatError> {
    let spec = stats.spec;
    let pattern = shared.pattern();
    let rows = spec.window_rows();
    let even = |tiles: u64| TilePtr::of_counts((0..stats.windows).map(|_| tiles));
    let per_union = |width: usize, tile: usize| {
        let counts = shared.unions(rows, width as u32)?;
        Ok(TilePtr::of_counts(counts.iter().map(|&count| u64::from(count).div_ceil(tile as u64))))
    };
    match spec {
        FormatSpec::Csr => {
            let layout = shared.layout().with_window_rows(1)?;
            let length = |slot| layout.row(slot).map_or(0, |row| pattern.row(row).len() as u64);
            Ok(TilePtr::of_counts((0..layout.n_slots()).map(length)))
        }
        FormatSpec::Bcsr { block_cols, .. } => per_union(block_cols, 1),
        FormatSpec::Wcsr { pad_cols, .. } => per_union(1, pad_cols),
        FormatSpec::BMat { .. } => per_union(1, BMat::<f32>::TILE_COLS),
        FormatSpec::BlockedEll { .. } => Ok(even(stats.ell_width)),
        FormatSpec::TwoFour => Ok(even((rows * TwoFour::<f32>::groups_of(pattern.ncols())) as u64)),
    }
}

impl Cut<'_> {
    /// The kinds that a device's kernels for a format take.
    fn kinds(&self) -> Vec<ScheduleKind> {
        let split = |this: &Self| {
            let mut kinds = vec![ScheduleKind::Split(Reduction::TwoPass)];
            if !this.deterministic {
                kinds.push(ScheduleKind::Split(Reduction::Atomic));
            }
            kinds
        };
        match (self.device.kind, self.spec.kind()) {
            (DeviceKind::Cpu, _) | (DeviceKind::Cuda, FormatKind::Csr) => vec![ScheduleKind::Tasks],
            (DeviceKind::Cuda, FormatKind::Wcsr) => {
                let mut kinds = vec![ScheduleKind::Windows];
                kinds.extend(split(self));
                kinds
            }
            (DeviceKind::Cuda, FormatKind::BMat) => {
                vec![ScheduleKind::Partitions, ScheduleKind::Windows]
            }
            (DeviceKind::Cuda, _) => vec![ScheduleKind::Windows],
        }
    }

    /// Blocks of columns that the hardware dispatches beside one another.
    fn passes(&self) -> u64 {
        self.config.map_or(1, |config| u64::from(config.passes(self.n)))
    }

    /// Limits worth trying: so many sub-tasks for each worker.
    fn limits(&self, windows: &impl Windows) -> Vec<u64> {
        let slots = u64::from(self.device.workers).div_ceil(self.passes());
        let limits = SUB_TASKS.map(|each| windows.n_tiles().div_ceil((slots * each).max(1)).max(1));
        let mut limits = limits.to_vec();
        limits.dedup();
        limits
    }

    /// Cuts a schedule that was considered, out of counted windows or the tiling itself.
    pub(crate) fn schedule(
        &self,
        option: &ScheduleOption,
        windows: &impl Windows,
        linear: &LinearCost,
    ) -> Schedule {
        match option.kind {
            ScheduleKind::Tasks => {
                let size = TaskSize::balanced_for(
                    self.spec,
                    self.nnz as u64,
                    windows,
                    self.n,
                    self.device.kind,
                );
                Schedule::by_size(windows, size)
            }
            ScheduleKind::Split(reduction) => Schedule::by_limit(windows, option.limit, reduction),
            ScheduleKind::Windows => Schedule::by_window(windows),
            ScheduleKind::Partitions => {
                Schedule::sm_aligned(windows, self.n, self.device.workers as usize, linear)
            }
        }
    }

    fn replayed(
        &self,
        kind: ScheduleKind,
        limit: u64,
        windows: &impl Windows,
        linear: &LinearCost,
    ) -> ScheduleOption {
        let mut option = ScheduleOption {
            kind,
            limit,
            tasks: 0,
            split_windows: 0,
            makespan: 0.0,
            imbalance: 1.0,
            idle_share: 0.0,
            stretch: 1.0,
        };
        let schedule = self.schedule(&option, windows, linear);
        let cost = ScheduleCost { linear: *linear, task: self.device.task_seconds };
        let workers = self.device.workers as usize;
        // Every task is dispatched once for each block of columns: as many tasks, each narrower.
        let passes = if kind == ScheduleKind::Partitions { 1 } else { self.passes() as usize };
        let replay = simulate(&schedule, windows, self.n.div_ceil(passes), workers, &cost);
        let (makespan, total) = match passes {
            1 => (replay.makespan, replay.total),
            // The later passes fill the gaps of the earlier ones: only the last one's end is ragged.
            _ => {
                let even = replay.total / workers as f64;
                (replay.makespan + even * (passes - 1) as f64, replay.total * passes as f64)
            }
        };
        option.tasks = schedule.tasks().len() as u64;
        option.split_windows = schedule.split_windows() as u64;
        option.makespan = makespan;
        option.imbalance = if total > 0.0 { makespan * workers as f64 / total } else { 1.0 };
        option.idle_share = 1.0 - 1.0 / option.imbalance;
        let n_windows = windows.n_windows() as u64;
        let bare = linear.work(windows.n_tiles(), n_windows, self.n.max(1) as f64);
        if bare > 0.0 {
            option.stretch = (makespan * workers as f64 / bare).max(1.0);
        }
        option
    }
}

/// Every schedule that the device's kernels for the format take, replayed; the shortest first, and of
/// equal ones in a fixed order.
pub(crate) fn compare(
    cut: &Cut<'_>,
    windows: &impl Windows,
    linear: &LinearCost,
) -> Vec<ScheduleOption> {
    let mut options = Vec::new();
    for kind in cut.kinds() {
        match kind {
            ScheduleKind::Split(_) => {
                let split = cut.limits(windows).into_iter();
                options.extend(split.map(|limit| cut.replayed(kind, limit, windows, linear)));
            }
            _ => options.push(cut.replayed(kind, 0, windows, linear)),
        }
    }
    options.sort_by(|a, b| a.makespan.total_cmp(&b.makespan));
    options
}
