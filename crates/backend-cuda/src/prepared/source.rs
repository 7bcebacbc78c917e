//! Where a prepared plan takes new values from.

use girih_backend::{Aggregation, BackendError, DenseView, Unsupported, put_values_into_plan};
use girih_formats::DType;
use girih_planner::{NewValues, Plan};

use super::{Multiplier, device_plan};
use crate::kernels::supported::{takes_aggregation, takes_output};
use crate::launch::{DevicePlan, Machine};

/// A clone of the plan, which shares its arrays, and what its device plan is made by.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    plan: Plan,
    order: NewValues,
    machine: Machine,
    multiplier: Multiplier,
}

impl Source {
    pub(crate) fn new(plan: &Plan, machine: Machine, multiplier: Multiplier) -> Self {
        let order = plan.new_values();
        Self { plan: plan.clone(), order, machine, multiplier }
    }

    /// Entries of the matrix.
    pub(crate) fn nnz(&self) -> usize {
        self.plan.nnz()
    }

    /// The type of values.
    pub(crate) fn dtype(&self) -> DType {
        self.plan.dtype()
    }

    /// Whether the plan's kernels compute an aggregation.
    pub(crate) fn takes_aggregation(&self, aggregation: Aggregation) -> Result<(), Unsupported> {
        takes_aggregation(&self.plan, aggregation)
    }

    /// Whether the plan's kernels write a C of this type.
    pub(crate) fn takes_output(&self, dtype: DType) -> Result<(), Unsupported> {
        takes_output(&self.plan, dtype)
    }

    /// The device plan with new values: all parts but those of its [values](DevicePlan::values) are as before, since they
    /// follow from the pattern alone. O(nnz) and a pass over the tiles; the first call takes a copy of the
    /// values, which the plan shared until then.
    pub(crate) fn renewed(
        &mut self,
        backend: &str,
        values: DenseView<'_>,
    ) -> Result<DevicePlan, BackendError> {
        put_values_into_plan(backend, &mut self.order, &mut self.plan, values)?;
        Ok(device_plan(&self.plan, self.machine, self.multiplier))
    }
}
