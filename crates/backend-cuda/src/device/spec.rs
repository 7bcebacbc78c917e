//! The planner's description of a device.

use girih_planner::DeviceSpec;

use super::DeviceInfo;

/// Devices that are built in, by a part of their names: the first that fits counts.
const KNOWN: [(&str, &str); 4] =
    [("H200", "h200"), ("H100 PCIe", "h100-pcie"), ("H100", "h100-sxm"), ("A100", "a100")];

impl DeviceInfo {
    /// What a planner knows of the device: the built-in description of its model, or else that of the
    /// nearest architecture, with the device's own name, architecture, multiprocessors and cache.
    #[must_use]
    pub fn spec(&self) -> DeviceSpec {
        let known = KNOWN.iter().find(|(part, _)| self.name.contains(part));
        let nearest = if self.arch.major >= 9 { "h200" } else { "a100" };
        let base = DeviceSpec::builtin(known.map_or(nearest, |(_, name)| name));
        let base = base.unwrap_or_else(|| unreachable!("the devices named here are built in"));
        let name: String = self.name.chars().filter(|c| !c.is_control()).take(64).collect();
        let name = if known.is_some() { name } else { format!("{name}, taken for {}", base.name) };
        base.with(|device| {
            device.name = name;
            device.compute_capability = self.arch.major * 10 + self.arch.minor;
            device.workers = self.multiprocessors.max(1);
            device.cache_bytes = self.l2_bytes;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    #[test]
    fn devices_are_described_by_their_models_or_the_nearest() {
        let info = |name: &str, major, multiprocessors| DeviceInfo {
            index: 0,
            name: name.to_owned(),
            arch: Arch { major, minor: 0 },
            multiprocessors,
            memory_bytes: 1 << 36,
            l2_bytes: 50 << 20,
        };
        let builtin = |name| DeviceSpec::builtin(name).unwrap();
        let h100 = info("NVIDIA H100 80GB HBM3", 9, 132).spec();
        assert_eq!(h100.memory_bandwidth, builtin("h100-sxm").memory_bandwidth);
        assert_eq!((h100.workers, h100.compute_capability), (132, 90));
        let other = info("NVIDIA L4", 8, 58).spec();
        assert!(other.name.contains("NVIDIA L4") && other.name.contains("A100"), "{}", other.name);
        assert_eq!(other.workers, 58);
    }
}
