#![no_main]
#[path = "../src/matrix_market.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
