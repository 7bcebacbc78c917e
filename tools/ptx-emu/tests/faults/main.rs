//! Small kernels with one planted fault each, and their repaired twins.
//!
//! Every file has two kernels, `fault` and `repaired`. Whatever the timing of asynchronous
//! operations and the order of warps, the first must end in the report that the table names, and
//! the second must run to its end with the same result.

mod cases;
mod h200;

use cases::{CASES, Case, Expect, Input};
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::{DataType, TensorMap, Tiled};
use ptx_emu::{Arg, Buffer, Device, Gpu, Launch, LaunchError, Module, Schedule, Timing};

fn timings() -> impl Iterator<Item = (Timing, Schedule)> {
    let timings = [Timing::Late, Timing::Eager, Timing::Random(1), Timing::Random(2)];
    let schedules = [Schedule::Fixed, Schedule::Random(3), Schedule::Random(4)];
    timings.into_iter().flat_map(move |timing| schedules.map(|schedule| (timing, schedule)))
}

/// Runs a kernel; what it left in the memory that it may write.
fn run(
    case: &Case,
    module: &Module,
    kernel: &str,
    how: (Timing, Schedule),
) -> Result<Vec<u32>, LaunchError> {
    let mut gpu = Gpu::new(Device::h100());
    let words = |n: u32| -> Vec<u32> { (0..n).map(|i| 100 + i).collect() };
    let mut args: Vec<Arg> = Vec::new();
    let mut tensor = None;
    match case.input {
        Input::None => {}
        Input::Words(n) => args.push(gpu.alloc_from(&words(n)).arg()),
        Input::Tensor { cols, rows, box_dims, swizzle } => {
            let buffer = gpu.alloc_from(&words(cols * rows));
            let map = TensorMap::tiled(&Tiled {
                swizzle: if swizzle { Swizzle::Bytes128 } else { Swizzle::None },
                ..Tiled::new(
                    DataType::Float32,
                    buffer.address(),
                    &[u64::from(cols), u64::from(rows)],
                    &[u64::from(cols) * 4],
                    &box_dims,
                )
            });
            let map = map.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            args.push(Arg::bytes(map.to_bytes()));
            tensor = Some(buffer);
        }
    }
    let output = (case.output > 0).then(|| gpu.alloc_from(&vec![0u32; case.output]));
    args.extend(output.map(Buffer::arg));
    let launch = Launch::grid(case.grid, 1, 1)
        .block(case.block, 1, 1)
        .timing(how.0)
        .schedule(how.1)
        .step_limit(1 << 20);
    gpu.launch(module, kernel, &launch, &args)?;
    let mut result = output.map_or_else(Vec::new, |output| gpu.read(output));
    if let Some(tensor) = tensor {
        result.extend(gpu.read(tensor));
    }
    Ok(result)
}

fn check(case: &Case) -> Result<(), String> {
    let module = Module::parse(case.source);
    let module = &module.map_err(|error| format!("{}: {error}", case.name))?;
    let mut repaired = None;
    for how in timings() {
        let result = run(case, module, "repaired", how)
            .map_err(|error| format!("{}, repaired, {how:?}: {error}", case.name))?;
        if repaired.get_or_insert_with(|| result.clone()) != &result {
            return Err(format!("{}, repaired, {how:?}: another result", case.name));
        }
        match (&case.expect, run(case, module, "fault", how)) {
            (Expect::Report(expected), Err(LaunchError::Fault(fault))) => {
                if !expected(&fault.first.problem) {
                    return Err(format!("{}, {how:?}: {fault}", case.name));
                }
            }
            (Expect::Refusal, Err(LaunchError::SharedMemory { .. })) => {}
            (Expect::Result, Ok(found)) if found != result => {}
            (Expect::Result, Ok(_)) => {
                return Err(format!("{}, {how:?}: the result is right", case.name));
            }
            (_, Ok(_)) => return Err(format!("{}, {how:?}: not found", case.name)),
            (_, Err(error)) => return Err(format!("{}, {how:?}: {error}", case.name)),
        }
    }
    Ok(())
}

#[test]
fn every_fault_is_found_and_no_repair_is_blamed() {
    let failures: Vec<String> = CASES.iter().filter_map(|case| check(case).err()).collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), CASES.len(), failures.join("\n"));
}

#[test]
fn repaired_kernels_compute_what_an_h200_does() {
    let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
    let known: Vec<_> = h200::COMPUTED.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), known.len());
    for case in CASES {
        let module = Module::parse(case.source).expect("legal PTX");
        let result = run(case, &module, "repaired", (Timing::Late, Schedule::Fixed));
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let found = if result.is_empty() { 0 } else { h200::crc32(&result) };
        assert!(h200::COMPUTED.contains(&(case.name, found)), "{}: {found:#010x}", case.name);
    }
}

/// A file that no case names would go untested.
#[test]
fn every_file_is_a_case() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of this file")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".ptx")?.to_owned()))
        .collect();
    files.sort();
    let mut names: Vec<_> = CASES.iter().map(|case| case.name.to_owned()).collect();
    names.sort();
    assert_eq!(files, names);
}
