//! Device files: what is read has numbers that prices can be made of, and is read back as it was written.

use girih_planner::{DeviceSpec, PlanOptions, Planner};

/// Built-in files whose lines an input changes: with rates and with fits, of GPUs and of CPUs.
const FILES: [&str; 4] = [
    include_str!("../../crates/planner/devices/h100-sxm.toml"),
    include_str!("../../crates/planner/devices/a100.toml"),
    include_str!("../../crates/planner/devices/cpu.toml"),
    include_str!("../../crates/planner/devices/zen3.toml"),
];

/// Runs the target on an input: a file, or lines of one and what replaces them.
pub(crate) fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let text = if flags & 1 == 0 {
        let file = FILES[usize::from(flags >> 1) % FILES.len()];
        let mut lines: Vec<&[u8]> = file.as_bytes().split(|&b| b == b'\n').collect();
        for change in rest.split(|&b| b == b'\n') {
            let Some((&line, value)) = change.split_first() else { continue };
            let at = usize::from(line) % lines.len();
            lines[at] = value;
        }
        lines.join(&b'\n')
    } else {
        rest.to_vec()
    };
    let Ok(text) = String::from_utf8(text) else { return };
    let Ok(device) = DeviceSpec::from_toml(&text) else { return };
    let again = DeviceSpec::from_toml(&device.to_toml());
    assert!(again.is_ok_and(|again| again == device), "{text}");
    let Ok(a) = girih_formats::Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0f32; 3])
    else {
        unreachable!("two rows and three entries")
    };
    // It may refuse, but not stop.
    let _ = Planner::new(PlanOptions::new(8).target(device)).plan(&a);
}
