//! Running a cluster: whose turn it is, and what happens when nobody can go on.

use std::sync::Arc;

use super::random::Random;
use super::statistics::Counts;
use super::turn::Turn;
use super::warp::State;
use super::{Cluster, Context, Schedule, Warp};
use crate::report::{Problem, Report, Waiting};

/// Instructions of a turn in a fixed schedule.
const FIXED_TURN: u32 = 2000;
/// The most instructions of a turn in a random schedule.
const RANDOM_TURN: u32 = 48;
/// How often everybody may wait, and some only for a time, before that is a deadlock.
const STALLS: u32 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Able {
    Ready,
    Blocked,
    Finished,
}

/// A cluster and its warps while they run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) cluster: Cluster,
    warps: Vec<Warp>,
    able: Vec<Able>,
    random: Option<Random>,
    next: usize,
    /// Turns in a row of warps that only look for news.
    looks: usize,
    /// Times that everybody waited, since something last changed.
    stalls: u32,
}

impl Run {
    pub(super) fn new(context: &Arc<Context>, id: u32) -> Self {
        let (cluster, warps) = Cluster::new(context, id);
        let random = match context.schedule {
            Schedule::Fixed => None,
            Schedule::Random(seed) => Some(Random::new(seed, u64::from(id))),
        };
        Self {
            cluster,
            able: vec![Able::Ready; warps.len()],
            warps,
            random,
            next: 0,
            looks: 0,
            stalls: 0,
        }
    }

    /// Runs until the cluster is finished, has executed `slice` more instructions, or only looks for what
    /// other clusters may do; whether it is finished. What it executes is counted.
    pub(super) fn slice(&mut self, slice: u64, counts: &mut Counts) -> Result<bool, Box<Report>> {
        let limit = self.cluster.context.step_limit;
        let end = self.cluster.steps.saturating_add(slice).min(limit);
        loop {
            if self.cluster.take_changed() {
                self.look_again();
                self.stalls = 0;
            }
            let Some(at) = self.next_warp() else {
                if self.able.iter().all(|&able| able == Able::Finished) {
                    self.cluster.at_exit()?;
                    return Ok(true);
                }
                if self.cluster.complete_oldest()? || self.time_out() {
                    continue;
                }
                return Err(self.deadlock());
            };
            if self.cluster.steps >= end {
                if end < limit {
                    return Ok(false);
                }
                let place = self.cluster.place(&self.warps[at], None);
                return Err(Box::new(Report { problem: Problem::StepLimit { limit }, place }));
            }
            let left = u32::try_from(end - self.cluster.steps).unwrap_or(u32::MAX);
            let budget = match &mut self.random {
                None => FIXED_TURN,
                Some(random) => 1 + random.below(RANDOM_TURN),
            };
            let warp = &mut self.warps[at];
            let turn = self.cluster.turn(warp, counts, budget.min(left))?;
            self.able[at] = match turn {
                Turn::Interrupted => Able::Ready,
                Turn::Blocked => Able::Blocked,
                Turn::Finished => {
                    self.cluster.warp_exited(warp)?;
                    Able::Finished
                }
            };
            let looks = turn == Turn::Interrupted && warp.spin.is_in_vain();
            self.looks = if looks { self.looks + 1 } else { 0 };
            if looks && self.all_look() {
                self.looks = 0;
                if self.cluster.context.n_clusters() > 1 {
                    return Ok(false);
                }
                self.cluster.complete_oldest()?;
            }
        }
    }

    /// Keeps the memory of a cluster that is finished for others.
    pub(super) fn finish(self) {
        self.cluster.ctas.into_iter().for_each(|cta| cta.shared.finish());
        self.warps.into_iter().for_each(|warp| warp.registers.finish());
    }

    /// Whether all warps that could go on have had two turns that were spent in looking for news.
    fn all_look(&self) -> bool {
        self.looks > 2 * self.able.iter().filter(|&&able| able == Able::Ready).count()
    }

    /// The warp whose turn it is.
    fn next_warp(&mut self) -> Option<usize> {
        let n = self.warps.len();
        let first = match &mut self.random {
            None => self.next,
            Some(random) => random.below(n as u32) as usize,
        };
        let at = (first..n).chain(0..first).find(|&at| self.able[at] == Able::Ready)?;
        self.next = (at + 1) % n;
        Some(at)
    }

    fn look_again(&mut self) {
        for (warp, able) in self.warps.iter_mut().zip(&mut self.able) {
            if *able == Able::Blocked {
                self.cluster.look_again(warp);
                if warp.groups.iter().any(|group| matches!(group.state, State::Resumed(_))) {
                    *able = Able::Ready;
                }
            }
        }
    }

    /// Ends what waits only for a time, unless that has changed nothing many times over; whether
    /// somebody can go on.
    fn time_out(&mut self) -> bool {
        self.stalls += 1;
        if self.stalls > STALLS {
            return false;
        }
        let mut any = false;
        for (warp, able) in self.warps.iter_mut().zip(&mut self.able) {
            for group in &mut warp.groups {
                if let State::Waiting(condition) = &group.state
                    && condition.times_out()
                {
                    group.state = State::Resumed(condition.clone());
                    *able = Able::Ready;
                    any = true;
                }
            }
        }
        any
    }

    fn deadlock(&self) -> Box<Report> {
        let mut waiting = Vec::new();
        for warp in &self.warps {
            for group in &warp.groups {
                let what = match &group.state {
                    State::Waiting(condition) => condition.describe(&self.cluster),
                    State::Gathering(needed) => {
                        format!("lanes {:08x} to come here", needed & warp.live & !group.lanes)
                    }
                    State::Ready | State::Resumed(_) => continue,
                };
                let place = self.cluster.place_of(group.pc, warp.rank(), warp.index(), None);
                waiting.push(Waiting { place, lanes: group.lanes, what });
            }
        }
        let place = match waiting.first() {
            Some(first) => first.place.clone(),
            None => self.cluster.place(&self.warps[0], None),
        };
        Box::new(Report { problem: Problem::Deadlock { waiting }, place })
    }
}
