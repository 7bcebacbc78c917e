//! A backend whose plans are in a precision.

use girih_backend::{
    BackendError, Capabilities, Epilogue, Lowering, PreparedSpmm, Rounding, SpmmBackend,
    Unsupported,
};
use girih_formats::DType;
use girih_planner::file::Attachment;
use girih_planner::{Plan, Precision};

/// A backend that multiplies every plan in a precision, whatever the plan says: to put that through the
/// [conformance suite](crate::conformance), whose plans are in the default one.
#[derive(Clone, Debug)]
pub struct InPrecision<B> {
    backend: B,
    precision: Precision,
}

impl<B> InPrecision<B> {
    /// The backend in a precision.
    pub const fn new(backend: B, precision: Precision) -> Self {
        Self { backend, precision }
    }

    fn plan(&self, plan: &Plan) -> Plan {
        plan.clone().with_precision(self.precision)
    }
}

impl<B: SpmmBackend> SpmmBackend for InPrecision<B> {
    fn name(&self) -> &str {
        self.backend.name()
    }

    fn capabilities(&self) -> Result<Capabilities, BackendError> {
        self.backend.capabilities()
    }

    fn supports(&self, plan: &Plan) -> Result<(), Unsupported> {
        self.backend.supports(&self.plan(plan))
    }

    fn supports_epilogue(&self, plan: &Plan, epilogue: &Epilogue<'_>) -> Result<(), Unsupported> {
        self.backend.supports_epilogue(&self.plan(plan), epilogue)
    }

    fn supports_output(&self, plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
        self.backend.supports_output(&self.plan(plan), dtype)
    }

    fn rounding(&self, plan: &Plan) -> Rounding {
        self.backend.rounding(&self.plan(plan))
    }

    fn prepare(&self, plan: &Plan) -> Result<Box<dyn PreparedSpmm>, BackendError> {
        self.backend.prepare(&self.plan(plan))
    }

    fn layout(&self, plan: &Plan) -> Result<Option<Attachment>, BackendError> {
        self.backend.layout(&self.plan(plan))
    }

    fn estimate(&self, plan: &Plan) -> Option<f64> {
        self.backend.estimate(&self.plan(plan))
    }

    fn lower(&self, plan: &Plan) -> Result<Lowering, BackendError> {
        self.backend.lower(&self.plan(plan))
    }
}
