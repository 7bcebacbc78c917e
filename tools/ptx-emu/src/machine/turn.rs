//! A warp's turn: instructions until it cannot go on or others are to have theirs.

use super::statistics::Counts;
use super::warp::{Group, State};
use super::{Cluster, Code, Timing, Warp};
use crate::isa::{Flow, Op};
use crate::report::{Problem, Report, Stopped};

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// It could go on.
    Interrupted,
    /// All lanes wait.
    Blocked,
    /// All lanes have exited.
    Finished,
}

impl Cluster {
    /// Executes up to `budget` instructions of a warp.
    pub(super) fn turn(
        &mut self,
        warp: &mut Warp,
        counts: &mut Counts,
        budget: u32,
    ) -> Result<Turn, Box<Report>> {
        let context = std::sync::Arc::clone(&self.context);
        let code = &context.kernel.code[..];
        let eager = context.timing == Timing::Eager;
        let mut left = budget;
        self.look_again(warp);
        while left > 0 {
            warp.merge();
            warp.meet();
            let Some(at) = warp.choose() else {
                return self.stuck(warp);
            };
            // A group runs on until something happens to it, or it comes to where others are.
            let bound = warp.bound(at);
            loop {
                if self.operations.n_unfinished() == 0 {
                    let done = self.compute(warp, (at, bound), code, counts, left);
                    left -= done;
                    if done > 0 && (left == 0 || !warp.goes_on(at, bound)) {
                        break;
                    }
                }
                left -= 1;
                let next = self.step(warp, at, code, counts)?;
                if eager {
                    self.complete_all()?;
                } else if self.operations.n_unfinished() > 0 {
                    self.complete_some()?;
                }
                match next {
                    Next::Same if left > 0 && warp.goes_on(at, bound) => {}
                    Next::Same | Next::Choose => break,
                    Next::Yield => return Ok(Turn::Interrupted),
                    Next::Finished => return Ok(Turn::Finished),
                }
            }
        }
        Ok(Turn::Interrupted)
    }

    /// Lets groups go on whose conditions have come to hold.
    pub(super) fn look_again(&self, warp: &mut Warp) {
        for group in &mut warp.groups {
            if let State::Waiting(condition) = &group.state
                && condition.is_over(self)
            {
                group.state = State::Resumed(condition.clone());
            }
        }
    }

    /// No group can execute: whether one ever could.
    fn stuck(&self, warp: &Warp) -> Result<Turn, Box<Report>> {
        let waits = |group: &Group| matches!(&group.state, State::Waiting(condition) if !condition.is_of_warp());
        if warp.groups.iter().any(waits) {
            return Ok(Turn::Blocked);
        }
        // Lanes that only other lanes of the warp could help.
        let gathering = warp.groups.iter().find_map(|group| match group.state {
            State::Gathering(needed) => Some((group, needed)),
            _ => None,
        });
        let Some((group, needed)) = gathering else {
            return Ok(Turn::Blocked);
        };
        let needed = needed & warp.live;
        let others: Vec<String> = warp
            .groups
            .iter()
            .filter(|other| other.lanes & needed & !group.lanes != 0)
            .map(|other| {
                let location = &self.context.kernel.code[other.pc as usize].location;
                format!(
                    "lanes {:08x} stand at line {}: {}",
                    other.lanes, location.line, location.text
                )
            })
            .collect();
        let problem = Problem::Divergence { here: group.lanes, needed, others: others.join("; ") };
        let lane = Some(group.lanes.trailing_zeros());
        let place = self.place_of(group.pc, warp.rank(), warp.index(), lane);
        Err(Box::new(Report { problem, place }))
    }

    /// Executes instructions of a group, `most` at most, as far as they compute registers from registers
    /// and nothing else can happen in between; how many.
    #[inline]
    fn compute(
        &mut self,
        warp: &mut Warp,
        (at, bound): (usize, u32),
        code: &[Code],
        counts: &mut Counts,
        most: u32,
    ) -> u32 {
        let group = &mut warp.groups[at];
        if group.state != State::Ready {
            return 0;
        }
        let lanes = group.lanes;
        let most = if bound == u32::MAX { most } else { most.min(warp.patience) };
        let start = group.pc;
        let end = bound.min(start.saturating_add(most)).min(code.len() as u32);
        let mut pc = start;
        for instruction in code.get(start as usize..end as usize).unwrap_or_default() {
            let Code { guard, op: Op::Data(compute), fragments: None, .. } = instruction else {
                break;
            };
            let mask = match *guard {
                None => lanes,
                Some((predicate, negated)) => {
                    let holds = warp.registers.predicate(predicate);
                    lanes & if negated { !holds } else { holds }
                }
            };
            if mask != 0 {
                compute(&mut warp.registers, mask);
            }
            counts.add(pc, mask);
            pc += 1;
        }
        let done = pc - start;
        if done != 0 {
            group.pc = pc;
            warp.pc = pc - 1;
            self.steps += u64::from(done);
            warp.steps += u64::from(done);
            warp.patience = warp.patience.saturating_sub(done);
            group.last = warp.steps;
        }
        done
    }

