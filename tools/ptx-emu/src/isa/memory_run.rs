//! `ld`, `st`: execution.

use std::sync::Arc;

use super::Flow;
use super::memory::{Memory, Move, What};
use crate::asynch::footprint::Space as Bytes;
use crate::machine::registers::{Row, Slot, Source};
use crate::machine::spin::Digest;
use crate::machine::{Cluster, Warp, lanes};
use crate::memory::{Order, Request, Space, shared_of};
use crate::program::Address;
use crate::report::{AccessKind, Stop};

/// The addresses of a warp's lanes.
#[inline]
pub(super) fn addresses(warp: &Warp, address: &Address) -> Row {
    let mut row = warp.registers.load(address.base);
    if address.offset != 0 {
        for lane in &mut row {
            *lane = lane.wrapping_add_signed(address.offset);
        }
    }
    row
}

/// Whether any lane's access can meet an operation in flight: a first look at all of them together.
#[inline]
pub(super) fn may_be_pending(
    cluster: &Cluster,
    space: Space,
    addresses: &Row,
    mask: u32,
    bytes: u64,
    kind: AccessKind,
) -> bool {
    if cluster.operations.pending().is_empty() {
        return false;
    }
    let touched = lanes(mask).map(|lane| addresses[lane]);
    let (least, most) = touched.fold((u64::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
    let ((cta, start), (last_cta, end)) = match space {
        Space::Local | Space::Param | Space::Const => return false,
        Space::Generic => return true,
        Space::Global => {
            return cluster
                .check_pending(Bytes::Global, kind, least, most.saturating_add(bytes))
                .is_err();
        }
        Space::Shared | Space::SharedCluster => (shared_of(least), shared_of(most)),
    };
    let end = u64::from(end) + bytes;
    cta != last_cta
        || cluster.check_pending(Bytes::Shared(cta), kind, u64::from(start), end).is_err()
}

impl Memory {
    /// Executes it for the lanes in `mask`.
    pub(super) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match self {
            Self::Move(access) => match &access.what {
                What::Load(to) => {
                    access.load(to, warp, cluster, mask)?;
                    if access.strength.is_some() && warp.spin.is_in_vain() {
                        return Ok(Flow::Yield);
                    }
                }
                What::Store(from) => {
                    warp.spin.acted();
                    access.store(from, warp, cluster, mask)?;
                }
            },
            Self::Policy(to) => warp.registers.store(*to, &[0; 32], mask),
            Self::Advice => {}
        }
        Ok(Flow::Next)
    }
}

impl Move {
    fn load(
        &self,
        to: &[Option<(Slot, u32)>],
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<(), Stop> {
        let at = addresses(warp, &self.address);
        let total = u64::from(self.bytes) * to.len() as u64;
        if self.space == Space::Param && matches!(self.address.base, Source::Constant(_)) {
            return self.load_param(to, warp, cluster, (at[0], self.bytes), mask);
        }
        if self.space == Space::Param && self.strength.is_none() {
            // The compiler keeps an address of a parameter in a register.
            let first = at[mask.trailing_zeros() as usize];
            if lanes(mask).all(|lane| at[lane] == first) {
                return self.load_param(to, warp, cluster, (first, total as u32), mask);
            }
        }
        let kind = AccessKind::Read;
        if self.strength.is_none()
            && let Some(rows) = cluster.rows(warp, self.space, &at, mask, total as u32, kind)
            && cluster.admit_rows(warp, &rows, &at, false)
            && cluster.rows_are_initialized(&rows, &at)
        {
            for (i, &to) in to.iter().enumerate() {
                let mut row = cluster.load_rows(&rows, &at, i as u32 * self.bytes, self.bytes);
                self.set(to, &mut row, warp, mask);
            }
            return Ok(());
        }
        let context = Arc::clone(&cluster.context);
        let pending = may_be_pending(cluster, self.space, &at, mask, total, kind);
        let strong = self.strength.is_some();
        let volatile = matches!(self.strength, Some((Order::Volatile, _)));
        let request = Request { bytes: total, kind, strong, volatile, pending };
        let mut rows = vec![[0; 32]; to.len()];
        for lane in lanes(mask) {
            let align = total as u32;
            let target = context
                .resolve(warp.rank(), self.space, at[lane], total, align, kind)
                .map_err(|problem| problem.at(lane as u32))?;
            cluster.admit(warp, lane, &target, request)?;
            cluster.check_initialized(&target, total).map_err(|problem| problem.at(lane as u32))?;
            let mut load = |warp: &Warp, cluster: &Cluster| {
                for (i, row) in rows.iter_mut().enumerate() {
                    let element = target.plus(i as u32 * self.bytes);
                    row[lane] = cluster.load(warp, lane, &element, self.bytes);
                }
            };
            match self.strength {
                None => load(warp, cluster),
                Some(strength) => cluster.in_one_step(&target, |cluster, told| {
                    load(warp, cluster);
                    cluster.learn(warp, lane, &target, strength, told);
                }),
            }
        }
        if self.strength.is_some() {
            let mut found = Digest::default();
            for row in &rows {
                lanes(mask).for_each(|lane| found.add(row[lane]));
            }
            warp.spin.looked(warp.pc(), mask, found);
        }
        for (&to, row) in to.iter().zip(&mut rows) {
            self.set(to, row, warp, mask);
        }
        Ok(())
    }

    /// A parameter is the same for all lanes, and nobody writes it.
    fn load_param(
        &self,
        to: &[Option<(Slot, u32)>],
        warp: &mut Warp,
        cluster: &Cluster,
        (at, align): (u64, u32),
        mask: u32,
    ) -> Result<(), Stop> {
        let lane = mask.trailing_zeros();
        let total = u64::from(self.bytes) * to.len() as u64;
        let target = cluster
            .context
            .resolve(warp.rank(), self.space, at, total, align, AccessKind::Read)
            .map_err(|problem| problem.at(lane))?;
        for (i, &to) in to.iter().enumerate() {
            let element = target.plus(i as u32 * self.bytes);
            let mut row = [cluster.load(warp, 0, &element, self.bytes); 32];
            self.set(to, &mut row, warp, mask);
        }
        Ok(())
    }

    fn set(&self, to: Option<(Slot, u32)>, row: &mut Row, warp: &mut Warp, mask: u32) {
        if let Some((slot, extended)) = to {
            if extended > self.bytes * 8 {
                for value in row.iter_mut() {
                    *value = sign_extend(*value, self.bytes * 8, extended);
                }
            }
            warp.registers.store(slot, row, mask);
        }
    }

    fn store(
        &self,
        from: &[Source],
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<(), Stop> {
        let at = addresses(warp, &self.address);
        let total = u64::from(self.bytes) * from.len() as u64;
        let kind = AccessKind::Write;
        if self.strength.is_none()
            && let Some(rows) = cluster.rows(warp, self.space, &at, mask, total as u32, kind)
            && cluster.admit_rows(warp, &rows, &at, true)
        {
            for (i, &from) in from.iter().enumerate() {
                let row = warp.registers.load(from);
                cluster.store_rows(&rows, &at, i as u32 * self.bytes, self.bytes, &row);
            }
            return Ok(());
        }
        let context = Arc::clone(&cluster.context);
        let pending = may_be_pending(cluster, self.space, &at, mask, total, kind);
        let strong = self.strength.is_some();
        let volatile = matches!(self.strength, Some((Order::Volatile, _)));
        let request = Request { bytes: total, kind, strong, volatile, pending };
        for lane in lanes(mask) {
            let align = total as u32;
            let target = context
                .resolve(warp.rank(), self.space, at[lane], total, align, kind)
                .map_err(|problem| problem.at(lane as u32))?;
            if let Err(stop) = cluster.admit(warp, lane, &target, request) {
                // Lanes of one instruction may store the same value to the same place.
                let same = |other: usize| {
                    at[other] == at[lane]
                        && from.iter().all(|&value| {
                            warp.registers.value(value, other) == warp.registers.value(value, lane)
                        })
                };
                if lanes(mask & ((1 << lane) - 1)).any(same) {
                    continue;
                }
                return Err(stop);
            }
            let store = |warp: &mut Warp, cluster: &mut Cluster| {
                for (i, source) in from.iter().enumerate() {
                    let value = warp.registers.value(*source, lane);
                    let element = target.plus(i as u32 * self.bytes);
                    cluster.store(warp, lane, &element, self.bytes, value);
                }
            };
            match self.strength {
                None => store(warp, cluster),
                Some(strength) => cluster.in_one_step(&target, |cluster, told| {
                    cluster.tell(warp, lane, &target, strength, true, told);
                    store(warp, cluster);
                }),
            }
        }
        Ok(())
    }
}

/// The low `bits` bits as a signed number of `to` bits.
fn sign_extend(value: u64, bits: u32, to: u32) -> u64 {
    let wide = (value << (64 - bits)) as i64 >> (64 - bits);
    wide as u64 & u64::MAX >> (64 - to)
}
