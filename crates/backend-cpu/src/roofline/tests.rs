use girih_simd::{Chains, Work};

use super::*;
use crate::kernels::Kernels;

fn point(bytes: u64, best: f64) -> Bandwidth {
    Bandwidth { bytes, read: best / 2.0, triad: best, streaming_triad: best / 4.0 }
}

/// 100 B/s at 1 KiB, 40 B/s at 4 KiB, 10 B/s at 8 KiB; 8 flop/s in f32, 4 in f64.
fn made_up() -> Roofline {
    Roofline {
        isa: Isa::Portable,
        threads: 1,
        peaks: [8.0, 4.0],
        bandwidths: vec![point(1024, 100.0), point(4096, 40.0), point(8192, 10.0)],
    }
}

#[test]
fn bandwidth_is_interpolated_over_the_logarithm() {
    let roofline = made_up();
    for (bytes, expected) in [
        (0.0, 100.0),
        (1.0, 100.0),
        (1024.0, 100.0),
        // Half way from 2^10 to 2^12.
        (2048.0, 70.0),
        (4096.0, 40.0),
        (4096.0 * 2f64.sqrt(), 25.0),
        (8192.0, 10.0),
        (1e12, 10.0),
    ] {
        let found = roofline.bandwidth(bytes);
        assert!((found - expected).abs() < 1e-9, "{bytes}: {found}");
    }
    let single = Roofline { bandwidths: vec![point(1024, 100.0)], ..made_up() };
    assert_eq!([1.0, 1024.0, 1e6].map(|bytes| single.bandwidth(bytes)), [100.0; 3]);
}

#[test]
fn the_floor_is_the_longer_of_two_times() {
    let roofline = made_up();
    // 1024 bytes take 10.24 s.
    let floor = |dtype, flops| roofline.floor(dtype, 1024.0, flops);
    assert_eq!(floor(DType::F32, 80.0), Floor { seconds: 10.24, limit: Limit::Bandwidth });
    assert_eq!(floor(DType::F32, 160.0), Floor { seconds: 20.0, limit: Limit::Compute });
    assert_eq!(floor(DType::Bf16, 160.0), floor(DType::F32, 160.0));
    assert_eq!(floor(DType::F64, 80.0), Floor { seconds: 20.0, limit: Limit::Compute });
    let nothing = roofline.floor(DType::F32, 0.0, 0.0);
    assert_eq!(nothing, Floor { seconds: 0.0, limit: Limit::Bandwidth });
}

#[test]
fn measured_figures_are_positive_and_finite() {
    let options = RooflineOptions { max_bytes: 1 << 20, seconds: 0.02 };
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let roofline = pool.install(|| Roofline::measure(isa, &options)).unwrap();
            assert_eq!((roofline.isa(), roofline.threads()), (isa, threads));
            let sizes: Vec<u64> = roofline.bandwidths().iter().map(|point| point.bytes).collect();
            assert!(sizes.len() == 3 && sizes.is_sorted(), "{sizes:?}");
            let rates = roofline.bandwidths().iter().flat_map(|point| {
                assert!(point.best() >= point.read && point.best() >= point.streaming_triad);
                [point.read, point.triad, point.streaming_triad]
            });
            let peaks = [DType::F32, DType::F64].map(|dtype| roofline.peak(dtype));
            assert!(rates.chain(peaks).all(|rate| rate.is_finite() && rate > 0.0), "{roofline:?}");
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let measure = |max_bytes, seconds| {
        Roofline::measure(Isa::Portable, &RooflineOptions { max_bytes, seconds })
    };
    for (max_bytes, seconds) in [(1000, 0.0), (1 << 20, -1.0), (1 << 20, f64::NAN)] {
        let error = measure(max_bytes, seconds).unwrap_err();
        assert!(matches!(error, RooflineError::Option { .. }), "{error}");
    }
    for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_available()) {
        let error = Roofline::measure(isa, &RooflineOptions::default()).unwrap_err();
        assert_eq!(error, RooflineError::Unavailable { isa });
    }
}

/// The loops do what they are timed for, on every instruction set.
#[test]
fn the_loops_compute_what_they_say() {
    // Whole vectors, and more of them than any loop takes at a time.
    const LEN: usize = 16 * 29;
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
        let kernels = Kernels::<f32>::new(isa);
        let from: Vec<f32> = (0..LEN).map(|i| i as f32).collect();
        for chains in Chains::ALL {
            // Sums of small integers are exact in any order.
            let sum = kernels.probe(Work::Read { chains, from: &from });
            assert_eq!(sum, (LEN * (LEN - 1) / 2) as f32, "{isa} {chains:?}");
            let vectors = chains.vectors();
            let mut start = vec![1.0f32; vectors * 16];
            start.extend([0.5; 16]);
            start.extend([1.0; 16]);
            // 1, 1.5, 1.75, 1.875.
            let sum = kernels.probe(Work::MulAdd { chains, rounds: 3, start: &start });
            assert_eq!(sum, 1.875 * (vectors * 16) as f32, "{isa} {chains:?}");
        }
        let mut buffer = vec![0.0f32; LEN + 16];
        let skip = (buffer.as_ptr().addr().next_multiple_of(64) - buffer.as_ptr().addr()) / 4;
        for streaming in [false, true] {
            let to = &mut buffer[skip..skip + LEN];
            to.fill(-1.0);
            kernels.probe(Work::Triad { to, b: &from, c: &from, streaming });
            assert!(to.iter().enumerate().all(|(i, &x)| x == 4.0 * i as f32), "{isa}");
        }
    }
}
