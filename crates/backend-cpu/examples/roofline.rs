//! Prints this machine's roofline: `cargo run --release -p girih-backend-cpu --example roofline`.

#![expect(clippy::print_stdout, reason = "an example")]

use girih_backend_cpu::Isa;
use girih_backend_cpu::roofline::{Roofline, RooflineError, RooflineOptions};
use girih_formats::DType;

fn main() -> Result<(), RooflineError> {
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let start = std::time::Instant::now();
        let roofline = Roofline::measure(isa, &RooflineOptions::default())?;
        let [f32_peak, f64_peak] = [DType::F32, DType::F64].map(|t| roofline.peak(t) / 1e9);
        println!(
            "{isa}, {} threads: f32 {f32_peak:.1}, f64 {f64_peak:.1} GFLOP/s ({:.1?})",
            roofline.threads(),
            start.elapsed(),
        );
        for point in roofline.bandwidths() {
            println!(
                "{:8} KiB: read {:6.1}, triad {:6.1}, streaming triad {:6.1} GB/s",
                point.bytes >> 10,
                point.read / 1e9,
                point.triad / 1e9,
                point.streaming_triad / 1e9,
            );
        }
    }
    Ok(())
}
