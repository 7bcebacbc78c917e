//! Shared memory of a CTA.

use super::clock::{Clock, WarpClock};
use super::known::Known;
use super::rows::runs;
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
}

impl Shared {
    /// Memory up to `end`, all of it uninitialized.
    pub(crate) fn new(end: u32) -> Self {
        let bytes = end as usize;
        Self {
            bytes: vec![0xFF; bytes],
            initialized: vec![0; bytes.div_ceil(64)],
            shadow: vec![None; bytes.div_ceil(PAGE)],
        }
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
        at: &Row,
        mask: u32,
        bytes: u32,
        access: Access,
        clock: &WarpClock,
        pc: u32,
    ) -> bool {
        for view in clock.views() {
            let mut known = Known::default();
            for (lane, together) in runs(at, mask & view.lanes(), access.write) {
                let offset = at[lane] as usize;
                let actor = Actor { epoch: clock.epoch(lane as u32), seen: view.seen(), pc };
                let page = self.page(offset / PAGE);
                if !page.quick(offset % PAGE, bytes as usize, access, &actor, together, &mut known)
                {
                    return false;
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
