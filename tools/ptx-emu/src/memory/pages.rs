//! Pages of shadow that are used again. Launches are short, and each begins with none.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::shadow::Page;

/// The most pages that are kept: 16 MiB of them, if words were accessed there.
const KEPT: usize = 1 << 13;

static FREE: Mutex<Vec<Page>> = Mutex::new(Vec::new());

fn free() -> MutexGuard<'static, Vec<Page>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A page that nobody has accessed. Of unordered readers of one piece it remembers `readers`.
pub(super) fn take(readers: usize) -> Box<Page> {
    let kept = free().pop();
    match kept {
        Some(mut page) => {
            page.renew(readers);
            Box::new(page)
        }
        None => Box::new(Page::new(readers)),
    }
}

/// Keeps pages that are not needed any more.
pub(super) fn give(pages: Vec<Page>) {
    let mut free = free();
    let left = KEPT.saturating_sub(free.len());
    free.extend(pages.into_iter().take(left));
}
