//! The options and their target as JSON, so that both can grow without a new version. Files before version 3.1
//! hold the target as TOML, which takes ten times as long to read.
//!
//! As in [`super::explanation`], these types are the file's own: what options gain takes a default here.

use serde::{Deserialize, Serialize};

use super::PlanFileError;
use super::text::{Number, printable};
use super::wire::{ReorderCode, SpaceCode, SpecCode, size};
use crate::device::DeviceSpec;
use crate::kernels::Kernels;
use crate::options::{FormatChoice, Op, PlanOptions};
use crate::precision::Precision;

/// The longest text of a target: one with all the fits it may have is shorter.
const MAX_TARGET: usize = 1 << 18;

#[derive(Serialize, Deserialize)]
struct OptionsText {
    n: u64,
    /// Not written of a plan of the matrix itself, so that its file is what it was before there was a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    op: Option<OpText>,
    format: FormatText,
    reorder: ReorderCode,
    space: SpaceCode,
    exact_nonfinite: bool,
    /// Not written of the default, so that the file of such a plan is what it was before there was a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    precision: Option<PrecisionText>,
    memory_limit: Option<u64>,
    keep_slot_map: bool,
    deterministic: bool,
    planning_seconds: Option<Number>,
    /// Not written of a plan for many products, as `op`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    once: bool,
}

#[derive(Serialize, Deserialize)]
enum OpText {
    Transpose,
}

#[derive(Serialize, Deserialize)]
enum PrecisionText {
    ThreeTf32,
    F32,
}

#[derive(Serialize, Deserialize)]
enum FormatText {
    Auto,
    Fixed(SpecCode),
}

/// Encodes options: all but their target, and their target.
pub(super) fn encode(options: &PlanOptions) -> Result<(String, String), PlanFileError> {
    let PlanOptions {
        n,
        op,
        format,
        reorder,
        space,
        exact_nonfinite,
        precision,
        memory_limit,
        keep_slot_map,
        deterministic,
        planning_seconds,
        once,
        target,
        // A backend's: whoever plans again gives them again.
        kernels: _,
    } = options;
    let text = OptionsText {
        n: *n as u64,
        op: match op {
            Op::None => None,
            Op::Transpose => Some(OpText::Transpose),
        },
        format: match *format {
            FormatChoice::Auto => FormatText::Auto,
            FormatChoice::Fixed(spec) => FormatText::Fixed(spec.into()),
        },
        reorder: (*reorder).into(),
        space: (*space).into(),
        exact_nonfinite: *exact_nonfinite,
        precision: match precision {
            Precision::Tf32 => None,
            Precision::ThreeTf32 => Some(PrecisionText::ThreeTf32),
            Precision::F32 => Some(PrecisionText::F32),
        },
        memory_limit: *memory_limit,
        keep_slot_map: *keep_slot_map,
        deterministic: *deterministic,
        planning_seconds: planning_seconds.map(Number),
        once: *once,
    };
    let bad = |e| PlanFileError::header(format!("the options cannot be encoded: {e}"));
    let target = serde_json::to_string(target).map_err(bad)?;
    if target.len() > MAX_TARGET {
        return Err(too_long());
    }
    Ok((serde_json::to_string(&text).map_err(bad)?, target))
}

/// Decodes options and their target.
pub(super) fn decode(options: &str, target: &str) -> Result<PlanOptions, PlanFileError> {
    let bad = |e: serde_json::Error| {
        PlanFileError::header(format!("the options: {}", printable(&e.to_string())))
    };
    let text: OptionsText = serde_json::from_str(options).map_err(bad)?;
    Ok(PlanOptions {
        n: size(text.n)?,
        op: text.op.map_or(Op::None, |OpText::Transpose| Op::Transpose),
        format: match text.format {
            FormatText::Auto => FormatChoice::Auto,
            FormatText::Fixed(spec) => FormatChoice::Fixed(spec.try_into()?),
        },
        reorder: text.reorder.into(),
        space: text.space.into(),
        exact_nonfinite: text.exact_nonfinite,
        precision: match text.precision {
            None => Precision::Tf32,
            Some(PrecisionText::ThreeTf32) => Precision::ThreeTf32,
            Some(PrecisionText::F32) => Precision::F32,
        },
        memory_limit: text.memory_limit,
        keep_slot_map: text.keep_slot_map,
        deterministic: text.deterministic,
        planning_seconds: text.planning_seconds.map(|seconds| seconds.0),
        once: text.once,
        target: decode_target(target)?,
        kernels: Kernels::default(),
    })
}

fn too_long() -> PlanFileError {
    PlanFileError::Target { reason: "its text is over the limit of 256 KiB".to_owned() }
}

