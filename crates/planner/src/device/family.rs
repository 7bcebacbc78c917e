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

/// Whether a model of family 25 is a Zen 3; the others are Zen 4.
fn is_zen3(model: u32) -> bool {
    matches!(model, 0..=0x0f | 0x20..=0x5f)
}

/// The nearest device to a processor, or to one that does not say what it is.
pub(super) fn nearest(signature: Option<&CpuSignature>) -> Nearest {
    let zen3 = |of_another| Nearest { device: "zen3", of_another };
    let zen4 = |of_another| Nearest { device: "zen4", of_another };
    let zen5 = |of_another| Nearest { device: "zen5", of_another };
    let xeon = |of_another| Nearest { device: "emerald-rapids", of_another };
    match signature.map(|cpu| (cpu.vendor.as_str(), cpu.family, cpu.model)) {
        Some(("AuthenticAMD", 25, model)) if is_zen3(model) => zen3(None),
        Some(("AuthenticAMD", 25, _)) => zen4(None),
        Some(("AuthenticAMD", 26, _)) => zen5(None),
        // What came before Zen 3 has its vectors, 256 bits.
        Some(("AuthenticAMD", 27.., _)) => zen5(Some("Zen 5")),
        Some(("AuthenticAMD", ..)) => zen3(Some("Zen 3")),
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
        let model = |vendor: &str, family, model| {
            nearest(Some(&CpuSignature { vendor: vendor.to_owned(), family, model }))
        };
        let of = |vendor, family| model(vendor, family, 207);
        assert_eq!(of("AuthenticAMD", 26), Nearest { device: "zen5", of_another: None });
        let (milan, genoa, rome) = (1, 0x11, 49);
        assert_eq!(model("AuthenticAMD", 25, milan), Nearest { device: "zen3", of_another: None });
        assert_eq!(model("AuthenticAMD", 25, genoa), Nearest { device: "zen4", of_another: None });
        assert_eq!(of("AuthenticAMD", 27).of_another, Some("Zen 5"));
        assert_eq!(model("AuthenticAMD", 23, rome).of_another, Some("Zen 3"));
        assert_eq!(of("GenuineIntel", 6).of_another, None);
        assert_eq!(of("GenuineIntel", 19).of_another, Some("Emerald Rapids"));
        assert_eq!(of("Somebody", 6).device, "cpu");
        for found in [
            of("AuthenticAMD", 26),
            of("AuthenticAMD", 25),
            of("AuthenticAMD", 23),
            of("GenuineIntel", 6),
            nearest(None),
        ] {
            assert!(DeviceSpec::builtin(found.device).is_some());
        }
    }
}
