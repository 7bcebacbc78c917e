//! Who multiplies: backends with their instruction sets and threads or on devices, and their rooflines.

use std::time::Instant;

use girih::cpu::roofline::Roofline;
use girih::cpu::{CpuBackend, Isa};
use girih::cuda::CudaRoofline;
use girih::{CudaBackend, DeviceSpec, Plan, ReferenceBackend, Rounding, SpmmBackend};

use super::on_device::{self, Device};
use super::options::{BackendAsked, Options, RooflineAsked, ThreadsAsked};
use super::roofline::{self, Measured};
use super::sampling::Team;
use crate::commands::spmm::refused;
use crate::cuda;
use crate::error::{Class, CliError};
use crate::machine::{Machine, Ticks};
use crate::progress::Progress;

/// A backend on some threads.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) who: Who,
    /// The instruction set it was told to use.
    pub(super) isa: Option<Isa>,
    /// The instruction set that its floor is of; `None` if its floor is not measured.
    pub(super) floor_isa: Option<Isa>,
    /// Which of the teams it runs on, or plans and verifies on.
    pub(super) team: usize,
}

/// What multiplies.
#[derive(Debug)]
pub(super) enum Who {
    Host(Box<dyn SpmmBackend>),
    /// Products are timed on the device, operands and all.
    Device(Device),
}

impl Who {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Host(backend) => backend.name(),
            Self::Device(device) => device.name(),
        }
    }

    /// Why it can't multiply a plan, if so.
    pub(super) fn refusal(&self, plan: &Plan) -> Option<String> {
        match self {
            Self::Host(backend) => backend.supports(plan).err().map(|error| error.reason),
            Self::Device(device) => device.refusal(plan),
        }
    }

    pub(super) fn rounding(&self, plan: &Plan) -> Rounding {
        match self {
            Self::Host(backend) => backend.rounding(plan),
            Self::Device(device) => device.rounding(plan),
        }
    }

    /// Whether this is another way of what another engine does with such plans.
    pub(super) fn repeats(&self, plan: &Plan) -> bool {
        matches!(self, Self::Device(device) if device.repeats(plan))
    }

    /// Whether it multiplies the same whatever the format.
    pub(super) fn is_yardstick(&self) -> bool {
        matches!(self, Self::Device(Device::Dense(..)))
    }

    pub(super) fn device(&self) -> Option<&Device> {
        match self {
            Self::Host(_) => None,
            Self::Device(device) => Some(device),
        }
    }
}

/// Every engine, and the teams they share.
#[derive(Debug)]
pub(super) struct Engines {
    pub(super) teams: Vec<Team>,
    pub(super) engines: Vec<Engine>,
}

impl Engines {
    /// What plans are made for unless a device is named: the CPU here, or the GPU where products run on
    /// nothing else.
    ///
    /// # Errors
    /// If the GPU cannot be described.
    pub(super) fn target(&self) -> Result<DeviceSpec, CliError> {
        let devices: Vec<_> = self.engines.iter().filter_map(|e| e.who.device()).collect();
        let gpu = devices.iter().find_map(|device| device.gpu());
        match gpu {
            Some(gpu) if devices.len() == self.engines.len() => gpu.map_err(refused),
            _ => Ok(DeviceSpec::this_cpu()),
        }
    }

    /// Those that were asked for, by number of threads.
    ///
    /// # Errors
    /// If this machine lacks one.
    pub(super) fn new(options: &Options) -> Result<Self, CliError> {
        let all = rayon::current_num_threads();
        let asked =
            super::or_default(&options.threads, || vec![ThreadsAsked::Count(1), ThreadsAsked::All]);
        let mut threads: Vec<usize> = asked
            .iter()
            .map(|asked| match asked {
                ThreadsAsked::All => all,
                ThreadsAsked::Count(count) => *count,
            })
            .collect();
        let backends = super::or_default(&options.backend, || vec![BackendAsked::Cpu]);
        let isas = super::or_default(&options.isa, || vec![Isa::best()]);
        match backends[..] {
            // It has no use for more than one.
            [BackendAsked::Reference] => threads = vec![1],
            // Threads plan and verify.
            _ if backends.iter().all(|backend| backend.is_device()) => threads = vec![all],
            _ => {}
        }
        let mut this = Self { teams: Vec::new(), engines: Vec::new() };
        for count in super::distinct(threads) {
            let team = this.team(count)?;
            for backend in &backends {
                match backend {
                    BackendAsked::Cpu => {
                        for &isa in &isas {
                            this.engines.push(cpu(isa, team, count)?);
                        }
                    }
                    BackendAsked::Reference if this.has_reference() => {}
                    BackendAsked::Reference => {
                        let team = this.team(1)?;
                        this.engines.push(Engine {
                            who: Who::Host(Box::new(ReferenceBackend)),
                            isa: None,
                            floor_isa: Some(Isa::best()),
                            team,
                        });
                    }
                    // On no threads here, and so once, below.
                    BackendAsked::Cuda | BackendAsked::Cusparse | BackendAsked::Cublas => {}
                }
            }
        }
        this.add_devices(&backends, all)?;
        for engine in &this.engines {
            match &engine.who {
                Who::Host(backend) => backend.capabilities().map(|_| ()),
                Who::Device(device) => device.describe().map(|_| ()),
            }
            .map_err(refused)?;
        }
        Ok(this)
    }

