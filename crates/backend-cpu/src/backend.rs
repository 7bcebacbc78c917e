//! The backend: what it can do, and how a plan is prepared.

use girih_backend::{
    Aggregation, BackendError, Capabilities, DenseScalar, Epilogue, Lowering, PreparedSpmm,
    ProductShape, SpmmBackend, Unsupported, with_b_permutation,
};
use girih_formats::{
    AnyTiling, Complex, ComplexScalar, DType, FormatKind, FormatSpec, RealAccumulator, Scalar,
    Tiling,
};
use girih_planner::cost::seconds_on;
use girih_planner::file::Attachment;
use girih_planner::{DeviceSpec, Plan};

use crate::Isa;
use crate::exec::team::Team;
use crate::exec::{Prepared, PreparedComplex, complex_epilogue, known_aggregation, known_epilogue};
use crate::kernels::{CpuScalar, check_value_type, for_kernel_tiling};
use crate::lowering::Case;
use crate::machine::Machine;
use crate::prepare::lower;
use crate::prepare::saved::{self, LoadError};

/// The name of the CPU backend.
pub const NAME: &str = "cpu";

/// Multiplies on this machine's cores, with one of its instruction sets.
#[derive(Clone, Debug)]
pub struct CpuBackend {
    isa: Isa,
    team: Team,
}

impl CpuBackend {
    /// The backend with the best instruction set of this machine.
    #[must_use]
    pub fn new() -> Self {
        Self { isa: Isa::best(), team: Team::Current }
    }

    /// The backend with a certain instruction set; `None` if this machine lacks it.
    #[must_use]
    pub fn with_isa(isa: Isa) -> Option<Self> {
        isa.is_available().then_some(Self { isa, team: Team::Current })
    }

    /// The backend with products on `threads` threads, at least one: the calling thread plus `threads - 1`
    /// workers, which park after 100 µs without work. Without this, products run on the rayon pool that
    /// `execute` is called in. Outside of every pool they run on as many threads as the global pool has: the
    /// calling thread, and helpers that all backends share. Preparing runs on rayon's threads in any case.
    ///
    /// # Errors
    /// If threads can't be started.
    pub fn with_threads(self, threads: usize) -> Result<Self, BackendError> {
        let team = Team::with_threads(threads).map_err(|error| BackendError::Unavailable {
            backend: NAME.to_owned(),
            reason: format!("{threads} threads can't be started: {error}"),
        })?;
        Ok(Self { team, ..self })
    }

    /// The instruction set in use.
    #[must_use]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The threads of its products.
    pub(crate) fn team(&self) -> &Team {
        &self.team
    }

    /// What decisions about a plan depend on.
    fn case<T: Scalar>(&self, tiling: &Tiling<T>, plan: &Plan) -> Case {
        let (n, threads) = (plan.options().n, self.team.threads());
        let case = Case::new(tiling, n, threads, self.isa, Machine::detect());
        Case { once: plan.options().once, ..case }
    }

    /// Prepares a plan, by the layout that it has saved for this machine if there is one.
    fn prepared<T: CpuScalar>(
        &self,
        tiling: &Tiling<T>,
        plan: &Plan,
    ) -> Result<Prepared<T>, BackendError> {
        let (case, team) = (self.case(tiling, plan), self.team.clone());
        if let Some(saved) = plan.attachment(NAME, &saved::key(&case)) {
            match Prepared::load(
                case,
                team.clone(),
                tiling,
                plan.schedule(),
                plan.fingerprint(),
                saved,
            ) {
                Ok(prepared) => return Ok(prepared),
                Err(LoadError::Outdated) => {}
                Err(LoadError::Unsupported(reason)) => return Err(Self::unprepared(reason)),
                Err(broken @ LoadError::Broken(_)) => {
                    return Err(BackendError::Failed {
                        backend: NAME.to_owned(),
                        operation: "load the layout that the plan keeps".to_owned(),
                        source: Box::new(broken),
                    });
                }
            }
        }
        Prepared::build(case, team, tiling, plan.schedule()).map_err(Self::unprepared)
    }

    /// Prepares a plan of complex values.
    fn complex<R>(&self, tiling: &Tiling<Complex<R>>, plan: &Plan) -> PreparedComplex<R>
    where
        R: CpuScalar<Acc = R> + RealAccumulator,
        Complex<R>: ComplexScalar<Part = R> + DenseScalar,
    {
        PreparedComplex::new(self.isa, self.team.clone(), tiling, plan)
    }

    /// What a plan of a supported schedule fails for: the sums of its split windows do not fit.
    fn unprepared(reason: String) -> BackendError {
        Unsupported::Memory { reason }.by(NAME)
    }
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl SpmmBackend for CpuBackend {
    /// The time on this CPU with all of its cores.
    fn estimate(&self, plan: &Plan) -> Option<f64> {
        seconds_on(plan, &DeviceSpec::this_cpu())
    }

    fn name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        let threads = self.team.threads();
        let device = format!("{}, {threads} threads", self.isa);
        let dtypes = DType::ALL.into_iter().filter(|&dtype| check_value_type(dtype).is_ok());
        let dtypes = dtypes.collect::<Vec<_>>();
        Ok(Capabilities::new(FormatKind::ALL, dtypes, device))
    }

