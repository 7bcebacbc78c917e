//! Records of what a GPU computed: a zip archive, one entry a case, empty where it stopped the
//! kernel.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use xxhash_rust::xxh3::xxh3_64;

use crate::case::{Case, Judged};
use crate::device::Gpu;

/// Bytes of an output that are kept as they are.
const KEPT: usize = 1024;

/// Tells a process of this test which case to start with, and where to write outputs.
const FROM: &str = "PTX_EMU_RECORD_FROM";

/// Runs all cases on the GPU and writes their outputs to an archive.
///
/// A kernel that the GPU stops takes its process with it: another one goes on with the next case.
///
/// # Panics
/// Without a GPU, or if a file can't be written.
#[expect(clippy::print_stderr, reason = "says what the device did not accept")]
pub(crate) fn write(path: &Path, families: &[(&str, Vec<Case>)]) {
    let cases: Vec<(&str, &Case)> = families
        .iter()
        .flat_map(|(family, cases)| cases.iter().map(|case| (*family, case)))
        .collect();
    let folder = path.with_extension("outputs");
    let output_file = |i: usize| folder.join(i.to_string());
    if let Ok(from) = std::env::var(FROM) {
        let gpu = Gpu::open().unwrap();
        fs::write(folder.join("device"), &gpu.description).unwrap();
        for (i, (family, case)) in cases.iter().enumerate().skip(from.parse().unwrap()) {
            match gpu.run(case) {
                Ok(output) => fs::write(output_file(i), kept(case, &output)).unwrap(),
                Err(error) => {
                    eprintln!("{family}: {}: {error}", case.name);
                    fs::write(output_file(i), []).unwrap();
                    return;
                }
            }
        }
        return;
    }
    fs::create_dir(&folder).unwrap();
    while let Some(next) = (0..cases.len()).find(|&i| !output_file(i).exists()) {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["record_hardware", "--nocapture"])
            .env(FROM, next.to_string())
            .status()
            .unwrap();
        assert!(status.success() && output_file(next).exists(), "case {next} was not run");
    }
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    let device = fs::read_to_string(folder.join("device")).unwrap();
    archive.set_comment(device.as_str()).unwrap();
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(zip::DateTime::default());
    for (i, (family, case)) in cases.iter().enumerate() {
        archive.start_file(entry_name(family, case), options).unwrap();
        archive.write_all(&fs::read(output_file(i)).unwrap()).unwrap();
    }
    archive.finish().unwrap();
    fs::remove_dir_all(&folder).unwrap();
}

/// Of a long output its start, and where all of it must be equal its hash.
pub(crate) fn kept(case: &Case, output: &[u8]) -> Vec<u8> {
    match output.split_at_checked(KEPT) {
        Some((start, rest)) if !rest.is_empty() && case.judged == Judged::Exactly => {
            [start, &xxh3_64(output).to_le_bytes()].concat()
        }
        Some((start, _)) => start.to_vec(),
        None => output.to_vec(),
    }
}

/// What was recorded, by the names of entries.
pub(crate) fn read(path: &Path) -> HashMap<String, Vec<u8>> {
    let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
    let mut outputs = HashMap::new();
    for i in 0..archive.len() {
        let mut file = archive.by_index(i).unwrap();
        let mut output = Vec::new();
        file.read_to_end(&mut output).unwrap();
        outputs.insert(file.name().unwrap().to_string(), output);
    }
    outputs
}

/// The key is in the name, so that what another kernel or other inputs gave is not found.
pub(crate) fn entry_name(family: &str, case: &Case) -> String {
    format!("{family}/{}/{:016x}", case.name.replace('/', "|"), case.key())
}
