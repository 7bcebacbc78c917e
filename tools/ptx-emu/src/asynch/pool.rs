//! The registers of a CTA, of which `setmaxnreg` gives warps more or fewer.
//!
//! PTX ISA, "Miscellaneous Instructions: setmaxnreg". Registers of warps that have exited stay
//! theirs: nothing promises that they come back before the CTA ends.

/// The pool of one CTA.
#[derive(Debug)]
pub(crate) struct RegisterPool {
    /// Registers of each thread, by warp.
    warps: Vec<u32>,
    /// Registers that no warp has, in units of a register in each thread of a warp.
    free: u32,
}

impl RegisterPool {
    /// All warps have `count` registers a thread, and nothing is left over.
    pub(crate) fn new(warps: u32, count: u32) -> Self {
        Self { warps: vec![count; warps as usize], free: 0 }
    }

    /// Registers of each thread of a warp.
    pub(crate) fn of(&self, warp: u32) -> u32 {
        self.warps[warp as usize]
    }

    /// Registers a thread of one warp could be given.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// Gives back what a warp has above `count`; `count` is at most what it has.
    pub(crate) fn shrink(&mut self, warp: u32, count: u32) {
        let held = &mut self.warps[warp as usize];
        self.free += held.saturating_sub(count);
        *held = count.min(*held);
    }

    /// Gives a warp `count` registers if the pool has them.
    pub(crate) fn grow(&mut self, warp: u32, count: u32) -> bool {
        let held = &mut self.warps[warp as usize];
        let more = count.saturating_sub(*held);
        let enough = more <= self.free;
        if enough {
            self.free -= more;
            *held += more;
        }
        enough
    }
}

/// Registers that each thread of a CTA starts with, where the kernel's directives determine them:
/// `.maxnreg`, or the most with which `ctas` CTAs of `threads` threads (`.minnctapersm`, or one)
/// share the 65,536 registers of a multiprocessor, which hands them out to four warps at a time.
///
/// As observed of ptxas 13.0: where a thread could then have more than 255, it says that it cannot
/// determine the count and ignores `setmaxnreg`; 256 threads are an exception to that.
pub(crate) fn registers_at_start(
    threads: Option<u32>,
    max_registers: Option<u32>,
    ctas: Option<u32>,
) -> Option<u32> {
    let by_threads = threads
        .map(|threads| 65_536 / (threads.next_multiple_of(128) * ctas.unwrap_or(1)).max(1) / 8 * 8)
        .filter(|&registers| registers <= 256)
        .map(|registers| registers.min(255));
    match (max_registers, by_threads) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_gives_another_takes() {
        let mut pool = RegisterPool::new(3, 168);
        assert!(!pool.grow(1, 240));
        pool.shrink(0, 24);
        assert_eq!(pool.free(), 144);
        assert!(pool.grow(1, 240));
        assert!(pool.grow(2, 240));
        assert_eq!((pool.free(), pool.of(0), pool.of(1)), (0, 24, 240));
    }

    #[test]
    fn launch_bounds_determine_registers() {
        assert_eq!(registers_at_start(Some(384), None, Some(1)), Some(168));
        assert_eq!(registers_at_start(Some(320), None, None), Some(168));
        assert_eq!(registers_at_start(Some(256), None, None), Some(255));
        assert_eq!(registers_at_start(Some(128), None, Some(3)), Some(168));
        assert_eq!(registers_at_start(Some(128), None, Some(1)), None);
        assert_eq!(registers_at_start(Some(256), Some(128), None), Some(128));
        assert_eq!(registers_at_start(None, None, None), None);
    }
}
