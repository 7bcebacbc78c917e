//! Formats and tile sizes.

use girih_formats::{DType, FormatKind, FormatSpec};

use crate::device::{DeviceKind, DeviceSpec};

/// The least compute capability, times ten, of `wgmma` and tensor copies, and of TF32 `mma`.
const HOPPER: u32 = 90;
const AMPERE: u32 = 80;

/// The formats considered for a device when the choice is free: those that girih multiplies there; others
/// are priced when they are asked for. Of equal times the first wins.
pub(crate) fn formats(device: &DeviceSpec, dtype: DType) -> Vec<FormatSpec> {
    match device.kind {
        DeviceKind::Cpu => vec![
            FormatSpec::Csr,
            FormatSpec::Bcsr { block_rows: 8, block_cols: 8 },
            FormatSpec::Bcsr { block_rows: 16, block_cols: 16 },
            FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
            FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 },
            FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
            FormatSpec::Wcsr { window_rows: 64, pad_cols: 8 },
            FormatSpec::BlockedEll { block_size: 16 },
            FormatSpec::BMat { pattern_only: false },
            FormatSpec::TwoFour,
        ],
        DeviceKind::Cuda => {
            let pad_cols = 32 / dtype.size();
            vec![
                FormatSpec::Csr,
                FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
                FormatSpec::Wcsr { window_rows: 16, pad_cols },
                FormatSpec::Wcsr { window_rows: 32, pad_cols },
                FormatSpec::Wcsr { window_rows: 64, pad_cols },
            ]
        }
    }
}

/// Why a device has no kernel for a format and value type; `None` if it can have one. Also of formats
/// that a caller fixed.
pub(crate) fn illegal(device: &DeviceSpec, spec: FormatSpec, dtype: DType) -> Option<String> {
    if device.kind == DeviceKind::Cpu || spec == FormatSpec::Csr {
        return None;
    }
    let needed = match spec.kind() {
        FormatKind::BMat | FormatKind::BlockedEll => AMPERE,
        _ => HOPPER,
    };
    if device.compute_capability < needed {
        let (found, unit) =
            (device.compute_capability, if needed == HOPPER { "wgmma" } else { "TF32 mma" });
        return Some(format!(
            "its kernels need {unit} (compute capability {}.0) and {} has {}.{}",
            needed / 10,
            device.name,
            found / 10,
            found % 10
        ));
    }
    if dtype == DType::F64 {
        return Some("tensor-core kernels take f16, bf16 and f32 (as TF32), not f64".to_owned());
    }
    if device.tile_flops.get(dtype) <= 0.0 {
        return Some(format!("{} has no unit for tiles of {dtype}", device.name));
    }
    if spec.kind() == FormatKind::BMat && dtype != DType::F32 {
        return Some(format!("bitmask tiles are multiplied in TF32, not {dtype}"));
    }
    let rows = spec.window_rows();
    let fits = match spec {
        FormatSpec::Bcsr { block_cols, .. } => {
            rows.is_multiple_of(64) && block_cols.is_multiple_of(16)
        }
        FormatSpec::Wcsr { pad_cols, .. } => {
            rows.is_multiple_of(8) && rows <= 64 && pad_cols.is_multiple_of(32 / dtype.size())
        }
        _ => true,
    };
    (!fits).then(|| {
        "wgmma takes blocks of 64 rows and a multiple of 16 columns, and windows of up to 64 rows, a \
         multiple of 8, padded to 32 bytes"
            .to_owned()
    })
}
