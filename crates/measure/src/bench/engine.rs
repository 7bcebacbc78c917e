//! What multiplies: backends with an instruction set and threads, or on a device; and their rooflines.

use std::time::Instant;

use girih::cpu::roofline::Roofline;
use girih::cpu::{CpuBackend, Isa};
use girih::{CudaBackend, DeviceSpec, Plan, ReferenceBackend, Rounding, SpmmBackend};
use girih_cuda_libraries::CudaRoofline;

use super::config::BenchConfig;
use super::device::{self, Device};
use super::request::{BenchBackend, RooflineEffort, ThreadCount, isa_name};
use super::roofline::{self, MeasuredRoofline};
use crate::machine::{Machine, Ticks};
use crate::team::Team;
use crate::{MeasureError, Observer};

/// A backend on some threads.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) multiplier: Multiplier,
    /// The instruction set that it uses, if it has a choice.
    pub(crate) isa: Option<Isa>,
    /// The instruction set of its floor; `None` if its floor is not measured.
    pub(crate) floor_isa: Option<Isa>,
    /// The index of the team that it runs on. A device's team plans and verifies.
    pub(crate) team: usize,
}

/// A backend, here or on a device.
#[derive(Debug)]
pub(crate) enum Multiplier {
    Host(Box<dyn SpmmBackend>),
    /// Products are timed on the device, operands and all.
    Device(Device),
}

impl Multiplier {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Host(backend) => backend.name(),
            Self::Device(device) => device.name(),
        }
    }

    /// Why it can't multiply a plan; `None` if it can.
    pub(crate) fn refusal(&self, plan: &Plan) -> Option<String> {
        match self {
            Self::Host(backend) => backend.supports(plan).err().map(|error| error.to_string()),
            Self::Device(device) => device.refusal(plan),
        }
    }

    pub(crate) fn rounding(&self, plan: &Plan) -> Rounding {
        match self {
            Self::Host(backend) => backend.rounding(plan),
            Self::Device(device) => device.rounding(plan),
        }
    }

    /// Whether another engine multiplies such plans in the same way.
    pub(crate) fn repeats(&self, plan: &Plan) -> bool {
        matches!(self, Self::Device(device) if device.repeats(plan))
    }

    /// Whether it multiplies the same way for every format.
    pub(crate) fn is_yardstick(&self) -> bool {
        matches!(self, Self::Device(Device::Dense(..)))
    }

    pub(crate) fn device(&self) -> Option<&Device> {
        match self {
            Self::Host(_) => None,
            Self::Device(device) => Some(device),
        }
    }
}

/// Every engine, and the teams they share.
#[derive(Debug)]
pub(crate) struct Engines {
    pub(crate) teams: Vec<Team>,
    pub(crate) engines: Vec<Engine>,
}

impl Engines {
    /// The device that plans are made for unless one is named: this CPU, or the GPU if products run
    /// nowhere else.
    ///
    /// # Errors
    /// If the GPU cannot be described.
    pub(crate) fn target(&self) -> Result<DeviceSpec, MeasureError> {
        let devices: Vec<_> = self.engines.iter().filter_map(|e| e.multiplier.device()).collect();
        let gpu = devices.iter().find_map(|device| device.gpu());
        match gpu {
            Some(gpu) if devices.len() == self.engines.len() => Ok(gpu?),
            _ => Ok(DeviceSpec::this_cpu()),
        }
    }

    /// The engines of a configuration, by number of threads.
    ///
    /// # Errors
    /// If this machine lacks one.
    pub(crate) fn new(config: &BenchConfig) -> Result<Self, MeasureError> {
        let all = girih_parallel::current_num_threads();
        let count = |threads: &ThreadCount| match *threads {
            ThreadCount::All => all,
            ThreadCount::Exactly(count) => count,
        };
        let mut threads: Vec<usize> = config.threads.iter().map(count).collect();
        let backends = &config.backends;
        match backends[..] {
            // The reference uses one thread only.
            [BenchBackend::Reference] => threads = vec![1],
            // Threads only plan and verify.
            _ if backends.iter().all(|backend| backend.is_device()) => threads = vec![all],
            _ => {}
        }
        let mut this = Self { teams: Vec::new(), engines: Vec::new() };
        for count in super::distinct(threads) {
            let team = this.team(count)?;
            for backend in backends {
                match backend {
                    BenchBackend::Cpu => {
                        for &isa in &config.isas {
                            this.engines.push(cpu(isa, team, count)?);
                        }
                    }
                    BenchBackend::Reference if this.has_reference() => {}
                    BenchBackend::Reference => {
                        let team = this.team(1)?;
                        this.engines.push(Engine {
                            multiplier: Multiplier::Host(Box::new(ReferenceBackend)),
                            isa: None,
                            floor_isa: Some(Isa::best()),
                            team,
                        });
                    }
                    // Added once, below: they run on no threads of this machine.
                    BenchBackend::Cuda | BenchBackend::Cusparse | BenchBackend::Cublas => {}
                }
            }
        }
        this.add_devices(config, all)?;
        for engine in &this.engines {
            match &engine.multiplier {
                Multiplier::Host(backend) => backend.capabilities().map(|_| ()),
                Multiplier::Device(device) => device.describe().map(|_| ()),
            }?;
        }
        Ok(this)
    }

