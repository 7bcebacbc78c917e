//! The caches of this machine, where the system tells.

use std::fs;
use std::sync::OnceLock;

use serde::Serialize;

/// A data cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// 1 for the one next to the core.
    pub level: u32,
    /// Its size.
    pub bytes: u64,
    /// Processors that share it.
    pub shared_by: Option<usize>,
}

/// The data caches of the first processor, the smallest first; none on systems that don't tell, which
/// are those other than Linux.
///
/// Read once: O(1) from then on.
#[must_use]
pub fn caches() -> &'static [Cache] {
    static CACHES: OnceLock<Vec<Cache>> = OnceLock::new();
    CACHES.get_or_init(read_caches)
}

/// Bytes of the last-level cache.
pub(crate) fn last_level() -> Option<u64> {
    caches().last().map(|cache| cache.bytes)
}

/// Bytes of the largest cache below that.
pub(crate) fn private() -> Option<u64> {
    let last = caches().last()?.level;
    caches().iter().rev().find(|cache| cache.level < last).map(|cache| cache.bytes)
}

fn read_caches() -> Vec<Cache> {
    let read = |index: usize, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let mut caches: Vec<Cache> = (0..)
        .map_while(|index| Some((index, read(index, "type")?)))
        .filter(|(_, kind)| kind != "Instruction")
        .filter_map(|(index, _)| {
            Some(Cache {
                level: read(index, "level")?.parse().ok()?,
                bytes: size(&read(index, "size")?)?,
                shared_by: read(index, "shared_cpu_list").and_then(|list| cpus(&list)),
            })
        })
        .collect();
    caches.sort_by_key(|cache| (cache.level, cache.bytes));
    caches
}

/// The bytes that a size as `32768K` names.
fn size(text: &str) -> Option<u64> {
    text.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

/// How many processors a list as `0-3,8` names.
fn cpus(list: &str) -> Option<usize> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)?.checked_add(1)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(["32K", "1024K"].map(size), [Some(32 << 10), Some(1 << 20)]);
        assert_eq!(["", "K", "1M", "99999999999999999999K"].map(size), [None; 4]);
        assert_eq!(["0", "0-3,8", "0-1,4-5"].map(cpus), [Some(1), Some(5), Some(4)]);
        assert_eq!(["", "x", "3-1"].map(cpus), [None; 3]);
    }

    #[test]
    fn the_last_is_the_largest_level() {
        assert!(caches().is_sorted_by_key(|cache| cache.level));
        assert!(caches().iter().all(|cache| cache.bytes > 0));
    }
}
