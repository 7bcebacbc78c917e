//! The values of the rows that a launch writes before a warp starts.
//!
//! PTX ISA, "Special Registers".

use super::Context;
use super::registers::Row;
use crate::memory::{SHARED_START, shared_address};
use crate::program::{Axis, Preset, Reserved};

/// Which warp of a grid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    /// `%ctaid`.
    pub(super) cta: [u32; 3],
    /// `%cluster_ctarank`.
    pub(super) rank: u32,
    /// Warp in the CTA.
    pub(super) warp: u32,
}

/// Coordinates of a linear index, x fastest.
pub(super) fn coordinates(index: u32, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents;
    [index % x, index / x % y, index / x / y]
}

fn on(axis: Axis, values: [u32; 3]) -> u32 {
    match axis {
        Axis::X => values[0],
        Axis::Y => values[1],
        Axis::Z => values[2],
    }
}

/// The row of a preset in one warp.
pub(super) fn row(preset: Preset, context: &Context, seat: Seat) -> Row {
    let by_lane = |value: &dyn Fn(u32) -> u32| std::array::from_fn(|i| u64::from(value(i as u32)));
    match preset {
        Preset::Thread(axis) => {
            by_lane(&|lane| on(axis, coordinates(seat.warp * 32 + lane, context.block)))
        }
        Preset::Lane => by_lane(&|lane| lane),
        Preset::LanesEqual => by_lane(&|lane| 1 << lane),
        Preset::LanesLessEqual => by_lane(&|lane| u32::MAX >> (31 - lane)),
        Preset::LanesLess => by_lane(&|lane| !(u32::MAX << lane)),
        Preset::LanesGreaterEqual => by_lane(&|lane| u32::MAX << lane),
        Preset::LanesGreater => by_lane(&|lane| !(u32::MAX >> (31 - lane))),
        Preset::Shared(offset) => [shared_address(seat.rank, offset); 32],
        Preset::Variable(index) => [context.variables[index as usize]; 32],
        uniform => [u64::from(uniform_value(uniform, context, seat)); 32],
    }
}

/// The value of a preset that all lanes share.
fn uniform_value(preset: Preset, context: &Context, seat: Seat) -> u32 {
    let Seat { cta, rank, warp } = seat;
    let [grid, cluster] = [context.grid, context.cluster];
    match preset {
        Preset::Threads(axis) => on(axis, context.block),
        Preset::Cta(axis) => on(axis, cta),
        Preset::Ctas(axis) => on(axis, grid),
        Preset::Cluster(axis) => on(axis, cta) / on(axis, cluster),
        Preset::Clusters(axis) => on(axis, grid) / on(axis, cluster),
        Preset::CtaInCluster(axis) => on(axis, cta) % on(axis, cluster),
        Preset::CtasInCluster(axis) => on(axis, cluster),
        Preset::ClusterRank => rank,
        Preset::ClusterSize => context.cluster_size(),
        Preset::ExplicitCluster => u32::from(context.explicit_cluster),
        Preset::Warp => warp,
        Preset::Warps => context.warps_per_cta(),
        Preset::Sm => {
            let linear = (cta[2] * grid[1] + cta[1]) * grid[0] + cta[0];
            linear % context.device.multiprocessors
        }
        Preset::Sms => context.device.multiprocessors,
        Preset::DynamicShared => context.dynamic_shared,
        // What a driver gives a cooperative launch: the address of its workspace.
        Preset::Environment(1) => (context.workspace >> 32) as u32,
        Preset::Environment(2) => context.workspace as u32,
        // As an H100 has them, in all CTAs of a cluster.
        Preset::Reserved(Reserved::Begin) => 0,
        Preset::Reserved(Reserved::End) => 0x120,
        Preset::Reserved(Reserved::Capacity) => SHARED_START,
        Preset::TotalShared => context.shared_end(),
        // One grid runs at a time. The others have a value for each lane.
        _ => 0,
    }
}
