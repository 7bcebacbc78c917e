//! An allocation of global memory: its bytes, which of them are initialized, and who accessed them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::{Clock, WarpClock};
use super::known::Known;
use super::pages;
use super::rows::Rows;
use super::shadow::{Access, Actor, FOREIGN_READERS, PAGE, Page, Unordered};
use super::shared::pieces;
use crate::machine::registers::Row;

/// Pages of shadow under one lock.
const LOCKED: usize = 4;

type Pages = [Option<Box<Page>>; LOCKED];

/// Pages under the lock that was taken last: never two locks at a time.
#[derive(Default)]
struct Held<'a>(Option<(usize, MutexGuard<'a, Pages>)>);

impl<'a> Held<'a> {
    /// A page of an allocation's shadow, which is there afterwards.
    #[inline]
    fn page(&mut self, shadow: &'a [Mutex<Pages>], page: usize) -> &mut Page {
        let at = page / LOCKED;
        if self.0.as_ref().is_none_or(|&(held, _)| held != at) {
            self.0 = None;
        }
        let (_, pages) = self
            .0
            .get_or_insert_with(|| (at, shadow[at].lock().unwrap_or_else(PoisonError::into_inner)));
        pages[page % LOCKED].get_or_insert_with(|| pages::take(FOREIGN_READERS))
    }
}

/// One allocation. Bounds are the caller's affair.
#[derive(Debug)]
pub(crate) struct Allocation {
    name: String,
    base: u64,
    bytes: u64,
    writable: bool,
    words: Vec<AtomicU32>,
    /// A bit a byte.
    initialized: Vec<AtomicU64>,
    shadow: Vec<Mutex<Pages>>,
}

impl Allocation {
    pub(super) fn new(name: String, base: u64, bytes: u64) -> Self {
        let zeroes = |n: u64| (0..n).map(|_| AtomicU64::new(0)).collect();
        let locks = (bytes as usize).div_ceil(PAGE * LOCKED);
        Self {
            name,
            base,
            bytes,
            writable: true,
            words: (0..bytes.div_ceil(4)).map(|_| AtomicU32::new(u32::MAX)).collect(),
            initialized: zeroes(bytes.div_ceil(64)),
            shadow: (0..locks).map(|_| Mutex::default()).collect(),
        }
    }

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

    /// From now on kernels may only read it.
    pub(super) fn make_constant(&mut self) {
        self.writable = false;
    }

    /// Whether kernels may write it.
    pub(crate) fn is_writable(&self) -> bool {
        self.writable
    }

    /// Up to 8 bytes at an offset that is a multiple of their number, a power of two.
    #[inline]
    pub(crate) fn load(&self, offset: u64, bytes: u32) -> u64 {
        let word = |at: u64| u64::from(self.words[at as usize].load(Ordering::Relaxed));
        let at = offset / 4;
        match bytes {
            8 => word(at) | word(at + 1) << 32,
            4 => word(at),
            _ => word(at) >> (offset % 4 * 8) & ((1 << (8 * bytes)) - 1),
        }
    }

