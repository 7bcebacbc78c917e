//! Shared memory of a CTA.

use std::cell::RefCell;

use super::clock::{Clock, WarpClock};
use super::known::Known;
use super::rows::Rows;
use super::shadow::{Access, Actor, PAGE, Page, Unordered};
use crate::machine::registers::Row;

/// Shared memory of a CTA, by offset: [`SHARED_START`](super::SHARED_START) is the first byte in
/// use. Bounds are the caller's affair.
#[derive(Debug)]
pub(crate) struct Shared {
    bytes: Vec<u8>,
    /// A bit a byte.
    initialized: Vec<u64>,
    shadow: Vec<Option<Box<Page>>>,
    /// Whether bytes were forgotten: then not only initialized ones have been written.
    forgot: bool,
}

/// The most memories of finished CTAs that a thread keeps.
const KEPT: usize = 8;

thread_local! {
    /// Those that the next CTAs take: most of a large one is never accessed.
    static FINISHED: RefCell<Vec<Shared>> = const { RefCell::new(Vec::new()) };
}

impl Shared {
    /// Memory up to `end`, all of it uninitialized.
    pub(crate) fn new(end: u32) -> Self {
        let bytes = end as usize;
        let finished = FINISHED.with_borrow_mut(|finished| {
            let at = finished.iter().position(|kept| kept.bytes.len() == bytes)?;
            Some(finished.swap_remove(at))
        });
        if let Some(mut shared) = finished {
            shared.renew();
            return shared;
        }
        Self {
            bytes: vec![0xFF; bytes],
            initialized: vec![0; bytes.div_ceil(64)],
            shadow: vec![None; bytes.div_ceil(PAGE)],
            forgot: false,
        }
    }

    /// Makes it as new.
    fn renew(&mut self) {
        for (bytes, initialized) in self.bytes.chunks_mut(64).zip(&mut self.initialized) {
            if *initialized != 0 || self.forgot {
                bytes.fill(0xFF);
                *initialized = 0;
            }
        }
        self.forgot = false;
        self.shadow.iter_mut().flatten().for_each(|page| page.renew(usize::MAX));
    }

    /// Keeps the memory of a CTA that has finished for another.
    pub(crate) fn finish(self) {
        FINISHED.with_borrow_mut(|finished| {
            if finished.len() == KEPT {
                finished.remove(0);
            }
            finished.push(self);
        });
    }

