//! What there are kernels for: one answer for plans, for the planner and for capabilities.

use girih_backend::{Activation, Aggregation, ProductShape, Unsupported};
use girih_formats::{DType, FormatKind, FormatSpec};
use girih_planner::schedule::Reduction;
use girih_planner::{Plan, Precision};

use super::sm90_bcsr_spmm::{self, BLOCK};
use super::{csr_spmm, quantize_e4m3, sm90_bmat_spmm, sm90_two_four_spmm, sm90_wcsr_spmm};
use crate::epilogue::code;
use crate::{Arch, CsrLayout, CtaOrder};

/// The formats that there are kernels for, and the only architecture they run on, if there is one.
const FORMATS: [(FormatKind, Option<Arch>); 6] = [
    (FormatKind::Csr, None),
    (FormatKind::Bcsr, Some(Arch::SM_90A)),
    (FormatKind::Wcsr, Some(Arch::SM_90A)),
    (FormatKind::BMat, Some(Arch::SM_90A)),
    (FormatKind::TwoFour, Some(Arch::SM_90A)),
    (FormatKind::Hybrid, Some(Arch::SM_90A)),
];

/// Refuses plans that [permute](Plan::b_permutation) B, which is done on the host: for operands on the device.
///
/// # Errors
/// [`Unsupported::BPermutation`].
pub fn takes_b_as_it_is(plan: &Plan) -> Result<(), Unsupported> {
    if plan.b_permutation().is_none() {
        return Ok(());
    }
    let reason = "B on the device is not gathered; plan in the permuted space, or multiply operands \
                  on the host";
    Err(Unsupported::BPermutation { reason: reason.to_owned() })
}

/// Refuses plans that a forced layout of products in CSR can't take.
///
/// # Errors
/// The reason.
pub(crate) fn takes_csr_layout(plan: &Plan, layout: Option<CsrLayout>) -> Result<(), Unsupported> {
    let spec = plan.spec();
    let (Some(CsrLayout::Teams(teams)), FormatKind::Csr) = (layout, spec.kind()) else {
        return Ok(());
    };
    let unsupported = |reason| Unsupported::Sizes { spec, reason };
    if !teams.is_valid() {
        return Err(unsupported(format!("the options name a layout that no kernel has: {teams}")));
    }
    let (tiling, most) = (plan.tiling(), 1u64 << 31);
    let (rows, entries) = (tiling.n_windows(), tiling.tile_ptr(tiling.n_windows()));
    if rows as u64 >= most || entries >= most {
        return Err(unsupported(format!(
            "the layout {teams} is for fewer than {most} rows and entries, and these are {rows} and {entries}"
        )));
    }
    Ok(())
}

/// Refuses plans whose kernels have no tiles of a forced order.
///
/// # Errors
/// The reason.
pub(crate) fn takes_cta_order(plan: &Plan, order: Option<CtaOrder>) -> Result<(), Unsupported> {
    let (spec, dtype) = (plan.spec(), plan.dtype());
    let Some(order) = order else { return Ok(()) };
    let is_there = order.panel_tiles >= 1
        && match spec {
            FormatSpec::Csr => csr_spmm::has_tiles_of(dtype, order.tile_columns),
            FormatSpec::Wcsr { window_rows, .. } => {
                sm90_wcsr_spmm::has_tiles_of((dtype, window_rows), order.tile_columns)
            }
            _ => true,
        };
    let reason = || format!("the options name an order that no kernel has: {order}");
    if is_there { Ok(()) } else { Err(Unsupported::Sizes { spec, reason: reason() }) }
}

/// The formats that there are kernels for on an architecture.
pub(crate) fn formats(arch: Arch) -> Vec<FormatKind> {
    let there = |only: Option<Arch>| only.is_none_or(|only| only == arch);
    FORMATS.into_iter().filter(|&(_, only)| there(only)).map(|(kind, _)| kind).collect()
}

