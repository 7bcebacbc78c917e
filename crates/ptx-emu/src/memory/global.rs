//! Global memory: allocations, each on its own, with guard gaps between.

use std::sync::atomic::{AtomicU32, Ordering};

use super::GLOBAL_BASE;

/// One allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    name: String,
    base: u64,
    bytes: u64,
    words: Vec<AtomicU32>,
}

impl Allocation {
    /// What it is called in reports.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its address.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Up to 8 bytes at an offset that is a multiple of their number, a power of two.
    pub(crate) fn load(&self, offset: u64, bytes: u32) -> u64 {
        let word = |at: u64| u64::from(self.words[at as usize].load(Ordering::Relaxed));
        let at = offset / 4;
        match bytes {
            8 => word(at) | word(at + 1) << 32,
            4 => word(at),
            _ => word(at) >> (offset % 4 * 8) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Stores up to 8 bytes at an offset that is a multiple of their number, a power of two.
    pub(crate) fn store(&self, offset: u64, bytes: u32, value: u64) {
        let word = |at: u64| &self.words[at as usize];
        let at = offset / 4;
        match bytes {
            8 => {
                word(at).store(value as u32, Ordering::Relaxed);
                word(at + 1).store((value >> 32) as u32, Ordering::Relaxed);
            }
            4 => word(at).store(value as u32, Ordering::Relaxed),
            _ => {
                let shift = offset % 4 * 8;
                let keep = !((((1u64 << (8 * bytes)) - 1) << shift) as u32);
                let new = (value << shift) as u32 & !keep;
                let _ = word(at).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
                    Some(old & keep | new)
                });
            }
        }
    }

    /// Replaces a word by a function of it, atomically; returns the old one.
    pub(crate) fn update(&self, offset: u64, change: impl FnMut(u32) -> u32) -> u32 {
        let word = &self.words[(offset / 4) as usize];
        let mut change = change;
        match word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(change(old))) {
            Ok(old) | Err(old) => old,
        }
    }
}

/// All allocations.
#[derive(Debug, Default)]
pub(crate) struct Global {
    /// By address.
    allocations: Vec<Allocation>,
    next: u64,
}

/// Unused addresses after each allocation.
const GUARD: u64 = 1 << 20;

impl Global {
    /// Adds an allocation of uninitialized bytes; its index.
    pub(crate) fn allocate(&mut self, name: String, bytes: u64) -> usize {
        let base = GLOBAL_BASE + self.next;
        self.next = (self.next + bytes + GUARD).next_multiple_of(GUARD);
        let words = (0..bytes.div_ceil(4)).map(|_| AtomicU32::new(u32::MAX)).collect();
        self.allocations.push(Allocation { name, base, bytes, words });
        self.allocations.len() - 1
    }

    /// An allocation by index.
    pub(crate) fn allocation(&self, index: usize) -> &Allocation {
        &self.allocations[index]
    }

    /// The allocation that an address is in.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        let after = self.allocations.partition_point(|allocation| allocation.base <= address);
        let index = after.checked_sub(1)?;
        let allocation = &self.allocations[index];
        (address - allocation.base < allocation.bytes).then_some(index)
    }
}
