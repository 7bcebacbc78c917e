//! Which panels of B are packed, and how wide they are.
//!
//! Each kind of kernel has its own rule: [`for_rows`] and [`for_slabs`] for CSR, [`for_decoded`] for BMat and
//! 2:4,
//! [`for_strips`] for dense tiles. A rule gives a [`PanelConfig`] and the reason for it, or the reason
//! against it.

mod b_rows;
mod config;
mod csr_rows;
mod decoded;
mod slabs;
mod strips;

use super::{Construct, Decision};
pub(crate) use config::{PanelCols, PanelConfig};
pub(super) use csr_rows::for_rows;
pub(super) use decoded::for_decoded;
pub(super) use slabs::for_slabs;
pub(super) use strips::for_strips;

/// Panels with the reason for them, or the reason against packing.
pub(super) type PackingResult = Result<(PanelConfig, String), String>;

/// The decision on panels, once `matrix` has allocated scratch for them.
pub(super) fn allocate(
    panels: PackingResult,
    matrix: &mut impl Construct,
) -> Decision<Option<PanelConfig>> {
    match panels {
        Ok((panels, why)) if matrix.allocate_panels(&panels) => Decision::new(Some(panels), why),
        Ok((panels, _)) => {
            let why = format!("there is no memory for panels of {} bytes", panels.bytes());
            Decision::new(None, why)
        }
        Err(why) => Decision::new(None, why),
    }
}
