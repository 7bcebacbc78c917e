//! New values for the tiles of a plan that was prepared.

use bytemuck::{cast_slice_mut, zeroed_vec};
use girih_formats::convert::{SlotMap, ValuePlaces};
use girih_formats::{FormatError, Scalar, Tiling};
use girih_parallel::prelude::*;

use crate::error::PlanError;
use crate::options::Op;
use crate::ordering::Placement;
use crate::plan::Plan;

/// The fewest values that one task moves.
const TASK_VALUES: usize = 1 << 14;

/// How values in the order of the matrix that was planned get into a plan's tiles: made by
/// [`Plan::new_values`] for backends whose prepared plans take new values.
///
/// Nothing is computed before the first [`put`](Self::put).
#[derive(Clone, Debug)]
pub struct NewValues {
    slot_map: Option<SlotMap>,
    placement: Placement,
    op: Op,
    found: Option<KnownPlaces>,
}

/// What the first values need, and later ones too.
#[derive(Clone, Debug)]
struct KnownPlaces {
    places: ValuePlaces,
    /// Where each value that the tiles hold stands among those given; `None` if in the same order.
    order: Option<Vec<u64>>,
    /// Space to sort values in, of any value type.
    sorted: Vec<u64>,
}

impl NewValues {
    pub(crate) fn of(plan: &Plan) -> Self {
        let (slot_map, placement) = (plan.slot_map.clone(), plan.placement.clone());
        Self { slot_map, placement, op: plan.options.op, found: None }
    }

    /// Replaces the values of the plan's tiling, or of a clone of it that differs in values alone.
    ///
    /// One parallel pass over the values. The first call also finds out where they go: O(1) for CSR with
    /// rows in their own order, O(elements stored) otherwise, and O(nnz · log(longest row)) where the
    /// plan moves columns or is one of the transpose. Later calls allocate nothing besides what
    /// [`Tiling::put_values`] does.
    ///
    /// # Errors
    /// [`PlanError::Format`] as [`Tiling::put_values`] and [`Tiling::value_places`] say; the tiling is then
    /// as it was.
    pub fn put<T: Scalar>(
        &mut self,
        tiling: &mut Tiling<T>,
        values: &[T],
    ) -> Result<(), PlanError> {
        let (found, expected) = (values.len(), tiling.nnz());
        if found != expected {
            return Err(FormatError::Length { what: "values", found, expected }.into());
        }
        let found = match &mut self.found {
            Some(found) => found,
            missing => {
                let places = match &self.slot_map {
                    Some(map) => map.clone().into(),
                    None => tiling.value_places()?,
                };
                let order = order(&self.placement, self.op, tiling)?;
                missing.insert(KnownPlaces { places, order, sorted: Vec::new() })
            }
        };
        let Some(order) = &found.order else {
            return Ok(tiling.put_values(&found.places, values)?);
        };
        if found.sorted.is_empty() {
            found.sorted = zeroed_vec(size_of_val(values).div_ceil(size_of::<u64>()));
        }
        let sorted = &mut cast_slice_mut::<u64, T>(&mut found.sorted)[..values.len()];
        sorted
            .par_iter_mut()
            .with_min_len(TASK_VALUES)
            .zip(order)
            .for_each(|(to, &at)| *to = values[at as usize]);
        Ok(tiling.put_values(&found.places, sorted)?)
    }
}

/// Where each entry that a tiling holds stands in the matrix that was planned.
fn order<T: Scalar>(
    placement: &Placement,
    op: Op,
    tiling: &Tiling<T>,
) -> Result<Option<Vec<u64>>, PlanError> {
    if *placement == Placement::default() && op == Op::None {
        return Ok(None);
    }
    let held = tiling.to_csr();
    let (found, expected) = (held.nnz(), tiling.nnz());
    if found != expected {
        return Err(FormatError::LostZeros { found, expected }.into());
    }
    // The matrix that was planned, with the place of each entry in the tiles' as its value. An f64 numbers
    // more entries than memory holds.
    let numbers = (0..found).map(|at| at as f64).collect::<Vec<f64>>();
    let mut planned = placement.inverse().apply(&held.with_values(numbers)?)?;
    if op == Op::Transpose {
        planned = planned.transpose();
    }
    let mut order = vec![0; found];
    for (at, &place) in (0..).zip(&planned.values()[..]) {
        order[place as usize] = at;
    }
    Ok(Some(order))
}