fn decode_target(text: &str) -> Result<DeviceSpec, PlanFileError> {
    let bad = |reason: &str| PlanFileError::Target { reason: printable(reason) };
    if text.len() > MAX_TARGET {
        return Err(too_long());
    }
    let target: DeviceSpec = if text.starts_with('{') {
        serde_json::from_str(text).map_err(|e| bad(&e.to_string()))?
    } else {
        // Not `from_toml`, whose errors quote lines for whoever edits a file.
        toml::from_str(text).map_err(|e| bad(e.message()))?
    };
    target.check().map_err(bad)?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Fit, Quality, Terms};
    use crate::ordering::{Reorder, Space};
    use girih_formats::{DType, FormatSpec};
    use girih_reorder::Method;

    #[test]
    fn options_come_back() {
        let spec = FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 };
        let target = DeviceSpec::builtin("h200").unwrap();
        for options in [
            PlanOptions::default(),
            PlanOptions::default().precision(Precision::ThreeTf32),
            PlanOptions::new(1).once(true),
            PlanOptions {
                n: 3,
                op: Op::Transpose,
                format: FormatChoice::Fixed(spec),
                reorder: Reorder::By(Method::Random { seed: u64::MAX }),
                space: Space::Permuted,
                exact_nonfinite: true,
                precision: Precision::F32,
                memory_limit: Some(u64::MAX),
                keep_slot_map: true,
                deterministic: false,
                planning_seconds: Some(0.1),
                target,
                ..PlanOptions::default()
            },
        ] {
            let (text, target) = encode(&options).unwrap();
            assert_eq!(decode(&text, &target).unwrap(), options);
        }
    }

    /// As files were before there was a choice, which readers of that time still take.
    #[test]
    fn tf32_is_not_written() {
        let (text, target) = encode(&PlanOptions::default()).unwrap();
        assert!(!text.contains("precision"), "{text}");
        assert_eq!(decode(&text, &target).unwrap().precision, Precision::Tf32);
        let (text, target) = encode(&PlanOptions::default().precision(Precision::F32)).unwrap();
        assert!(text.contains(r#""precision":"F32""#), "{text}");
        let unknown = text.replace(r#""F32""#, r#""F8""#);
        assert!(decode(&unknown, &target).unwrap_err().to_string().contains("F8"));
    }

    #[test]
    fn a_target_with_all_the_fits_it_may_have_is_below_the_limit() {
        let fit = Fit {
            spec: FormatSpec::Wcsr { window_rows: usize::MAX >> 1, pad_cols: usize::MAX >> 1 },
            dtype: DType::Bf16,
            precision: Some(Precision::ThreeTf32),
            seconds: Terms::from_array([-1.234_567_890_123_456_7e-30; Terms::COUNT]),
            quality: Quality {
                held_out: u32::MAX,
                r2: -1.234_567_890_123_456_7e-30,
                mean_relative_error: -1.234_567_890_123_456_7e-30,
                max_relative_error: -1.234_567_890_123_456_7e-30,
            },
        };
        let target = DeviceSpec { fits: vec![fit; 256], ..DeviceSpec::cpu() };
        let text = serde_json::to_string(&target).unwrap();
        assert!(text.len() < MAX_TARGET, "{}", text.len());
    }

    #[test]
    fn nested_targets_are_refused() {
        for text in [
            format!("name = {}", "[".repeat(MAX_TARGET / 2)),
            format!("name = {}", "{ a = ".repeat(MAX_TARGET / 8)),
            format!("{} = 1", vec!["a"; MAX_TARGET / 4].join(".")),
            format!("{{\"name\":{}", "[".repeat(MAX_TARGET / 2)),
            "{\"a\":".repeat(MAX_TARGET / 8),
        ] {
            let error = decode_target(&text).unwrap_err();
            assert!(matches!(error, PlanFileError::Target { .. }), "{error}");
        }
    }

    #[test]
    fn a_target_that_is_no_machine_is_named_on_one_line() {
        let good = DeviceSpec::cpu().to_toml();
        let json = serde_json::to_string(&DeviceSpec::cpu()).unwrap();
        for (text, expected) in [
            (String::new(), "missing field"),
            (good.replace("workers = ", "workers = 0 # "), "workers"),
            (good.replace("[efficiency]", "[efficiency]\nnew = 1.0"), "unknown field"),
            (format!("\"\\u001b[31m\" = 1\n{good}"), "unknown field"),
            (good.replace("memory_bandwidth = ", "memory_bandwidth = nan # "), "positive"),
            (good.replace("cache_bytes = ", "cache_bytes = -"), "invalid"),
            (" ".repeat(MAX_TARGET + 1), "256 KiB"),
            ("{}".to_owned(), "missing field"),
            ("{\"\\u001b[31m\":1}".to_owned(), "unknown field"),
            (json.replace("\"workers\":", "\"workers\":-"), "invalid"),
            (json.replace("\"memory_bandwidth\":", "\"memory_bandwidth\":-"), "positive"),
        ] {
            let error = decode_target(&text).unwrap_err();
            assert!(matches!(error, PlanFileError::Target { .. }), "{error}");
            let message = error.to_string();
            assert!(message.contains(expected), "{message:?} does not say {expected:?}");
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }
}