/// Whether there are kernels for a format with its sizes, a value type and a precision; `arch` is the
/// device's, if there is one.
///
/// # Errors
/// What is missing, in one sentence without the format's name.
pub(crate) fn check(
    spec: FormatSpec,
    dtype: DType,
    precision: Precision,
    arch: Option<Arch>,
) -> Result<(), String> {
    let Some((_, only)) = FORMATS.into_iter().find(|&(known, _)| known == spec.kind()) else {
        let known = FORMATS.map(|(kind, _)| kind.name()).join(", ");
        return Err(format!(
            "no CUDA kernel multiplies this format; there are kernels for {known}"
        ));
    };
    if let (Some(needs), Some(arch)) = (only, arch)
        && needs != arch
    {
        return Err(format!(
            "its kernels need compute capability {}.{} (Hopper), and the device has {}.{}",
            needs.major, needs.minor, arch.major, arch.minor
        ));
    }
    if dtype.is_complex() && spec.kind() != FormatKind::Csr {
        return Err(format!("its kernels multiply real values, and these are {dtype}; plan csr"));
    }
    let rounds = matches!(spec.kind(), FormatKind::Bcsr | FormatKind::Wcsr | FormatKind::Hybrid);
    if rounds && !precision.allows_tf32(dtype) {
        return Err(format!(
            "its kernels round f32 to TF32, and products are to be in {precision}; those for csr and bmat \
             need not"
        ));
    }
    match spec {
        FormatSpec::Wcsr { window_rows, .. } | FormatSpec::Hybrid { window_rows, .. } => {
            sm90_wcsr_spmm::check(dtype, window_rows)
        }
        FormatSpec::Bcsr { block_rows, block_cols } => check_bcsr(dtype, (block_rows, block_cols)),
        FormatSpec::BMat { .. } => sm90_bmat_spmm::check(dtype),
        FormatSpec::TwoFourE4m3 { .. } if !quantize_e4m3::DTYPES.contains(&dtype) => {
            Err(format!("its kernels round B of f16, bf16 and f32 to e4m3, not of {dtype}"))
        }
        FormatSpec::TwoFour if sm90_two_four_spmm::configs(dtype).is_empty() => Err(format!(
            "sparse tensor cores store two values of four of f16 and bf16, but not of {dtype}"
        )),
        _ => Ok(()),
    }
}

fn check_bcsr(dtype: DType, (rows, cols): (usize, usize)) -> Result<(), String> {
    if sm90_bcsr_spmm::configs(dtype).is_empty() {
        return Err(format!("its kernels multiply f16, bf16 and f32 (as TF32), not {dtype}"));
    }
    if (rows, cols) != (BLOCK, BLOCK) {
        return Err(format!("its kernels take blocks of {BLOCK}×{BLOCK}, not {rows}×{cols}"));
    }
    Ok(())
}

/// Whether there are kernels for a plan; `arch` is the device's, if there is one.
///
/// # Errors
/// What of the plan there are none for.
pub(crate) fn supports(plan: &Plan, arch: Option<Arch>) -> Result<(), Unsupported> {
    let (spec, dtype, precision) = (plan.spec(), plan.dtype(), plan.precision());
    check(spec, dtype, precision, arch)
        .map_err(|reason| refused(spec, dtype, precision, arch, &reason))?;
    // What is added up where rests on the schedule, so it is checked against these very tiles.
    let schedule = plan.schedule();
    let unsupported = |reason| Unsupported::Schedule { reason };
    schedule.check(plan.tiling()).map_err(|error| unsupported(error.to_string()))?;
    if schedule.columns().is_some() && spec.kind() != FormatKind::BMat {
        let reason = "its kernels take all columns of C, and the schedule cuts windows by them";
        return Err(unsupported(reason.to_owned()));
    }
    let adds_atomically = schedule.reduction() == Reduction::Atomic && schedule.split_windows() > 0;
    if adds_atomically && !has_atomic_mode(spec.kind()) {
        return Err(unsupported(format!(
            "the schedule adds parts of windows atomically, and the kernels for {} add in order only; \
             plan with the two-pass reduction",
            spec.kind()
        )));
    }
    Ok(())
}

/// Whether kernels execute an epilogue with such an activation; `None` if there is no epilogue. Those of all formats
/// execute the same ones, and none of complex values.
///
/// # Errors
/// What they lack.
pub(crate) fn takes_epilogue(
    dtype: DType,
    activation: Option<Activation>,
) -> Result<(), Unsupported> {
    let Some(activation) = activation else { return Ok(()) };
    if dtype.is_complex() {
        let reason = "products of complex values are stored without bias and activation".to_owned();
        return Err(Unsupported::Epilogue { reason });
    }
    code(activation).map(|_| ()).map_err(|reason| Unsupported::Epilogue { reason })
}