    /// Adds what multiplies on a device, each once.
    fn add_devices(&mut self, config: &BenchConfig, threads: usize) -> Result<(), MeasureError> {
        let mut devices = Vec::new();
        for backend in super::distinct(config.backends.clone()) {
            match backend {
                BenchBackend::Cpu | BenchBackend::Reference => {}
                BenchBackend::Cuda => {
                    devices.push(Device::Cuda(CudaBackend::new(config.cuda.clone())));
                }
                BenchBackend::Cusparse => devices.extend(Device::cusparse(&config.cuda)),
                BenchBackend::Cublas => devices.extend(Device::dense(&config.cuda)),
            }
        }
        for device in devices {
            let (team, multiplier) = (self.team(threads)?, Multiplier::Device(device));
            self.engines.push(Engine { multiplier, isa: None, floor_isa: None, team });
        }
        Ok(())
    }

    fn has_reference(&self) -> bool {
        self.engines.iter().any(|engine| engine.isa.is_none())
    }

    /// The index of the team of `threads` threads, which is started if there is none.
    fn team(&mut self, threads: usize) -> Result<usize, MeasureError> {
        if let Some(at) = self.teams.iter().position(|team| team.threads() == threads) {
            return Ok(at);
        }
        self.teams.push(Team::new(threads)?);
        Ok(self.teams.len() - 1)
    }

    /// Measures what the engines on this machine's threads could reach.
    ///
    /// # Errors
    /// If there is not enough memory for it.
    pub(super) fn rooflines(
        &self,
        config: &BenchConfig,
        machine: &Machine,
        observer: &dyn Observer,
    ) -> Result<Vec<MeasuredRoofline>, MeasureError> {
        let Some(options) = roofline::options(config.roofline, machine, config.memory_limit) else {
            return Ok(Vec::new());
        };
        let mut measured: Vec<MeasuredRoofline> = Vec::new();
        for engine in &self.engines {
            let (team, Some(isa)) = (&self.teams[engine.team], engine.floor_isa) else { continue };
            if measured.iter().any(|m| m.is_for(isa, team.threads())) {
                continue;
            }
            let threads = team.threads();
            observer.timed_stage(&format!("measuring what {isa} can reach, {threads} threads"));
            let (start, before) = (Instant::now(), Ticks::now());
            let roofline =
                team.run(|| Roofline::measure(isa, &options)).map_err(MeasureError::Roofline)?;
            measured.push(MeasuredRoofline {
                roofline,
                seconds: start.elapsed().as_secs_f64(),
                other_load: Ticks::others_between(before, Ticks::now()),
            });
        }
        Ok(measured)
    }

    /// Measures what the device could reach; `None` if no engine uses one, or if it is not to be measured.
    ///
    /// # Errors
    /// If it can't be measured.
    pub(crate) fn cuda_roofline(
        &self,
        config: &BenchConfig,
        observer: &dyn Observer,
    ) -> Result<Option<CudaRoofline>, MeasureError> {
        let devices = self.engines.iter().any(|engine| engine.multiplier.device().is_some());
        if !devices || config.roofline == RooflineEffort::Off {
            return Ok(None);
        }
        observer.timed_stage("measuring what the device can reach");
        Ok(Some(device::roofline(config.cuda.clone())?))
    }
}

fn cpu(isa: Isa, team: usize, threads: usize) -> Result<Engine, MeasureError> {
    let backend = CpuBackend::with_isa(isa).ok_or_else(|| {
        let here: Vec<&str> =
            Isa::ALL.into_iter().filter(|isa| isa.is_available()).map(isa_name).collect();
        let here = here.join(", ");
        MeasureError::Unavailable(format!("this machine has no {isa}; --isa can be {here}"))
    })?;
    let backend = backend.with_threads(threads)?;
    let multiplier = Multiplier::Host(Box::new(backend));
    Ok(Engine { multiplier, isa: Some(isa), floor_isa: Some(isa), team })
}
