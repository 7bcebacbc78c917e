//! The CPU at hand, by what its system says of it. Nothing is run, and nothing is timed.

use std::fs;
use std::sync::OnceLock;

use serde::Serialize;

use super::{CpuFacts, CpuSignature, DeviceSpec};

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

/// The processor's name, with the numbers that tell generations of one marketing name apart; `None` on
/// systems that don't tell.
#[must_use]
pub fn cpu_name() -> Option<String> {
    named(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

impl CpuFacts {
    /// The CPU at hand, with as many cores as this process may use. Nothing of it is measured.
    #[must_use]
    pub fn here() -> Self {
        let last = caches().last().map(|cache| cache.level);
        let private = caches().iter().rev().find(|cache| Some(cache.level) < last);
        Self {
            name: cpu_name().unwrap_or_else(|| "CPU".to_owned()),
            signature: signature(),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            simd_bits: simd_bits(),
            cache_bytes: caches().last().map(|cache| cache.bytes),
            private_cache_bytes: private.map(|cache| cache.bytes),
            measured: None,
        }
    }
}

impl DeviceSpec {
    /// The CPU at hand: what plans are made for unless another device is given. Looked at once in a
    /// process, so that all its plans are for the same.
    #[must_use]
    pub fn this_cpu() -> Self {
        static HERE: OnceLock<DeviceSpec> = OnceLock::new();
        HERE.get_or_init(|| Self::of_cpu(&CpuFacts::here())).clone()
    }
}

/// Bits of the widest SIMD registers.
fn simd_bits() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return 512;
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return 256;
        }
    }
    128
}

/// A field of the first processor in the text of `/proc/cpuinfo`.
fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// What the processor says it is; `None` on systems that don't tell.
fn signature() -> Option<CpuSignature> {
    signed(&fs::read_to_string("/proc/cpuinfo").ok()?)
}

fn signed(cpuinfo: &str) -> Option<CpuSignature> {
    Some(CpuSignature {
        vendor: field(cpuinfo, "vendor_id")?.to_owned(),
        family: field(cpuinfo, "cpu family")?.parse().ok()?,
        model: field(cpuinfo, "model")?.parse().ok()?,
    })
}

/// The name in the text of `/proc/cpuinfo`.
fn named(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| field(cpuinfo, name);
    let name = field("model name")?;
    match (field("cpu family"), field("model")) {
        (Some(family), Some(model)) => Some(format!("{name} (family {family} model {model})")),
        _ => Some(name.to_owned()),
    }
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
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU\ncpu family\t: 25\nmodel\t\t: 17\n";
        assert_eq!(named(cpuinfo).unwrap(), "Some CPU (family 25 model 17)");
        assert_eq!(named("processor: 0"), None);
        let signed = |vendor: &str| signed(&format!("vendor_id\t: {vendor}\n{cpuinfo}"));
        let expected = CpuSignature { vendor: "AuthenticAMD".to_owned(), family: 25, model: 17 };
        assert_eq!(signed("AuthenticAMD"), Some(expected));
        assert_eq!(super::signed(cpuinfo), None);
    }

    #[test]
    fn the_last_is_the_largest_level() {
        assert!(caches().is_sorted_by_key(|cache| cache.level));
        assert!(caches().iter().all(|cache| cache.bytes > 0));
    }

    #[test]
    fn the_cpu_at_hand_is_a_device() {
        let here = DeviceSpec::this_cpu();
        assert_eq!(here.check(), Ok(()));
        assert_eq!(here.workers as usize, std::thread::available_parallelism().unwrap().get());
        // The same in a pool of any size: plans must not depend on it.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(|| DeviceSpec::of_cpu(&CpuFacts::here())), here);
    }
}