/// Whether the kernels of a plan compute an aggregation.
///
/// # Errors
/// What they lack.
pub(crate) fn takes_aggregation(plan: &Plan, aggregation: Aggregation) -> Result<(), Unsupported> {
    let reason = match (plan.spec().kind(), aggregation) {
        _ if plan.dtype().is_complex() => {
            format!("the kernels of aggregations take real values, and these are {}", plan.dtype())
        }
        (FormatKind::Csr, Aggregation::Max | Aggregation::Min | Aggregation::Mean) => return Ok(()),
        (FormatKind::Csr, other) => format!("the kernels for csr lack {other:?}"),
        (kind, _) => format!("the kernels for {kind} add up products; plan csr"),
    };
    Err(Unsupported::Aggregation { reason })
}

/// Whether the kernels of a plan write a C of this value type.
///
/// # Errors
/// What they lack.
pub(crate) fn takes_output(plan: &Plan, dtype: DType) -> Result<(), Unsupported> {
    let shape = ProductShape::of(plan);
    shape.check_output(dtype)?;
    match plan.schedule().reduction() {
        Reduction::Atomic if shape.rounds_to(dtype) && has_atomic_mode(plan.spec().kind()) => {
            let reason = "it adds parts of windows to C atomically, in f32".to_owned();
            Err(Unsupported::Output { dtype, reason })
        }
        _ => Ok(()),
    }
}

/// What of a format with its sizes, a value type and a precision [`check`] refuses for this reason.
fn refused(
    spec: FormatSpec,
    dtype: DType,
    precision: Precision,
    arch: Option<Arch>,
    reason: &str,
) -> Unsupported {
    let reason = format!("{spec} of {dtype}: {reason}");
    match FORMATS.into_iter().find(|&(known, _)| known == spec.kind()) {
        None => Unsupported::Format { format: spec.kind(), reason },
        Some((_, Some(needs))) if arch.is_some_and(|arch| arch != needs) => {
            Unsupported::Device { reason }
        }
        Some(_) if check(spec, dtype, Precision::Tf32, arch).is_ok() => {
            Unsupported::Precision { precision, reason }
        }
        // Where the same sizes are multiplied in another value type, it is for the value type.
        Some(_)
            if DType::REAL.into_iter().any(|other| check(spec, other, precision, arch).is_ok()) =>
        {
            Unsupported::ValueType { dtype, reason }
        }
        Some(_) => Unsupported::Sizes { spec, reason },
    }
}

/// Whether the kernels of a format can add parts of a window atomically.
pub(crate) fn has_atomic_mode(kind: FormatKind) -> bool {
    kind == FormatKind::Wcsr
}

#[cfg(test)]
mod tests {
    use super::super::COMPLEX;
    use super::*;

