#![no_main]
#[path = "../src/npz.rs"]
mod target;
#[path = "../src/worker.rs"]
mod worker;

libfuzzer_sys::fuzz_target!(init: worker::start(), |data: &[u8]| target::run(data));
