//! What this machine is, where the system says so, and how busy it is.

use std::collections::BTreeSet;
use std::fs;

use girih::cpu::Cache;
use girih::planner::device::cpu_name;
use serde::Serialize;

use crate::units;

/// A description of the machine. What the system does not tell is left out.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: Option<String>,
    /// Processors that threads can run on here.
    pub cpus: usize,
    /// Cores they belong to.
    pub cores: Option<usize>,
    /// Caches of the first processor, the smallest first.
    pub caches: Vec<Cache>,
    /// All of its memory.
    pub memory_bytes: Option<u64>,
    /// Whether a hypervisor runs beneath.
    pub virtual_machine: bool,
    /// The operating system.
    pub os: &'static str,
    /// The processor's architecture.
    pub arch: &'static str,
}

impl Machine {
    /// Describes this machine.
    pub fn this() -> Self {
        // Absent or unreadable on systems other than Linux: then nothing is known of these.
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self {
            cpu: cpu_name(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            cores: cores(&cpuinfo),
            caches: girih::cpu::caches().to_vec(),
            memory_bytes: field(&meminfo, "MemTotal")
                .and_then(|kib| kib.strip_suffix("kB")?.trim().parse::<u64>().ok())
                .map(|kib| kib * 1024),
            virtual_machine: field(&cpuinfo, "flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
        }
    }

    /// Bytes of the largest cache.
    pub fn last_level(&self) -> Option<u64> {
        self.caches.iter().map(|cache| cache.bytes).max()
    }
}

/// One line for people.
impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.cpu.as_deref().unwrap_or("unknown CPU"))?;
        write!(f, ", {} CPUs", self.cpus)?;
        if let Some(cores) = self.cores {
            write!(f, " on {cores} cores")?;
        }
        for Cache { level, bytes, .. } in &self.caches {
            write!(f, ", L{level} {}", units::bytes(*bytes))?;
        }
        if let Some(bytes) = self.memory_bytes {
            write!(f, ", {} of memory", units::bytes(bytes))?;
        }
        if self.virtual_machine { f.write_str(", virtual machine") } else { Ok(()) }
    }
}

/// The first value of `name` among lines of `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn cores(cpuinfo: &str) -> Option<usize> {
    let ids: BTreeSet<(&str, &str)> = cpuinfo
        .split("\n\n")
        .filter_map(|cpu| Some((field(cpu, "physical id")?, field(cpu, "core id")?)))
        .collect();
    (!ids.is_empty()).then_some(ids.len())
}

/// Processor time spent so far by all programs and by this process, in the system's ticks.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    all: u64,
    busy: u64,
    own: u64,
}

impl Ticks {
    /// Reads the ticks spent until now; `None` if the system does not say.
    pub fn now() -> Option<Self> {
        Self::read(
            &fs::read_to_string("/proc/stat").ok()?,
            &fs::read_to_string("/proc/self/stat").ok()?,
        )
    }

    fn read(stat: &str, own: &str) -> Option<Self> {
        let total = stat.lines().next()?.strip_prefix("cpu ")?;
        // user nice system idle iowait irq softirq steal; guests are counted in user already.
        let ticks: Vec<u64> =
            total.split_whitespace().take(8).map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let [_, _, _, idle, waiting, ..] = ticks[..] else { return None };
        let all = ticks.iter().sum();
        // The name of the process, in brackets, may hold anything.
        let mut own = own.rsplit_once(')')?.1.split_whitespace().skip(11);
        let own = own.next()?.parse::<u64>().ok()? + own.next()?.parse::<u64>().ok()?;
        Some(Self { all, busy: all - idle - waiting, own })
    }

    /// The share of all processors that other programs had between two moments. `None` if the system does
    /// not say, or if too little time has passed.
    pub fn others_between(before: Option<Self>, after: Option<Self>) -> Option<f64> {
        after?.others_since(before?)
    }

    fn others_since(self, earlier: Self) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|&all| all > 0)?;
        let others = (self.busy.saturating_sub(earlier.busy))
            .saturating_sub(self.own.saturating_sub(earlier.own));
        Some((others as f64 / all as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "\
processor\t: 0\nmodel name\t: Some CPU\ncpu family\t: 25\nmodel\t\t: 17\nphysical id\t: 0\n\
core id\t\t: 0\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\nmodel name\t: Some CPU\n\
physical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 2\nphysical id\t: 0\ncore id\t\t: 1\n";

    #[test]
    fn processors_are_described() {
        assert_eq!(cores(CPUINFO), Some(2));
        assert_eq!(cores("processor: 0"), None);
    }

    #[test]
    fn other_programs_have_what_is_left() {
        let own = |user, system| format!("1 (a b) c) R 1 2 3 4 5 6 7 8 9 10 {user} {system} 0 0\n");
        let stat = |user, idle| format!("cpu  {user} 0 0 {idle} 0 0 0 0 5 5\ncpu0 1 2\n");
        let before = Ticks::read(&stat(100, 100), &own(10, 5)).unwrap();
        let after = Ticks::read(&stat(150, 150), &own(30, 10)).unwrap();
        // Of 100 ticks 50 were busy, half of them with this process.
        assert_eq!(after.others_since(before), Some(0.25));
        assert_eq!(before.others_since(before), None);
        assert!(Ticks::read("cpu  1 2", &own(1, 1)).is_none());
    }

    #[test]
    fn this_machine_has_a_processor() {
        assert!(Machine::this().cpus > 0);
    }
}