    /// Every valid plan of a value type that this build has kernels for: real ones in any format, complex ones in CSR
    /// and BCSR. Schedules that cut windows by columns and by tiles at once are refused. Where parts may be added up in
    /// any order, they are added in the order of the tasks.
    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        let schedule = plan.schedule();
        // Which rows a thread writes follows from the schedule, so it is checked against these very tiles.
        let unsupported = |reason| Unsupported::Schedule { reason };
        schedule.check(plan.tiling()).map_err(|error| unsupported(error.to_string()))?;
        let (spec, dtype) = (plan.spec(), plan.dtype());
        check_value_type(dtype)?;
        if dtype.is_complex() && !matches!(spec, FormatSpec::Csr | FormatSpec::Bcsr { .. }) {
            let reason = format!("it multiplies values of {dtype} in csr and bcsr, not in {spec}");
            return Err(Unsupported::ValueType { dtype, reason });
        }
        if let FormatSpec::TwoFourE4m3 { .. } = spec {
            let reason =
                format!("{spec}: it multiplies values as they are stored in their own type");
            return Err(Unsupported::Format { format: spec.kind(), reason });
        }
        match schedule.columns() {
            Some(_) if schedule.split_windows() > 0 => Err(unsupported(
                "its schedule cuts windows by columns and by tiles at once".to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Every epilogue, in every format and real value type.
    fn supports_epilogue(&self, plan: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        if plan.dtype().is_complex() {
            return complex_epilogue(epilogue);
        }
        known_epilogue(epilogue)
    }

    /// The accumulation type, and f16 and bf16 where that is f32.
    fn supports_output(&self, plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
        ProductShape::of(plan).check_output(dtype)
    }

    /// Every aggregation, of CSR in every real value type.
    fn supports_aggregation(
        &self,
        plan: &Plan,
        aggregation: Aggregation,
    ) -> Result<(), Unsupported> {
        if plan.dtype().is_complex() {
            let reason = format!("values of {} are summed, and nothing else", plan.dtype());
            return Err(Unsupported::Aggregation { reason });
        }
        known_aggregation(plan.tiling().kind(), aggregation)
    }

    /// Decides as [`prepare`](Self::prepare) does, without a copy of the matrix: O(nnz), in parallel for the
    /// most part. A plan with a permutation of B is prepared.
    fn lower(&self, plan: &Plan) -> Result<Lowering, BackendError> {
        self.supports(plan).map_err(|unsupported| unsupported.by(NAME))?;
        let n = plan.options().n;
        if plan.b_permutation().is_some() {
            return Ok(self.prepare(plan)?.lowering(n));
        }
        let threads = self.team.threads();
        for_kernel_tiling!(plan.tiling(), tiling => {
            if plan.attachment(NAME, &saved::key(&self.case(tiling, plan))).is_some() {
                return Ok(self.prepare(plan)?.lowering(n));
            }
            let lowering = lower(tiling, plan.schedule(), self.case(tiling, plan)).map_err(Self::unprepared)?;
            Ok(lowering.describe(n, threads))
        }, complex => Ok(self.prepare(plan)?.lowering(n)))
    }

    /// Shares the plan's tiles and allocates the sums of split windows if there are any: O(tasks). For CSR it
    /// also counts and copies, as [the crate](crate#what-preparing-does) says: O(nnz) in parallel. If the
    /// plan keeps a
    /// [layout](SpmmBackend::layout) for this machine, that is checked instead.
    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        self.supports(plan).map_err(|unsupported| unsupported.by(NAME))?;
        let prepared: Box<dyn PreparedSpmm> = match plan.tiling() {
            AnyTiling::C32(tiling) => Box::new(self.complex(tiling, plan)),
            #[cfg(feature = "f64")]
            AnyTiling::C64(tiling) => Box::new(self.complex(tiling, plan)),
            real => for_kernel_tiling!(
                real,
                tiling => Box::new(self.prepared(tiling, plan)?.refreshable(plan)),
                complex => unreachable!("the value type was checked, and complex ones come first"),
            ),
        };
        with_b_permutation(NAME, plan, prepared)
    }

    /// For CSR, the numbers on which decisions rest, and the copy that products with the plan's n read, if
    /// there is one. O(nnz) in parallel, and the memory of that copy. The layout is for the instruction set,
    /// the number of threads and the caches of this backend; a plan may keep several. Of complex values nothing is
    /// saved: there is no such copy.
    fn layout(&self, plan: &Plan) -> Result<Option<Attachment>, BackendError> {
        self.supports(plan).map_err(|unsupported| unsupported.by(NAME))?;
        for_kernel_tiling!(plan.tiling(), tiling => {
            saved::save(tiling, plan.schedule(), plan.fingerprint(), self.case(tiling, plan)).map_err(|reason| BackendError::Failed {
                backend: NAME.to_owned(),
                operation: "save the layout".to_owned(),
                source: reason.into(),
            })
        }, complex => Ok(None))
    }
}