    /// One past the last byte.
    pub(crate) fn end(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// The bytes, whether initialized or not.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// 1, 2, 4 or 8 bytes.
    #[inline]
    pub(crate) fn load(&self, offset: u32, bytes: u32) -> u64 {
        let from = &self.bytes[offset as usize..];
        let value = match bytes {
            8 => from.first_chunk().map(|&bytes| u64::from_le_bytes(bytes)),
            4 => from.first_chunk().map(|&bytes| u64::from(u32::from_le_bytes(bytes))),
            2 => from.first_chunk().map(|&bytes| u64::from(u16::from_le_bytes(bytes))),
            _ => from.first().map(|&byte| u64::from(byte)),
        };
        // Callers keep to the bounds.
        value.unwrap_or_default()
    }

    /// Stores the low 1, 2, 4 or 8 bytes of a value, which become initialized.
    #[inline]
    pub(crate) fn store(&mut self, offset: u32, bytes: u32, value: u64) {
        let to = &mut self.bytes[offset as usize..];
        let all = value.to_le_bytes();
        match bytes {
            8 => to[..8].copy_from_slice(&all),
            4 => to[..4].copy_from_slice(&all[..4]),
            2 => to[..2].copy_from_slice(&all[..2]),
            _ => to[0] = all[0],
        }
        self.initialize(offset, bytes);
    }

    /// Stores words, each `from` bytes into its part of `stride` bytes of what follows `offset`.
    #[inline]
    pub(super) fn store_words(&mut self, offset: u32, stride: u32, from: u32, values: &Row) {
        let (stride, from) = (stride as usize, from as usize);
        let all = &mut self.bytes[offset as usize..][..32 * stride];
        for (own, &value) in all.chunks_exact_mut(stride).zip(values) {
            if let Some(word) = own[from..].first_chunk_mut() {
                *word = (value as u32).to_le_bytes();
            }
        }
    }

    /// Loads words, each `from` bytes into its part of `stride` bytes of what follows `offset`.
    #[inline]
    pub(super) fn load_words(&self, offset: u32, stride: u32, from: u32, values: &mut Row) {
        let (stride, from) = (stride as usize, from as usize);
        let all = &self.bytes[offset as usize..][..32 * stride];
        for (value, own) in values.iter_mut().zip(all.chunks_exact(stride)) {
            let word = own[from..].first_chunk();
            *value = word.map_or(0, |&word| u64::from(u32::from_le_bytes(word)));
        }
    }

    /// Stores bytes, which become initialized.
    pub(crate) fn write(&mut self, offset: u32, from: &[u8]) {
        self.bytes[offset as usize..][..from.len()].copy_from_slice(from);
        self.initialize(offset, from.len() as u32);
    }

    /// Marks bytes as initialized.
    #[inline]
    pub(crate) fn initialize(&mut self, offset: u32, bytes: u32) {
        for (word, bits) in words(offset, bytes) {
            self.initialized[word] |= bits;
        }
    }

    /// Forgets the values of bytes.
    pub(crate) fn poison(&mut self, offset: u32, bytes: u32) {
        self.forgot = true;
        for (word, bits) in words(offset, bytes) {
            self.initialized[word] &= !bits;
        }
    }

    /// Whether all of the bytes were written.
    #[inline]
    pub(crate) fn is_initialized(&self, offset: u32, bytes: u32) -> bool {
        let at = offset % 64;
        if at + bytes <= 64 && bytes != 0 {
            let bits = (u64::MAX >> (64 - bytes)) << at;
            return self.initialized[offset as usize / 64] & bits == bits;
        }
        words(offset, bytes).all(|(word, bits)| self.initialized[word] & bits == bits)
    }

    fn page(&mut self, page: usize) -> &mut Page {
        self.shadow[page].get_or_insert_with(|| Box::new(Page::new(usize::MAX)))
    }

    /// Records an access, unless it races.
    #[inline]
    pub(crate) fn access(
        &mut self,
        offset: u32,
        bytes: u32,
        access: Access,
        actor: &Actor<'_>,
    ) -> Result<(), Unordered> {
        for (page, start, bytes) in pieces(u64::from(offset), u64::from(bytes)) {
            self.page(page).access(start, bytes, access, actor)?;
        }
        Ok(())
    }

    /// Records accesses of a warp's lanes, each within a page; whether none races.
    #[inline]
    pub(crate) fn access_row(
        &mut self,
        rows: &Rows,
        at: &Row,
        access: Access,
        clock: &WarpClock,
        pc: u32,
    ) -> bool {
        let bytes = rows.bytes as usize;
        for view in clock.views() {
            let mut known = Known::default();
            for segment in rows.segments(at, rows.mask & view.lanes(), access.write) {
                for (page, start, all, lane) in segment.pieces(bytes) {
                    let page = self.page(page);
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
        &mut self,
        offset: u32,
        bytes: u32,
        access: Access,
        actor: &Actor<'_>,
    ) -> Result<(), Unordered> {
        for (page, start, bytes) in pieces(u64::from(offset), u64::from(bytes)) {
            if let Some(page) = &mut self.shadow[page] {
                page.check(start, bytes, access, actor)?;
            }
        }
        Ok(())
    }

    /// Records an access without looking for races.
    pub(crate) fn record(&mut self, offset: u32, bytes: u32, access: Access, actor: &Actor<'_>) {
        for (page, start, bytes) in pieces(u64::from(offset), u64::from(bytes)) {
            self.page(page).record(start, bytes, access, actor);
        }
    }

    /// A write among the bytes that the async proxy does not see.
    pub(crate) fn unfenced(
        &mut self,
        offset: u32,
        bytes: u32,
        proxied: &Clock,
    ) -> Option<Unordered> {
        pieces(u64::from(offset), u64::from(bytes)).find_map(|(page, start, bytes)| {
            self.shadow[page].as_mut()?.unfenced(start, bytes, proxied)
        })
    }
}

/// The words of a bitmap that has a bit for each byte, and the bits in them.
#[inline]
fn words(offset: u32, bytes: u32) -> impl Iterator<Item = (usize, u64)> {
    let (mut at, end) = (offset, offset + bytes);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let next = end.min((at | 63) + 1);
            let bits = (u64::MAX >> (64 - (next - at))) << (at % 64);
            let word = at as usize / 64;
            at = next;
            (word, bits)
        })
    })
}

/// Bytes by page: the page, the first byte in it, how many.
#[inline]
pub(super) fn pieces(start: u64, bytes: u64) -> impl Iterator<Item = (usize, usize, usize)> {
    let page = PAGE as u64;
    let (mut at, end) = (start, start + bytes);
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let next = end.min(at - at % page + page);
            let piece = ((at / page) as usize, (at % page) as usize, (next - at) as usize);
            at = next;
            piece
        })
    })
}