    #[test]
    fn what_is_missing_is_said_without_the_name_of_the_format() {
        let wcsr = |window_rows| FormatSpec::Wcsr { window_rows, pad_cols: 8 };
        let bcsr = |size| FormatSpec::Bcsr { block_rows: size, block_cols: size };
        let tf32 = Precision::Tf32;
        let a100 = Some(Arch { major: 8, minor: 0 });
        let (hopper, blackwell) = (Some(Arch::SM_90A), Some(Arch { major: 10, minor: 0 }));
        for (spec, dtype, arch, said) in [
            (wcsr(16), DType::F32, a100, "compute capability 9.0 (Hopper), and the device has 8.0"),
            (bcsr(64), DType::F16, blackwell, "9.0 (Hopper), and the device has 10.0"),
            (wcsr(16), DType::F64, hopper, "f16, bf16 and f32 (as TF32), not f64"),
            (bcsr(64), DType::F64, None, "f16, bf16 and f32 (as TF32), not f64"),
            (bcsr(16), DType::F32, hopper, "blocks of 64×64, not 16×16"),
            (
                wcsr(12),
                DType::F32,
                None,
                "windows of 8 rows, or a multiple of that up to 64, not 12",
            ),
            (wcsr(72), DType::F32, hopper, "up to 64, not 72"),
            (wcsr(0), DType::F32, hopper, "up to 64, not 0"),
            (FormatSpec::TwoFour, DType::F16, a100, "9.0 (Hopper), and the device has 8.0"),
            (FormatSpec::TwoFour, DType::F32, hopper, "f16 and bf16, but not of f32"),
            (FormatSpec::TwoFour, DType::F64, None, "f16 and bf16, but not of f64"),
            (
                FormatSpec::TwoFourE4m3 { scales: girih_formats::ScalesPer::Row },
                DType::F64,
                None,
                "f16, bf16 and f32 to e4m3, not of f64",
            ),
            (FormatSpec::BMat { pattern_only: false }, DType::F32, a100, "compute capability 9.0"),
            (FormatSpec::BMat { pattern_only: true }, DType::F64, hopper, "not f64"),
            (
                FormatSpec::BlockedEll { block_size: 16 },
                DType::F16,
                hopper,
                "kernels for csr, bcsr, wcsr, bmat, two-four, hybrid",
            ),
            (FormatSpec::BlockedEll { block_size: 16 }, DType::F32, None, "no CUDA kernel"),
        ] {
            let reason = check(spec, dtype, tf32, arch).unwrap_err();
            assert!(reason.contains(said), "{spec} of {dtype}: {reason}");
        }
        for dtype in DType::REAL {
            assert_eq!(check(FormatSpec::Csr, dtype, tf32, a100), Ok(()));
        }
        for dtype in COMPLEX {
            for precision in Precision::ALL {
                assert_eq!(check(FormatSpec::Csr, dtype, precision, a100), Ok(()));
            }
            for spec in [bcsr(64), wcsr(16), FormatSpec::BMat { pattern_only: false }] {
                let reason = check(spec, dtype, tf32, hopper).unwrap_err();
                assert!(reason.contains("real values") && reason.contains("csr"), "{reason}");
                assert!(matches!(
                    refused(spec, dtype, tf32, hopper, &reason),
                    Unsupported::ValueType { dtype: of, .. } if of == dtype
                ));
            }
        }
        assert_eq!(check(wcsr(24), DType::Bf16, tf32, hopper), Ok(()));
        let refused = |spec, dtype, arch| refused(spec, dtype, tf32, arch, "why");
        let ell = FormatSpec::BlockedEll { block_size: 16 };
        assert!(matches!(
            refused(ell, DType::F32, hopper),
            Unsupported::Format { format: FormatKind::BlockedEll, .. }
        ));
        assert!(matches!(refused(wcsr(16), DType::F32, a100), Unsupported::Device { .. }));
        assert!(matches!(
            refused(wcsr(16), DType::F64, hopper),
            Unsupported::ValueType { dtype: DType::F64, .. }
        ));
        let sizes = refused(bcsr(16), DType::F32, None);
        assert!(matches!(sizes, Unsupported::Sizes { spec, .. } if spec == bcsr(16)));
        assert_eq!(sizes.to_string(), "bcsr 16x16 of f32: why");
        assert_eq!(check(bcsr(64), DType::F32, tf32, None), Ok(()));
        for pattern_only in [false, true] {
            assert_eq!(check(FormatSpec::BMat { pattern_only }, DType::F16, tf32, hopper), Ok(()));
        }
        assert_eq!(check(FormatSpec::TwoFour, DType::Bf16, tf32, hopper), Ok(()));
    }
    #[test]
    fn tensor_cores_alone_are_refused_for_their_rounding() {
        let hopper = Some(Arch::SM_90A);
        let wcsr = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
        let bcsr = FormatSpec::Bcsr { block_rows: BLOCK, block_cols: BLOCK };
        for precision in [Precision::ThreeTf32, Precision::F32] {
            for spec in [wcsr, bcsr] {
                let reason = check(spec, DType::F32, precision, hopper).unwrap_err();
                assert!(reason.contains(&format!("in {precision}")), "{reason}");
                let refused = refused(spec, DType::F32, precision, hopper, &reason);
                assert!(
                    matches!(refused, Unsupported::Precision { precision: of, .. } if of == precision)
                );
                // 16 bits are multiplied as they are.
                assert_eq!(check(bcsr, DType::Bf16, precision, hopper), Ok(()));
            }
            for spec in [FormatSpec::Csr, FormatSpec::BMat { pattern_only: true }] {
                assert_eq!(check(spec, DType::F32, precision, hopper), Ok(()));
            }
        }
    }
}
