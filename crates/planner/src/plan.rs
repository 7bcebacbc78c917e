//! The plan itself.

use girih_formats::AnyTiling;

use crate::Schedule;

/// A matrix laid out, scheduled and explained: everything a backend needs to multiply.
#[derive(Clone, Debug)]
pub struct Plan {
    tiling: AnyTiling,
    schedule: Schedule,
}

impl Plan {
    /// A plan around a tiling that the caller chose, with a schedule cut for it.
    #[must_use]
    pub fn from_tiling(tiling: impl Into<AnyTiling>) -> Self {
        let tiling = tiling.into();
        let schedule = Schedule::by_tiles(&tiling, 4096);
        Self { tiling, schedule }
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
}
