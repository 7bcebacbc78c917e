//! Who multiplies: backends with their instruction sets and threads, and their rooflines.

use std::time::Instant;

use girih::cpu::roofline::Roofline;
use girih::cpu::{CpuBackend, Isa};
use girih::{CudaBackend, ReferenceBackend, SpmmBackend};

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
    pub(super) backend: Box<dyn SpmmBackend>,
    /// The instruction set it was told to use.
    pub(super) isa: Option<Isa>,
    /// The instruction set that its floor is of; `None` if its floor is not measured.
    pub(super) floor_isa: Option<Isa>,
    /// The CUDA backend, whose products are timed on the device, operands and all.
    pub(super) cuda: Option<CudaBackend>,
    /// Which of the teams it runs on.
    pub(super) team: usize,
}

/// Every engine, and the teams they share.
#[derive(Debug)]
pub(super) struct Engines {
    pub(super) teams: Vec<Team>,
    pub(super) engines: Vec<Engine>,
}

impl Engines {
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
            [BackendAsked::Cuda] => threads = vec![all],
            _ => {}
        }
        let mut this = Self { teams: Vec::new(), engines: Vec::new() };
        for count in super::distinct(threads) {
            let team = this.team(count)?;
            for backend in &backends {
                match backend {
                    BackendAsked::Cpu => {
                        for &isa in &isas {
                            this.engines.push(cpu(isa, team)?);
                        }
                    }
                    BackendAsked::Cuda if this.engines.iter().any(|e| e.cuda.is_some()) => {}
                    BackendAsked::Cuda => {
                        let (team, backend) = (this.team(all)?, CudaBackend::new(cuda::options()?));
                        this.engines.push(Engine {
                            backend: Box::new(backend.clone()),
                            isa: None,
                            floor_isa: None,
                            cuda: Some(backend),
                            team,
                        });
                    }
                    BackendAsked::Reference if this.has_reference() => {}
                    BackendAsked::Reference => {
                        let team = this.team(1)?;
                        this.engines.push(Engine {
                            backend: Box::new(ReferenceBackend),
                            isa: None,
                            floor_isa: Some(Isa::best()),
                            cuda: None,
                            team,
                        });
                    }
                }
            }
        }
        for engine in &this.engines {
            engine.backend.capabilities().map_err(refused)?;
        }
        Ok(this)
    }

    fn has_reference(&self) -> bool {
        self.engines.iter().any(|engine| engine.isa.is_none() && engine.cuda.is_none())
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

fn cpu(isa: Isa, team: usize) -> Result<Engine, CliError> {
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
    Ok(Engine {
        backend: Box::new(backend),
        isa: Some(isa),
        floor_isa: Some(isa),
        cuda: None,
        team,
    })
}
