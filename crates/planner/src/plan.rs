//! The plan itself.

use std::io::{Read, Write};
use std::path::Path;

use bytemuck::cast_slice;
use girih_formats::convert::SlotMap;
use girih_formats::{
    AnyTiling, Buffer, Csr, DType, FormatError, FormatSpec, Scalar, for_any_tiling,
};
use girih_reorder::Permutation;

use crate::error::PlanError;
use crate::explanation;
use crate::explanation::{Explanation, Measurement};
use crate::file::{Attachment, AttachmentError, LoadOptions, PlanFileError};
use crate::fingerprint::Fingerprint;
use crate::new_values::NewValues;
use crate::options::{FormatChoice, PlanOptions};
use crate::ordering::{Placement, Space};
use crate::precision::Precision;
use crate::schedule::ScheduleKind;
use crate::schedule::{Schedule, ScheduleError, TaskSize};

/// A matrix laid out, scheduled and explained: everything a backend needs to multiply.
///
/// Made by a [`Planner`](crate::Planner), or around a tiling of the caller's by
/// [`Plan::from_tiling`]; [saved](Plan::save) to a file and [read](Plan::read) or
/// [mapped](crate::file::LoadOptions::map) back. Cloning shares the arrays.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) tiling: AnyTiling,
    pub(crate) schedule: Schedule,
    pub(crate) options: PlanOptions,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) explanation: Explanation,
    pub(crate) slot_map: Option<SlotMap>,
    pub(crate) placement: Placement,
    pub(crate) attachments: Vec<Attachment>,
}

impl Plan {
    /// A plan around a tiling that the caller chose, with a schedule cut for it and the default
    /// [options](PlanOptions).
    #[must_use]
    pub fn from_tiling(tiling: impl Into<AnyTiling>) -> Self {
        let tiling = tiling.into();
        let options =
            PlanOptions { format: FormatChoice::Fixed(tiling.spec()), ..PlanOptions::default() };
        let reason = format!("{} was built by the caller", tiling.spec());
        Self::unpriced(tiling, options, reason)
    }

    /// A plan that nothing is estimated of, with a schedule cut for the tiling.
    pub(crate) fn unpriced(tiling: AnyTiling, mut options: PlanOptions, reason: String) -> Self {
        // What was fitted is for estimates.
        options.target.fits.clear();
        let size = TaskSize::balanced(&tiling, options.n, options.target.kind);
        let schedule = Schedule::by_size(&tiling, size);
        let explanation = Explanation {
            reason,
            candidates: Vec::new(),
            schedule: explanation::sentence(&schedule, ScheduleKind::Tasks, &options),
            schedules: Vec::new(),
            order: String::new(),
            orderings: Vec::new(),
            measured: None,
        };
        let placement = Placement::default();
        Self {
            tiling,
            schedule,
            options,
            fingerprint: None,
            explanation,
            slot_map: None,
            placement,
            attachments: Vec::new(),
        }
    }

    /// The same plan with a schedule of the caller's, without attachments: O(tasks).
    ///
    /// # Errors
    /// If the schedule was cut for another tiling.
    pub fn with_schedule(mut self, schedule: &Schedule) -> Result<Self, ScheduleError> {
        schedule.check(&self.tiling)?;
        self.schedule = schedule.clone();
        self.attachments.clear();
        self.explanation.schedule =
            format!("{} tasks, cut by the caller", self.schedule.tasks().len());
        Ok(self)
    }

