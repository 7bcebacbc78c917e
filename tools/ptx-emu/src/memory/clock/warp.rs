//! What the threads of a warp know.

use std::sync::Arc;

use super::epoch::LAST;
use super::{Clock, Epoch, Message};
use crate::memory::published::Reach;

/// Lanes that know the same.
#[derive(Debug, Clone)]
pub(in crate::memory) struct View {
    lanes: u32,
    message: Message,
}

impl View {
    /// Which.
    #[inline]
    pub(in crate::memory) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// What happened before their next access.
    #[inline]
    pub(in crate::memory) fn seen(&self) -> &Clock {
        &self.message.seen
    }
}

/// What lanes knew, and their count, at their last memory fence, and whom it was meant for.
#[derive(Debug, Clone)]
struct Fenced {
    view: View,
    count: u32,
    reach: Reach,
}

/// The clocks of a warp's threads.
#[derive(Debug, Clone)]
pub(crate) struct WarpClock {
    cluster: u32,
    warp: u32,
    count: u32,
    /// Every lane is in one.
    views: Vec<View>,
    fenced: Vec<Fenced>,
    /// What lanes read with relaxed strong loads, which a fence makes known.
    observed: Vec<View>,
    /// Lanes that do not exist: told of with any other, so that a warp that is not full is still
    /// known as a whole.
    missing: u32,
}

impl WarpClock {
    /// The clock at the start of warp number `warp` of a cluster, of which `existing` lanes exist.
    pub(crate) fn new(cluster: u32, warp: u32, existing: u32) -> Self {
        let views = vec![View { lanes: u32::MAX, message: Message::new(cluster) }];
        let (fenced, observed) = (Vec::new(), Vec::new());
        Self { cluster, warp, count: 1, views, fenced, observed, missing: !existing }
    }

    /// Its cluster.
    pub(crate) fn cluster(&self) -> u32 {
        self.cluster
    }

    /// The epoch of an access that a lane makes now.
    pub(crate) fn epoch(&self, lane: u32) -> Epoch {
        Epoch::new(self.cluster, self.warp, lane, self.count)
    }

    /// What lanes know, by those that know the same.
    pub(in crate::memory) fn views(&self) -> &[View] {
        &self.views
    }

    fn view(&self, lane: u32) -> &Message {
        let view = self.views.iter().find(|view| view.lanes >> lane & 1 == 1);
        &view.unwrap_or(&self.views[0]).message
    }

    /// What happened before a lane's next access.
    pub(crate) fn seen(&self, lane: u32) -> &Clock {
        &self.view(lane).seen
    }

    /// The ordinary writes that the async proxy sees if this lane issues an operation now. Unlike
    /// [`WarpClock::seen`] it does not take for granted the lane's own.
    pub(crate) fn proxied(&self, lane: u32) -> &Clock {
        &self.view(lane).proxied
    }

    /// Adds to a message what these lanes did and know. Accesses after it are not part of it.
    pub(crate) fn release(&mut self, lanes: u32, message: &mut Message) {
        for view in self.views.iter().filter(|view| view.lanes & lanes != 0) {
            message.join(&view.message);
        }
        let told = lanes | self.missing;
        let seen = Arc::make_mut(&mut message.seen);
        seen.raise(self.cluster, self.warp, told, self.count);
        self.advance();
    }

    fn advance(&mut self) {
        self.count = (self.count + 1).min(LAST);
    }

    /// Makes what a message tells known to these lanes.
    pub(crate) fn acquire(&mut self, lanes: u32, message: &Message) {
        self.change(lanes, |known| known.join(message));
    }

    /// Makes known to these lanes that an asynchronous operation has completed.
    pub(crate) fn completed(&mut self, lanes: u32, epoch: Epoch) {
        self.change(lanes, |known| known.completed(epoch));
    }

    /// `fence.proxy.async`: the async proxy sees what these lanes did and know.
    pub(crate) fn fence_proxy_async(&mut self, lanes: u32) {
        let (cluster, warp, count) = (self.cluster, self.warp, self.count);
        self.change(lanes, |known| {
            let mut proxied = Clock::clone(&known.proxied);
            proxied.join(&known.seen);
            proxied.raise(cluster, warp, lanes, count);
            known.proxied = Arc::new(proxied);
        });
        self.advance();
    }

    /// A memory fence: these lanes learn what they observed, and what they know now is what their
    /// later relaxed strong stores tell.
    pub(crate) fn fence(&mut self, lanes: u32, reach: Reach) {
        for view in std::mem::take(&mut self.observed) {
            let [now, later] = [view.lanes & lanes, view.lanes & !lanes];
            if now != 0 {
                self.acquire(now, &view.message);
            }
            if later != 0 {
                self.observed.push(View { lanes: later, ..view });
            }
        }
        self.fenced.retain_mut(|fenced| {
            fenced.view.lanes &= !lanes;
            fenced.view.lanes != 0
        });
        for view in self.views.iter().filter(|view| view.lanes & lanes != 0) {
            let view = View { lanes: view.lanes & lanes, message: view.message.clone() };
            self.fenced.push(Fenced { view, count: self.count, reach });
        }
        self.advance();
    }

    /// What a relaxed strong store of a lane tells: what the lane did and knew before its last
    /// fence, and whom that was meant for.
    pub(crate) fn told(&self, lane: u32) -> Option<(Message, Reach)> {
        let fenced = self.fenced.iter().find(|fenced| fenced.view.lanes >> lane & 1 == 1);
        fenced.map(|Fenced { view, count, reach }| {
            let mut message = view.message.clone();
            Arc::make_mut(&mut message.seen).raise(self.cluster, self.warp, 1 << lane, *count);
            (message, *reach)
        })
    }

    /// Adds to a message what these lanes did and knew before their last fence.
    pub(crate) fn tell(&self, lanes: u32, message: &mut Message) {
        for Fenced { view, count, .. } in &self.fenced {
            if view.lanes & lanes != 0 {
                message.join(&view.message);
                let told = view.lanes & lanes;
                Arc::make_mut(&mut message.seen).raise(self.cluster, self.warp, told, *count);
            }
        }
    }

    /// A relaxed strong load of a lane found a message: the next fence makes it known.
    pub(crate) fn observe(&mut self, lane: u32, message: Message) {
        self.observed.push(View { lanes: 1 << lane, message });
    }

    /// Changes what these lanes know, once for all that know the same.
    fn change(&mut self, lanes: u32, change: impl Fn(&mut Message)) {
        // Lanes that do not exist go along with any.
        let lanes = lanes | self.missing;
        if let [view] = &mut self.views[..]
            && view.lanes & !lanes == 0
        {
            return change(&mut view.message);
        }
        let mut views: Vec<View> = Vec::with_capacity(self.views.len() + 1);
        let mut add = |lanes: u32, message: Message| {
            let same = views.iter_mut().find(|view| {
                Arc::ptr_eq(&view.message.seen, &message.seen)
                    && Arc::ptr_eq(&view.message.proxied, &message.proxied)
            });
            match same {
                Some(view) => view.lanes |= lanes,
                None => views.push(View { lanes, message }),
            }
        };
        for mut view in std::mem::take(&mut self.views) {
            let [changed, kept] = [view.lanes & lanes, view.lanes & !lanes];
            if kept != 0 {
                add(kept, view.message.clone());
            }
            if changed != 0 {
                change(&mut view.message);
                add(changed, view.message);
            }
        }
        self.views = views;
    }
}
