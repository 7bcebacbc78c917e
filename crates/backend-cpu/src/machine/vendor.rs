//! Who made this processor.

/// The maker of a processor, where decisions depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    Amd,
    Intel,
    Other,
}

impl Vendor {
    /// The maker of this processor, by the name that the processor reports.
    pub(super) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let found = std::arch::x86_64::__cpuid(0);
            let name = [found.ebx, found.edx, found.ecx].map(u32::to_le_bytes);
            match name.as_flattened() {
                b"AuthenticAMD" => Self::Amd,
                b"GenuineIntel" => Self::Intel,
                _ => Self::Other,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::Other
    }
}