    /// The same plan, whose products in f32 round operands no further than `precision` says. Nothing is
    /// planned anew: a backend that has no such kernel for the format refuses the plan before it multiplies.
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.options.precision = precision;
        self
    }

    /// The same plan for a tiling that holds column `j` of the matrix as column `new(j)` of `cols`:
    /// its products then [permute rows of B](Self::b_permutation). Attachments are dropped.
    ///
    /// # Errors
    /// If `cols` does not permute as many indices as the tiling has columns.
    pub fn with_columns(mut self, cols: Permutation) -> Result<Self, PlanError> {
        let (found, expected) = (cols.len(), self.ncols());
        if found != expected {
            return Err(FormatError::LayoutMismatch { what: "columns", found, expected }.into());
        }
        self.attachments.clear();
        self.placement.cols = Some(cols).filter(|cols| !cols.is_identity());
        Ok(self)
    }

    /// The matrix, laid out.
    #[must_use]
    pub fn tiling(&self) -> &AnyTiling {
        &self.tiling
    }

    /// Who computes which tiles.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The options that the plan was made with.
    #[must_use]
    pub fn options(&self) -> &PlanOptions {
        &self.options
    }

    /// Why the plan is what it is, as text: [`explanation`](Self::explanation) has the numbers.
    #[must_use]
    pub fn explain(&self) -> String {
        self.explanation.to_string()
    }

    /// Why the plan is what it is.
    #[must_use]
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Which matrix the plan was made from; `None` around a tiling of the caller's.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// The map from CSR value slots to tile slots, if the
    /// [options](PlanOptions::keep_slot_map) keep it.
    #[must_use]
    pub fn slot_map(&self) -> Option<&SlotMap> {
        self.slot_map.as_ref()
    }

    /// Puts new values on the old pattern: one parallel scatter, O(nnz), after sorting them as the
    /// tiles hold the matrix if they hold its columns in another order. The plan is then the one that
    /// planning the new matrix would give; [attachments](Self::attachments), which may hold values, are
    /// dropped.
    ///
    /// `a` must have the pattern the plan was made from. A plan of the [transpose](crate::Op) takes the matrix
    /// that was planned.
    ///
    /// # Errors
    /// [`PlanError::NoSlotMap`] if the plan keeps none, [`PlanError::OtherMatrix`] if `a` has
    /// another pattern or value type; the plan is then as it was.
    pub fn refresh_values<T: Scalar>(&mut self, a: &Csr<T>) -> Result<(), PlanError> {
        let Some(map) = &self.slot_map else { return Err(PlanError::NoSlotMap) };
        let a = &self.options.op.apply(a);
        let fingerprint = Fingerprint::of(a);
        let same =
            |f: &Fingerprint| f.dtype == fingerprint.dtype && f.pattern == fingerprint.pattern;
        if !self.fingerprint.as_ref().is_some_and(same) || T::DTYPE != self.dtype() {
            return Err(PlanError::OtherMatrix);
        }
        let held = self.placement.apply(a)?;
        let values = held.values();
        for_any_tiling!(&mut self.tiling, t => {
            // The value types are the same one, which only the compiler does not know.
            t.refresh_values(map, cast_slice(values))
        })?;
        self.fingerprint = Some(fingerprint);
        self.attachments.clear();
        Ok(())
    }

    /// Puts values, in the order of the matrix that was planned, into the tiles by what
    /// [`new_values`](Self::new_values) of this plan gave. The plan then has no
    /// [fingerprint](Self::fingerprint) and no [attachments](Self::attachments).
    ///
    /// # Errors
    /// [`PlanError::OtherMatrix`] if they are of another type, and as [`NewValues::put`]; the plan is then as it
    /// was.
    pub fn put_values<T: Scalar>(
        &mut self,
        order: &mut NewValues,
        values: &[T],
    ) -> Result<(), PlanError> {
        if T::DTYPE != self.dtype() {
            return Err(PlanError::OtherMatrix);
        }
        // The value types are the same one, which only the compiler does not know.
        for_any_tiling!(&mut self.tiling, t => order.put(t, cast_slice(values)))?;
        self.fingerprint = None;
        self.attachments.clear();
        Ok(())
    }

    /// How a backend that has prepared this plan puts new values into its clone of the tiles. O(1), and
    /// O(rows + columns) where the plan moves columns. Needs no slot map, unless tiles hold a matrix with explicit zeros.
    #[must_use]
    pub fn new_values(&self) -> NewValues {
        NewValues::of(self)
    }

    /// The order in which the plan takes rows of B and gives rows of C.
    #[must_use]
    pub fn space(&self) -> Space {
        self.options.space
    }

    /// Where each row of the matrix stands among the rows of the tiles. O(rows).
    #[must_use]
    pub fn row_permutation(&self) -> Permutation {
        match &self.placement.rows {
            Some(rows) => rows.clone(),
            None => Permutation::of_row_layout(self.tiling.layout()),
        }
    }

    /// Which column of the tiles each column of the matrix is; `None` where they are the same.
    #[must_use]
    pub fn col_permutation(&self) -> Option<&Permutation> {
        self.placement.cols.as_ref()
    }

    /// What a backend must do to B: its row `j` is row `new(j)` for the tiles. `None` if nothing,
    /// which is always so in the permuted space.
    #[must_use]
    pub fn b_permutation(&self) -> Option<&Permutation> {
        self.placement.cols.as_ref().filter(|_| self.space() == Space::Caller)
    }

    /// A matrix of the plan's shape as its tiles hold one: with rows and columns moved where they
    /// are in the permuted space, with columns moved where rows of B are permuted. Shares the arrays where
    /// nothing moves. O(nnz · log(longest row)).
    ///
    /// # Errors
    /// If the matrix is of another shape.
    pub fn hold<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>, PlanError> {
        Ok(self.placement.apply(a)?)
    }

    /// What undoes [`hold`](Self::hold): the matrix that tiles hold, in its own order. With
    /// [`Tiling::to_csr`](girih_formats::Tiling::to_csr) it gives back what was planned.
    ///
    /// # Errors
    /// If the matrix is of another shape.
    pub fn release<T: Scalar>(&self, held: &Csr<T>) -> Result<Csr<T>, PlanError> {
        Ok(self.placement.inverse().apply(held)?)
    }

    /// How far products in f32 may round their operands.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.options.precision
    }

    /// The format with its sizes.
    #[must_use]
    pub fn spec(&self) -> FormatSpec {
        self.tiling.spec()
    }

    /// The value type.
    #[must_use]
    pub fn dtype(&self) -> DType {
        self.tiling.dtype()
    }

    /// Number of rows of A and C (m).
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.tiling.nrows()
    }

    /// Number of columns of A and rows of B (k).
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.tiling.ncols()
    }

    /// Entries of A.
    #[must_use]
    pub fn nnz(&self) -> usize {
        self.tiling.nnz()
    }

    /// What backends keep with the plan, in the order in which it was attached.
    #[must_use]
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// The attachment of a backend and a key.
    #[must_use]
    pub fn attachment(&self, backend: &str, key: &str) -> Option<&Attachment> {
        self.attachments.iter().find(|a| a.backend() == backend && a.key() == key)
    }

    /// Keeps a backend's layout with the plan, in the place of one with the same backend and key. It is
    /// saved with the plan and loaded with it.
    ///
    /// # Errors
    /// [`AttachmentError::TooMany`] if there are 16 others.
    pub fn attach(&mut self, attachment: Attachment) -> Result<(), AttachmentError> {
        crate::file::insert_attachment(&mut self.attachments, attachment)
    }

    /// The same plan, chosen by what candidates took on a machine: its explanation says so.
    #[must_use]
    pub fn with_measurement(mut self, measured: Measurement) -> Self {
        self.explanation.reason = measured.reason();
        self.explanation.measured = Some(measured);
        self
    }

    /// The same plan without attachments: it multiplies as before, on any machine.
    #[must_use]
    pub fn without_attachments(mut self) -> Self {
        self.attachments.clear();
        self
    }

    /// Bytes of the tiles' arrays, the row layout included.
    #[must_use]
    pub fn tile_bytes(&self) -> u64 {
        crate::file::tile_bytes(self)
    }

    /// Saves the plan: see [`file`](crate::file) for the format and what a crash may leave behind.
    /// Returns the bytes written.
    ///
    /// # Errors
    /// If the file cannot be written; the target is then as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<u64, PlanFileError> {
        crate::file::save(self, path.as_ref())
    }

    /// Writes the plan file to a stream, array by array. Returns the bytes written.
    ///
    /// # Errors
    /// If the stream fails.
    pub fn write_to(&self, to: impl Write) -> Result<u64, PlanFileError> {
        crate::file::write_to(self, to)
    }

    /// Reads a plan from a file into memory, with the default [`LoadOptions`].
    ///
    /// # Errors
    /// If the file cannot be read or is not a sound plan.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PlanFileError> {
        LoadOptions::default().read(path)
    }

    /// Reads a plan from a stream to its end, with the default [`LoadOptions`].
    ///
    /// # Errors
    /// If the stream fails or does not hold a sound plan.
    pub fn read_from(reader: impl Read) -> Result<Self, PlanFileError> {
        LoadOptions::default().read_from(reader)
    }
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        fn arrays(plan: &Plan) -> Option<(&Buffer<u64>, &Buffer<u64>)> {
            plan.slot_map.as_ref().map(|map| (map.row_ptr(), map.slots()))
        }
        self.tiling == other.tiling
            && self.schedule == other.schedule
            && self.options == other.options
            && self.fingerprint == other.fingerprint
            && self.explanation == other.explanation
            && self.placement == other.placement
            && self.attachments == other.attachments
            && arrays(self) == arrays(other)
    }
}