    #[inline]
    fn step(
        &mut self,
        warp: &mut Warp,
        at: usize,
        code: &[Code],
        counts: &mut Counts,
    ) -> Result<Next, Box<Report>> {
        let group = &mut warp.groups[at];
        let pc = group.pc;
        let lanes = group.lanes;
        warp.pc = pc;
        if let State::Resumed(_) = group.state {
            let State::Resumed(condition) = std::mem::replace(&mut group.state, State::Ready)
            else {
                return Ok(Next::Choose);
            };
            warp.resumed = Some(condition);
        }
        let instruction = &code[pc as usize];
        let mask = match instruction.guard {
            None => lanes,
            Some((predicate, negated)) => {
                let holds = warp.registers.predicate(predicate);
                lanes & if negated { !holds } else { holds }
            }
        };
        if mask == 0 {
            warp.groups[at].pc = pc + 1;
            self.count(warp, counts, at, 0);
            return Ok(Next::Same);
        }
        if mask != warp.born && instruction.op.is_aligned() {
            if lanes != warp.live {
                warp.groups[at].state = State::Gathering(warp.live);
                return Ok(Next::Choose);
            }
            let others = if mask == lanes {
                format!("lanes {:08x} have exited without it", warp.exited())
            } else {
                "the predicate is false for the others".to_owned()
            };
            let problem = Problem::Divergence { here: mask, needed: warp.born, others };
            let place = self.place(warp, Some(mask.trailing_zeros()));
            return Err(Box::new(Report { problem, place }));
        }
        if let Some(touched) = &instruction.fragments
            && let Err(problem) = self.touch_fragments(warp, touched)
        {
            return Err(self.report(warp, *problem.of_warp()));
        }
        let flow = instruction.op.execute(warp, self, mask);
        warp.resumed = None;
        self.count(warp, counts, at, mask);
        let flow = flow.map_err(|stop| self.report(warp, *stop))?;
        Ok(match flow {
            Flow::Next => {
                warp.groups[at].pc = pc + 1;
                Next::Same
            }
            Flow::Yield => {
                warp.groups[at].pc = pc + 1;
                if warp.spin.is_in_vain() {
                    // What it waits for may be other lanes of the warp.
                    warp.patience = 0;
                }
                Next::Yield
            }
            Flow::Jump(target) if mask == lanes => {
                warp.groups[at].pc = target;
                Next::Same
            }
            Flow::Jump(target) => {
                warp.part(at, mask, pc + 1, target, State::Ready);
                Next::Choose
            }
            Flow::Scatter(targets) => {
                warp.scatter(at, mask, pc + 1, &targets);
                Next::Choose
            }
            Flow::Wait(condition) => {
                warp.part(at, mask, pc + 1, pc, State::Waiting(condition));
                Next::Choose
            }
            Flow::Gather(needed) => {
                if lanes & needed & warp.live != needed & warp.live {
                    warp.groups[at].state = State::Gathering(needed);
                    return Ok(Next::Choose);
                }
                let others = "the predicate is false for the others".to_owned();
                let problem = Problem::Divergence { here: mask, needed, others };
                let place = self.place(warp, Some(mask.trailing_zeros()));
                return Err(Box::new(Report { problem, place }));
            }
            Flow::Exit => {
                warp.live &= !mask;
                let group = &mut warp.groups[at];
                group.lanes &= !mask;
                group.pc = pc + 1;
                if group.lanes == 0 {
                    warp.groups.swap_remove(at);
                }
                self.exited(warp);
                if warp.groups.is_empty() { Next::Finished } else { Next::Choose }
            }
        })
    }

    #[inline]
    fn count(&mut self, warp: &mut Warp, counts: &mut Counts, at: usize, mask: u32) {
        counts.add(warp.pc, mask);
        self.steps += 1;
        warp.steps += 1;
        warp.patience = warp.patience.saturating_sub(1);
        if let Some(group) = warp.groups.get_mut(at) {
            group.last = warp.steps;
        }
    }

    /// A report about the instruction that a warp is executing.
    pub(super) fn report(&self, warp: &Warp, stop: Stopped) -> Box<Report> {
        let place = self.place(warp, stop.lane);
        Box::new(Report { problem: stop.problem, place })
    }
}

/// What a group does after a step.
enum Next {
    /// It goes on.
    Same,
    /// Another may have to.
    Choose,
    /// Other warps are to have their turn.
    Yield,
    /// The last lanes have exited.
    Finished,
}

impl Warp {
    /// Lanes of a group go to `target`, the others of it to `next`.
    fn part(&mut self, at: usize, lanes: u32, next: u32, target: u32, state: State) {
        let last = self.steps;
        let group = &mut self.groups[at];
        if group.lanes == lanes {
            group.pc = target;
            group.state = state;
            return;
        }
        group.lanes &= !lanes;
        group.pc = next;
        self.groups.push(Group { pc: target, lanes, state, last });
    }

    fn scatter(&mut self, at: usize, lanes: u32, next: u32, targets: &[u32; 32]) {
        let mut left = lanes;
        let group = self.groups.swap_remove(at);
        let others = group.lanes & !lanes;
        let last = group.last;
        if others != 0 {
            self.groups.push(Group { pc: next, lanes: others, state: State::Ready, last });
        }
        while left != 0 {
            let pc = targets[left.trailing_zeros() as usize];
            let same = super::lanes(left)
                .filter(|&lane| targets[lane] == pc)
                .fold(0, |same, lane| same | 1 << lane);
            left &= !same;
            self.groups.push(Group { pc, lanes: same, state: State::Ready, last });
        }
    }
}