    /// What multiplies on a device, each once.
    fn add_devices(&mut self, backends: &[BackendAsked], threads: usize) -> Result<(), CliError> {
        let mut devices = Vec::new();
        for backend in super::distinct(backends.to_vec()) {
            match backend {
                BackendAsked::Cpu | BackendAsked::Reference => {}
                BackendAsked::Cuda => {
                    devices.push(Device::Cuda(CudaBackend::new(cuda::options()?)));
                }
                BackendAsked::Cusparse => devices.extend(Device::cusparse(&cuda::options()?)),
                BackendAsked::Cublas => devices.extend(Device::dense(&cuda::options()?)),
            }
        }
        for device in devices {
            let (team, who) = (self.team(threads)?, Who::Device(device));
            self.engines.push(Engine { who, isa: None, floor_isa: None, team });
        }
        Ok(())
    }

    fn has_reference(&self) -> bool {
        self.engines.iter().any(|engine| engine.isa.is_none())
    }

    /// The team of so many threads.
    fn team(&mut self, threads: usize) -> Result<usize, CliError> {
        if let Some(at) = self.teams.iter().position(|team| team.threads() == threads) {
            return Ok(at);
        }
        self.teams.push(Team::new(threads)?);
        Ok(self.teams.len() - 1)
    }

    /// Measures what every engine could reach.
    ///
    /// # Errors
    /// If there is not enough memory for it.
    pub(super) fn rooflines(
        &self,
        effort: RooflineAsked,
        machine: &Machine,
        memory_limit: Option<u64>,
        progress: &Progress,
    ) -> Result<Vec<Measured>, CliError> {
        let Some(options) = roofline::options(effort, machine, memory_limit) else {
            return Ok(Vec::new());
        };
        let mut measured: Vec<Measured> = Vec::new();
        for engine in &self.engines {
            let (team, Some(isa)) = (&self.teams[engine.team], engine.floor_isa) else { continue };
            if measured.iter().any(|m| m.is_of(isa, team.threads())) {
                continue;
            }
            progress.still(format!("measuring what {isa} can reach, {} threads", team.threads()));
            let (start, before) = (Instant::now(), Ticks::now());
            let roofline =
                team.run(|| Roofline::measure(isa, &options)).map_err(roofline::unmeasured)?;
            measured.push(Measured {
                roofline,
                seconds: start.elapsed().as_secs_f64(),
                other_load: Ticks::others_between(before, Ticks::now()),
            });
        }
        Ok(measured)
    }
}

impl Engines {
    /// Measures what the device can do; `None` if no engine uses one, or it is not wanted.
    ///
    /// # Errors
    /// If it can't be measured.
    pub(super) fn cuda_roofline(
        &self,
        effort: RooflineAsked,
        progress: &Progress,
    ) -> Result<Option<CudaRoofline>, CliError> {
        let devices = self.engines.iter().any(|engine| engine.who.device().is_some());
        if !devices || effort == RooflineAsked::Off {
            return Ok(None);
        }
        progress.still("measuring what the device can reach".to_owned());
        on_device::roofline(cuda::options()?).map(Some).map_err(refused)
    }
}

fn cpu(isa: Isa, team: usize, threads: usize) -> Result<Engine, CliError> {
    let backend = CpuBackend::with_isa(isa).ok_or_else(|| {
        let here: Vec<&str> = Isa::ALL
            .into_iter()
            .filter(|isa| isa.is_available())
            .map(super::options::isa_name)
            .collect();
        CliError::new(
            Class::Unavailable,
            format!("this machine has no {isa}; --isa can be {}", here.join(", ")),
        )
    })?;
    let backend = backend.with_threads(threads).map_err(refused)?;
    Ok(Engine { who: Who::Host(Box::new(backend)), isa: Some(isa), floor_isa: Some(isa), team })
}
