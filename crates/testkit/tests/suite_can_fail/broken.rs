//! A backend with a fault: the reference, but for products in f32 and in c32.

use std::sync::Arc;

use girih_backend::{
    Aggregation, BackendError, Capabilities, Epilogue, PreparedSpmm, ReferenceBackend, SpmmBackend,
    Unsupported,
};
use girih_formats::{AnyTiling, DType, FormatKind, RowCsr, Tiling};
use girih_planner::Plan;
use girih_reorder::Permutation;

use crate::product::PreparedBroken;

/// What a broken backend does to f32 products; everything else it leaves to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    ReadsPaddingAsColumnZero,
    ReadsEveryRowOfB,
    ReadsBForAlphaZero,
    ForgetsBeta,
    ReadsCForBetaZero,
    CountsBetaOncePerTask,
    DropsTheLastPartialWindow,
    DropsColumnsPastAMultipleOfEight,
    TruncatesToBf16,
    RoundsSumsToF16,
    SumsOnlyTheFirstTask,
    IgnoresTheRowOrder,
    IgnoresTheColumnOrder,
    ReadsNegativeStridesForwards,
    ReadsColumnMajorAsRowMajor,
    ComputesOffsetsIn32Bits,
    GivesOtherBitsTheSecondTime,
    GivesOtherBitsOnOtherThreads,
    WritesBeforeItChecks,
    ChecksNothing,
    RefusesEveryPlan,
    RefusesLargeBlocks,
    TakesWhatItDoesNotClaim,
    KeepsOldValues,
    PutsNewValuesInReverse,
    ForgetsTheBias,
    ActivatesBeforeTheBias,
    ActivatesBeforeBeta,
    ActivatesTwice,
    TakesErfForTanh,
    FlushesNanInRelu,
    GivesEveryPanelTheFirstBias,
    ExecutesWhatItRefuses,
    TruncatesC,
    SaturatesC,
    BeginsMaximaWithZero,
    IgnoresNanInMaxima,
    MeansOfTooMany,
    ConjugatesA,
    DropsImaginaryParts,
    ScalesByTheRealPart,
}

/// The backend with this fault.
#[derive(Debug)]
pub(crate) struct Broken(pub(crate) Fault);

impl SpmmBackend for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        let mut can = ReferenceBackend.capabilities()?;
        if self.0 == Fault::TakesWhatItDoesNotClaim {
            can.formats.retain(|&kind| kind != FormatKind::BMat);
        }
        Ok(can)
    }

    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        let refuse = |reason: &str| Unsupported::Sizes { spec: plan.spec(), reason: reason.into() };
        match self.0 {
            Fault::RefusesEveryPlan => Err(refuse("it is broken")),
            Fault::RefusesLargeBlocks if plan.tiling().layout().window_rows() > 16 => {
                Err(refuse("its blocks are too large"))
            }
            _ => Ok(()),
        }
    }

    fn supports_epilogue(&self, plan: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        match self.0 {
            _ if plan.dtype().is_complex() => ReferenceBackend.supports_epilogue(plan, epilogue),
            Fault::ExecutesWhatItRefuses if !epilogue.is_none() => {
                Err(Unsupported::Epilogue { reason: "it says so".to_owned() })
            }
            _ => Ok(()),
        }
    }

    fn supports_output(&self, plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
        ReferenceBackend.supports_output(plan, dtype)
    }

    fn supports_aggregation(
        &self,
        plan: &Plan,
        aggregation: Aggregation,
    ) -> Result<(), Unsupported> {
        ReferenceBackend.supports_aggregation(plan, aggregation)
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        let inner = match self.0 {
            Fault::IgnoresTheColumnOrder => {
                ReferenceBackend.prepare(&with_natural_columns(plan))?
            }
            Fault::ConjugatesA => ReferenceBackend.prepare(&conjugated(plan))?,
            _ => ReferenceBackend.prepare(plan)?,
        };
        let (fault, plan) = (self.0, plan.clone());
        Ok(Box::new(PreparedBroken { fault, plan, inner, executions: Arc::default() }))
    }
}

/// The plan of the conjugate of a matrix in CSR.
fn conjugated(plan: &Plan) -> Plan {
    let AnyTiling::C32(Tiling::Csr(rows)) = plan.tiling() else { return plan.clone() };
    let rows = RowCsr::try_new(rows.layout().clone(), rows.csr().conj()).unwrap();
    Plan::from_tiling(Tiling::Csr(rows))
}

/// The plan as if its tiles held the columns in the matrix's order.
fn with_natural_columns(plan: &Plan) -> Plan {
    plan.clone().with_columns(Permutation::identity(plan.ncols()).unwrap()).unwrap()
}
