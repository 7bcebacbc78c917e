//! Families of processors: which of the device files that were calibrated is nearest to a CPU.

/// What a processor says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSignature {
    /// Who made it, as `AuthenticAMD`.
    pub vendor: String,
    /// Its family, as the system numbers them: 25 for Zen 3 and Zen 4, 26 for Zen 5.
    pub family: u32,
    /// Its model within the family.
    pub model: u32,
}

/// The device whose estimates a CPU takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nearest {
    /// The name of a device that is built in.
    pub(super) device: &'static str,
    /// What to call its estimates where they are of another family than the CPU.
    pub(super) of_another: Option<&'static str>,
}

/// The model of family 6.
const EMERALD_RAPIDS: u32 = 207;

/// The nearest device to a processor, or to one that does not say what it is.
pub(super) fn nearest(signature: Option<&CpuSignature>) -> Nearest {
    let zen5 = |of_another| Nearest { device: "zen5", of_another };
    let xeon = |of_another| Nearest { device: "emerald-rapids", of_another };
    match signature.map(|cpu| (cpu.vendor.as_str(), cpu.family, cpu.model)) {
        Some(("AuthenticAMD", 26, _)) => zen5(None),
        Some(("AuthenticAMD", ..)) => zen5(Some("Zen 5")),
        Some(("GenuineIntel", 6, EMERALD_RAPIDS)) => xeon(None),
        Some(("GenuineIntel", ..)) => xeon(Some("Emerald Rapids")),
        _ => Nearest { device: "cpu", of_another: Some("a generic CPU") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceSpec;

    #[test]
    fn the_nearest_family_is_built_in_and_said_where_it_is_another() {
        let of = |vendor: &str, family| {
            nearest(Some(&CpuSignature { vendor: vendor.to_owned(), family, model: 207 }))
        };
        assert_eq!(of("AuthenticAMD", 26), Nearest { device: "zen5", of_another: None });
        assert_eq!(of("AuthenticAMD", 25).of_another, Some("Zen 5"));
        assert_eq!(of("GenuineIntel", 6).of_another, None);
        assert_eq!(of("GenuineIntel", 19).of_another, Some("Emerald Rapids"));
        assert_eq!(of("Somebody", 6).device, "cpu");
        for found in [of("AuthenticAMD", 26), of("GenuineIntel", 6), nearest(None)] {
            assert!(DeviceSpec::builtin(found.device).is_some());
        }
    }
}
