//! The machine a plan is for: built in, this one, or from a file.

use std::path::Path;

use girih::DType;
use girih::cpu::Isa;
use girih::cpu::roofline::{Bandwidth, Roofline, RooflineOptions};
use girih::planner::{CpuFacts, DeviceFileError, DeviceSpec, MeasuredRates};

use crate::error::{Class, CliError};
use crate::machine::Machine;

/// This CPU, by what the system says of it.
const THIS: &str = "this";

/// This CPU, with its bandwidths and peaks measured.
const THIS_MEASURED: &str = "this-measured";

/// The device that was named.
///
/// # Errors
/// If it is none of those built in and no file, or the file is not a device.
pub(crate) fn find(name: &str) -> Result<DeviceSpec, CliError> {
    match name {
        THIS => return Ok(this_cpu(None)),
        THIS_MEASURED => return measured_cpu(),
        _ => {}
    }
    if let Some(device) = DeviceSpec::builtin(name) {
        return Ok(device);
    }
    DeviceSpec::read(Path::new(name)).map_err(|error| match error {
        DeviceFileError::Io { .. } => {
            let known = DeviceSpec::builtin_names().collect::<Vec<_>>().join(", ");
            let what = format!(
                "{name} is no device: {known}, {THIS}, {THIS_MEASURED}, or the path of a file that \
                 girih calibrate or you wrote"
            );
            CliError::input(what).because(error)
        }
        error => CliError::input(format!("device file {name}")).because(error),
    })
}

/// This CPU with its bandwidths and peaks measured, in about a second.
///
/// # Errors
/// If there is not enough memory to measure with.
pub(crate) fn measured_cpu() -> Result<DeviceSpec, CliError> {
    let last_level = Machine::this().last_level().unwrap_or(64 << 20);
    // Memory shows only well past the last cache.
    let options = RooflineOptions { max_bytes: (last_level * 4).max(128 << 20), seconds: 1.0 };
    let roofline = Roofline::measure(Isa::best(), &options).map_err(|error| {
        CliError::new(
            Class::Failed,
            format!("cannot measure this CPU; --device {THIS} does without"),
        )
        .because(error)
    })?;
    let from_memory = roofline.bandwidths().last().map_or(0.0, Bandwidth::best);
    Ok(this_cpu(Some(MeasuredRates {
        memory_bandwidth: from_memory,
        // Half of the last cache: what surely is in it.
        cache_bandwidth: roofline.bandwidth(last_level as f64 / 2.0),
        f32_flops: roofline.peak(DType::F32),
        f64_flops: roofline.peak(DType::F64),
    })))
}

fn this_cpu(measured: Option<MeasuredRates>) -> DeviceSpec {
    DeviceSpec::of_cpu(&CpuFacts { measured, ..CpuFacts::here() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_name_and_by_path() {
        assert_eq!(find("h200").unwrap().workers, 132);
        let this = find("this").unwrap();
        assert_eq!(this, DeviceSpec::this_cpu());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mine.toml");
        std::fs::write(&path, this.to_toml()).unwrap();
        assert_eq!(find(path.to_str().unwrap()).unwrap(), this);
        std::fs::write(&path, "name = 3").unwrap();
        assert_eq!(find(path.to_str().unwrap()).unwrap_err().exit_code(), 3);
        let error = find("h201").unwrap_err();
        assert!(error.to_string().contains("h100-sxm") && error.exit_code() == 3, "{error}");
    }
}
