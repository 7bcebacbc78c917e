//! The machine a plan is for: built in, this one, or from a file.

use std::path::Path;

use girih::planner::DeviceSpec;
use girih::planner::device::DeviceFileError;
use girih_measure::calibrate::measured_cpu;

use crate::error::CliError;

/// This CPU, as the system describes it.
const THIS: &str = "this";

/// This CPU, with its bandwidths and peaks measured.
const THIS_MEASURED: &str = "this-measured";

/// Finds a device by its name or file.
///
/// # Errors
/// If it is none of those built in and no file, or the file is not a device.
pub(crate) fn find(name: &str) -> Result<DeviceSpec, CliError> {
    match name {
        THIS => return Ok(DeviceSpec::this_cpu()),
        THIS_MEASURED => return Ok(measured_cpu()?),
        _ => {}
    }
    if let Some(device) = DeviceSpec::builtin(name) {
        return Ok(device);
    }
    DeviceSpec::read(Path::new(name)).map_err(|error| match error {
        DeviceFileError::Io { .. } => {
            let known = DeviceSpec::builtin_names().collect::<Vec<_>>().join(", ");
            let what = format!(
                "there is no device {name}; there are {known}, {THIS}, {THIS_MEASURED}, and device files by \
                 their path"
            );
            CliError::input(what).because(error)
        }
        error => CliError::input(format!("device file {name}")).because(error),
    })
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
