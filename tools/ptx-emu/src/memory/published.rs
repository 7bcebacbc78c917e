//! What strong stores tell those who load them.
//!
//! PTX ISA, "Memory Consistency Model: Release and acquire patterns". A release pattern leaves a
//! message at an address; an acquire pattern that reads there learns it, if each thread is within
//! the other's scope (the accesses are morally strong).

use std::collections::HashMap;

use super::clock::Message;

/// The set of threads that a strong access is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// `.cta`.
    Cta,
    /// `.cluster`.
    Cluster,
    /// `.gpu` and `.sys`: one device is all there is here.
    Gpu,
}

#[derive(Debug, Clone)]
struct Published {
    reach: Reach,
    cluster: u32,
    cta: u32,
    message: Message,
}

/// Where a thread is, for scopes: its cluster, and its CTA in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    /// Cluster in the grid.
    pub(crate) cluster: u32,
    /// Rank in the cluster.
    pub(crate) cta: u32,
}

impl Reach {
    fn includes(self, a: Home, b: Home) -> bool {
        match self {
            Self::Cta => a == b,
            Self::Cluster => a.cluster == b.cluster,
            Self::Gpu => true,
        }
    }
}

/// Messages by address.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    by_address: HashMap<u64, Vec<Published>>,
}

impl Messages {
    /// A plain store: earlier messages are gone with the value that carried them.
    pub(crate) fn overwrite(&mut self, address: u64) {
        if !self.by_address.is_empty() {
            self.by_address.remove(&address);
        }
    }

    /// Leaves a message. What is there already stays: see [`Messages::overwrite`].
    pub(crate) fn publish(&mut self, address: u64, reach: Reach, home: Home, message: &Message) {
        let all = self.by_address.entry(address).or_default();
        let same = all.iter_mut().find(|known| {
            known.reach == reach && known.cluster == home.cluster && known.cta == home.cta
        });
        match same {
            Some(known) => known.message.join(message),
            None => all.push(Published {
                reach,
                cluster: home.cluster,
                cta: home.cta,
                message: message.clone(),
            }),
        }
    }

    /// What a thread learns by reading there.
    pub(crate) fn read(&self, address: u64, reach: Reach, home: Home) -> Option<Message> {
        let mut learned: Option<Message> = None;
        for known in self.by_address.get(&address)? {
            let from = Home { cluster: known.cluster, cta: known.cta };
            if known.reach.includes(from, home) && reach.includes(home, from) {
                match &mut learned {
                    Some(learned) => learned.join(&known.message),
                    None => learned = Some(known.message.clone()),
                }
            }
        }
        learned
    }
}
