//! The kernel of all configurations for a value type and a height of windows.

use girih_formats::DType;

use super::choice::{Configs, ELEMENTS, MIDDLE, NARROW, WIDE};
use super::config::{COMBINE, MAX_WINDOW_ROWS, ROW_UNIT, SCALE, SPLIT_ROWS};
use crate::error::Arch;
use crate::kernels::{Budget, Kernel};

/// The kernel for a value type, f16, bf16 or f32 (as TF32), and a height of windows, a multiple of
/// [`ROW_UNIT`] up to [`MAX_WINDOW_ROWS`].
pub(crate) fn kernel(dtype: DType, window_rows: usize) -> Kernel {
    let value = match dtype {
        DType::F16 => "F16",
        DType::Bf16 => "Bf16",
        _ => "Tf32",
    };
    let configs = Configs::of(dtype, window_rows);
    let definitions = configs.all().map(|config| config.definition(dtype, window_rows));
    let dynamic_shared = configs.all().map(|config| config.shared_bytes(dtype, window_rows)).max();
    let entries: &[&str] = match configs.middle {
        Some(_) => &[NARROW, MIDDLE, WIDE, ELEMENTS, COMBINE, SPLIT_ROWS, SCALE],
        None => &[NARROW, WIDE, ELEMENTS, COMBINE, SPLIT_ROWS, SCALE],
    };
    let instructions: &[&str] = match dtype {
        DType::F32 => &["HGMMA", "UBLKCP", "SYNCS", "USETMAXREG", "LDS.128", "STG.E.128"],
        _ => &["HGMMA", "UBLKCP", "LDGSTS", "SYNCS", "USETMAXREG", "LDS.64", "STG.E.128"],
    };
    Kernel {
        stem: "sm90_wcsr_spmm",
        config: format!("{dtype} {window_rows}"),
        source: include_str!("sm90_wcsr_spmm.cu"),
        defines: vec![
            ("VALUE", value.to_owned()),
            ("WINDOW_ROWS", window_rows.to_string()),
            ("ENTRIES", definitions.collect::<Vec<_>>().join(" ")),
        ],
        only: Some(Arch::SM_90A),
        budget: Budget {
            registers: 168,
            shared: 0,
            dynamic_shared: dynamic_shared.unwrap_or(0),
            entries,
            instructions,
        },
    }
}

/// The kernels for all value types and heights.
pub(crate) fn kernels() -> impl Iterator<Item = Kernel> {
    let heights = (ROW_UNIT..=MAX_WINDOW_ROWS).step_by(ROW_UNIT);
    heights.flat_map(|height| [DType::F16, DType::Bf16, DType::F32].map(|d| kernel(d, height)))
}

#[cfg(test)]
mod tests {
    use super::super::config::{Config, step};
    use super::*;

    /// What a block of a multiprocessor may take, and what all of them may.
    const SHARED_OF_BLOCK: u32 = 227 << 10;
    const SHARED: u32 = 228 << 10;
    const REGISTERS: u32 = 65536;

    fn all() -> impl Iterator<Item = (DType, usize, Config)> {
        let heights = (8..=64).step_by(8);
        heights.flat_map(|height| {
            [DType::F16, DType::F32].into_iter().flat_map(move |dtype| {
                let all: Vec<_> = Configs::of(dtype, height).all().copied().collect();
                all.into_iter().map(move |config| (dtype, height, config))
            })
        })
    }

    #[test]
    fn every_configuration_fits_a_multiprocessor() {
        for (dtype, height, config) in all() {
            let shared = config.shared_bytes(dtype, height);
            assert!(shared <= SHARED_OF_BLOCK, "{dtype} {height} {config:?}: {shared}");
            assert!(
                config.ctas * (shared + 1024) <= SHARED,
                "{dtype} {height} {config:?}: {shared}"
            );
            let registers = REGISTERS / (config.threads() * config.ctas) / 8 * 8;
            assert!(registers >= 64, "{config:?}: {registers}");
            // Two sets of fragments take turns, and lanes hold the columns of several stages.
            assert!((config.rows as usize).is_multiple_of(2 * step(dtype)) && config.rows <= 64);
        }
    }

    #[test]
    fn every_kernel_has_its_entry_points() {
        assert_eq!(kernels().count(), 24);
        for kernel in kernels() {
            for entry in kernel.budget.entries.iter().filter(|entry| entry.contains("spmm")) {
                assert!(kernel.defines[2].1.contains(entry), "{kernel}: {entry}");
            }
        }
    }
}
