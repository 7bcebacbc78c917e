//! Devices as TOML: those that are built in, and the user's own.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use thiserror::Error;

use super::DeviceSpec;

/// The devices that are built in, by name.
const BUILTIN: [(&str, &str); 9] = [
    ("cpu", include_str!("../../devices/cpu.toml")),
    ("zen3", include_str!("../../devices/zen3.toml")),
    ("zen4", include_str!("../../devices/zen4.toml")),
    ("zen5", include_str!("../../devices/zen5.toml")),
    ("emerald-rapids", include_str!("../../devices/emerald-rapids.toml")),
    ("h100-sxm", include_str!("../../devices/h100-sxm.toml")),
    ("h100-pcie", include_str!("../../devices/h100-pcie.toml")),
    ("h200", include_str!("../../devices/h200.toml")),
    ("a100", include_str!("../../devices/a100.toml")),
];

/// The largest device file.
const MAX_BYTES: u64 = 1 << 20;

/// A device file that is not one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeviceFileError {
    /// It cannot be read.
    #[error("cannot read device file {path}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is not TOML, or lacks a field or has one that is not known.
    #[error("not a device: {reason}")]
    Syntax {
        /// Where, and what was expected.
        reason: String,
    },
    /// Its numbers are not a machine's.
    #[error("not a device: {reason}")]
    Numbers {
        /// What is wrong.
        reason: &'static str,
    },
}

impl DeviceSpec {
    /// The names of the devices that are built in.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|&(name, _)| name)
    }

    /// A device that is built in; `None` if there is none of that name.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        // Every built-in file is parsed by a test.
        Self::from_toml(text).ok()
    }

    /// A device from the text of a file.
    ///
    /// # Errors
    /// If it is not TOML with a device's fields, or a number cannot be.
    pub fn from_toml(text: &str) -> Result<Self, DeviceFileError> {
        let device: Self = toml::from_str(text)
            .map_err(|e| DeviceFileError::Syntax { reason: e.to_string().trim_end().to_owned() })?;
        device.check().map_err(|reason| DeviceFileError::Numbers { reason })?;
        Ok(device)
    }

    /// A device from a file.
    ///
    /// # Errors
    /// If the file cannot be read, is no regular file or not a device, or is larger than 1 MiB.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, DeviceFileError> {
        let path = path.as_ref();
        let failed = |source| DeviceFileError::Io { path: path.display().to_string(), source };
        // A pipe may have no writer, and some devices have no end.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        // Some files are longer than the system says.
        let file = File::open(path).map_err(failed)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(failed(io::Error::other("it is larger than a device file can be")));
        }
        Self::from_toml(&text)
    }

    /// The text of a file that [`from_toml`](Self::from_toml) reads back.
    ///
    /// # Panics
    /// Never: every field has a form in TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_else(|e| unreachable!("a device in TOML: {e}"))
    }
}