    /// Stores up to 8 bytes at an offset that is a multiple of their number, a power of two. They
    /// become initialized.
    #[inline]
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
                let mask = (((1u64 << (8 * bytes)) - 1) << shift) as u32;
                let new = (value << shift) as u32 & mask;
                self.update(offset, |old| old & !mask | new);
            }
        }
        self.initialize(offset, u64::from(bytes));
    }

    /// Loads words, each `from` bytes into its part of `stride` bytes of what follows `offset`.
    #[inline]
    pub(super) fn load_words(&self, offset: u64, stride: u32, from: u32, values: &mut Row) {
        let (stride, from) = (stride as usize / 4, from as usize / 4);
        let all = &self.words[offset as usize / 4..][..32 * stride];
        for (value, own) in values.iter_mut().zip(all.chunks_exact(stride)) {
            *value = u64::from(own[from].load(Ordering::Relaxed));
        }
    }

    /// Stores words likewise. That they are initialized is the caller's affair.
    #[inline]
    pub(super) fn store_words(&self, offset: u64, stride: u32, from: u32, values: &Row) {
        let (stride, from) = (stride as usize / 4, from as usize / 4);
        let all = &self.words[offset as usize / 4..][..32 * stride];
        for (own, &value) in all.chunks_exact(stride).zip(values) {
            own[from].store(value as u32, Ordering::Relaxed);
        }
    }

    /// Replaces a word by a function of it, atomically; returns the old one.
    pub(crate) fn update(&self, offset: u64, mut change: impl FnMut(u32) -> u32) -> u32 {
        let word = &self.words[(offset / 4) as usize];
        let mut old = word.load(Ordering::Relaxed);
        loop {
            let new = change(old);
            match word.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return old,
                Err(found) => old = found,
            }
        }
    }

    /// Replaces an element of 2, 4 or 8 bytes by a function of it; returns the old one. All changes
    /// made this way are atomic among themselves.
    pub(crate) fn modify(&self, offset: u64, bytes: u32, change: impl Fn(u64) -> u64) -> u64 {
        self.initialize(offset, u64::from(bytes));
        match bytes {
            8 => self.with_page(offset as usize / PAGE, |_| {
                let old = self.load(offset, 8);
                self.store(offset, 8, change(old));
                old
            }),
            4 => u64::from(self.update(offset, |old| change(u64::from(old)) as u32)),
            _ => {
                let shift = offset % 4 * 8;
                let part = |word: u32| u64::from(word) >> shift & 0xFFFF;
                let word = self.update(offset, |old| {
                    let new = (change(part(old)) & 0xFFFF) << shift;
                    old & !(0xFFFF << shift) | new as u32
                });
                part(word)
            }
        }
    }

    /// Replaces 2, 4 or 8 bytes by a function of them, atomically; the old ones.
    pub(crate) fn change(&self, offset: u64, bytes: u32, change: impl Fn(u64) -> u64) -> u64 {
        if bytes == 8 {
            // Two words: whoever changes both holds the lock of their shadow.
            let page = offset as usize / PAGE;
            return self.with_page(page, |_| {
                let old = self.load(offset, 8);
                self.store(offset, 8, change(old));
                old
            });
        }
        let shift = offset % 4 * 8;
        let mask = ((1u64 << (8 * bytes)) - 1) as u32;
        let old = self.update(offset, |old| {
            let new = change(u64::from(old >> shift & mask)) as u32 & mask;
            old & !(mask << shift) | new << shift
        });
        u64::from(old >> shift & mask)
    }

    /// Reads bytes, whether initialized or not.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) {
        let word = |at: u64| self.words[(at / 4) as usize].load(Ordering::Relaxed).to_le_bytes();
        let (mut at, mut left) = (offset, into);
        while !left.is_empty() {
            let start = (at % 4) as usize;
            let bytes = left.len().min(4 - start);
            let (now, later) = left.split_at_mut(bytes);
            now.copy_from_slice(&word(at)[start..start + bytes]);
            at += bytes as u64;
            left = later;
        }
    }

    /// Stores bytes, which become initialized.
    pub(crate) fn write(&self, offset: u64, from: &[u8]) {
        let mut at = offset;
        let mut left = from;
        while !left.is_empty() {
            let bytes = if at.is_multiple_of(4) && left.len() >= 4 { 4 } else { 1 };
            let mut value = [0; 8];
            value[..bytes].copy_from_slice(&left[..bytes]);
            let value = u64::from_le_bytes(value);
            if bytes == 4 {
                self.words[(at / 4) as usize].store(value as u32, Ordering::Relaxed);
            } else {
                self.store(at, 1, value);
            }
            left = &left[bytes..];
            at += bytes as u64;
        }
        self.initialize(offset, from.len() as u64);
    }

    /// Marks bytes as initialized.
    #[inline]
    pub(crate) fn initialize(&self, offset: u64, bytes: u64) {
        for (word, bits) in words(offset, bytes) {
            let word = &self.initialized[word];
            if word.load(Ordering::Relaxed) & bits != bits {
                word.fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    /// Whether all of the bytes were written.
    #[inline]
    pub(crate) fn is_initialized(&self, offset: u64, bytes: u64) -> bool {
        let at = offset % 64;
        if at + bytes <= 64 && bytes != 0 {
            let bits = (u64::MAX >> (64 - bytes)) << at;
            let word = &self.initialized[(offset / 64) as usize];
            return word.load(Ordering::Relaxed) & bits == bits;
        }
        words(offset, bytes)
            .all(|(word, bits)| self.initialized[word].load(Ordering::Relaxed) & bits == bits)
    }

    fn with_page<T>(&self, page: usize, act: impl FnOnce(&mut Option<Box<Page>>) -> T) -> T {
        let mut pages = self.shadow[page / LOCKED].lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut pages[page % LOCKED])
    }

    /// Records an access, unless it races.
    #[inline]
    pub(crate) fn access(
        &self,
        offset: u64,
        bytes: u64,
        access: Access,
        actor: &Actor<'_>,
    ) -> Result<(), Unordered> {
        for (page, start, bytes) in pieces(offset, bytes) {
            self.with_page(page, |page| {
                let page = page.get_or_insert_with(|| pages::take(FOREIGN_READERS));
                page.access(start, bytes, access, actor)
            })?;
        }
        Ok(())
    }

    /// Records accesses of a warp's lanes, each within a page; whether none races.
    #[inline]
    pub(crate) fn access_row(
        &self,
        rows: &Rows,
        at: &Row,
        access: Access,
        clock: &WarpClock,
        pc: u32,
    ) -> bool {
        let mut held = Held::default();
        let bytes = rows.bytes as usize;
        for view in clock.views() {
            let mut known = Known::default();
            for segment in rows.segments(at, rows.mask & view.lanes(), access.write) {
                for (page, start, all, lane) in segment.pieces(bytes) {
                    let page = held.page(&self.shadow, page);
                    let actor = Actor { epoch: clock.epoch(lane), seen: view.seen(), pc };
                    if !page.quick_segment(
                        &segment,
                        (start, all),
                        bytes,
                        access,
                        &actor,
                        &mut known,
                    ) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Whether an access would race, without recording it.
    pub(crate) fn check(
        &self,
        offset: u64,
        bytes: u64,
        access: Access,
        actor: &Actor<'_>,
    ) -> Result<(), Unordered> {
        for (page, start, bytes) in pieces(offset, bytes) {
            self.with_page(page, |page| match page {
                Some(page) => page.check(start, bytes, access, actor),
                None => Ok(()),
            })?;
        }
        Ok(())
    }

    /// Records an access without looking for races.
    pub(crate) fn record(&self, offset: u64, bytes: u64, access: Access, actor: &Actor<'_>) {
        for (page, start, bytes) in pieces(offset, bytes) {
            self.with_page(page, |page| {
                let page = page.get_or_insert_with(|| pages::take(FOREIGN_READERS));
                page.record(start, bytes, access, actor);
            });
        }
    }

    /// A write among the bytes that the async proxy does not see.
    pub(crate) fn unfenced(&self, offset: u64, bytes: u64, proxied: &Clock) -> Option<Unordered> {
        pieces(offset, bytes).find_map(|(page, start, bytes)| {
            self.with_page(page, |page| page.as_mut()?.unfenced(start, bytes, proxied))
        })
    }

    /// Forgets who accessed it: the end of a kernel is before everything that follows.
    pub(crate) fn forget_accesses(&self) {
        let mut all = Vec::new();
        for pages in &self.shadow {
            let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(pages.iter_mut().filter_map(Option::take).map(|page| *page));
        }
        pages::give(all);
    }
}

/// The words of a bitmap that has a bit for each byte, and the bits in them.
#[inline]
fn words(offset: u64, bytes: u64) -> impl Iterator<Item = (usize, u64)> {
    let (mut at, end) = (offset, offset + bytes);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let next = end.min((at | 63) + 1);
            let bits = (u64::MAX >> (64 - (next - at))) << (at % 64);
            let word = (at / 64) as usize;
            at = next;
            (word, bits)
        })
    })
}
