//! Sizes, times, rates and counts as people read them.

use std::time::Duration;

use girih::DType;

/// Bytes with a binary prefix: `512 B`, `1.50 KiB`, `4.00 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    // 1023.995 and above would be printed as 1024.00.
    while value >= 1023.995 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.2} {}", UNITS[unit])
}

/// A time with three significant digits: `12.3 µs`, `4.56 ms`, `78.9 s`.
pub fn time(duration: Duration) -> String {
    let s = duration.as_secs_f64();
    let (value, unit) = if s < 1e-3 {
        (s * 1e6, "µs")
    } else if s < 1.0 {
        (s * 1e3, "ms")
    } else {
        (s, "s")
    };
    let decimals = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.decimals$} {unit}")
}

/// Something per second, with a decimal prefix: `rate(3.2e9, "B")` is `3.20 GB/s`.
pub fn rate(per_second: f64, what: &str) -> String {
    let (value, prefix) = if per_second >= 1e9 {
        (per_second / 1e9, "G")
    } else if per_second >= 1e6 {
        (per_second / 1e6, "M")
    } else if per_second >= 1e3 {
        (per_second / 1e3, "k")
    } else {
        (per_second, "")
    };
    format!("{value:.2} {prefix}{what}/s")
}

/// Flops of a product with `nnz` entries and `n` columns of a value type: 2 for each multiply-add, 8 for a complex one.
/// No more than `u64::MAX`.
pub fn flops(dtype: DType, nnz: usize, n: usize) -> u64 {
    let of_one = if dtype.is_complex() { 8 } else { 2 };
    (nnz as u64).saturating_mul(of_one).saturating_mul(n as u64)
}

/// 10⁹ [flops] per second of a product.
pub fn gflops(flops: u64, time: Duration) -> f64 {
    // A clock too coarse for an empty product must not make it infinitely fast.
    flops as f64 / time.as_secs_f64().max(1e-9) / 1e9
}

/// A count with its digits in groups of three: `1 234 567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_within_their_unit() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes((1 << 20) - 1), "1.00 MiB");
        assert_eq!(bytes(4 << 30), "4.00 GiB");
        assert_eq!(bytes(u64::MAX), "16.00 EiB");
    }

    #[test]
    fn times_and_counts_read_well() {
        assert_eq!(time(Duration::from_nanos(12_345)), "12.3 µs");
        assert_eq!(time(Duration::from_micros(4_567)), "4.57 ms");
        assert_eq!(time(Duration::from_millis(123_456)), "123 s");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(123), "123");
        assert_eq!(rate(3.2e9, "B"), "3.20 GB/s");
        assert_eq!(rate(12.0, "nnz"), "12.00 nnz/s");
    }

    #[test]
    fn a_complex_multiply_add_is_four_real_ones() {
        let of = |dtype| flops(dtype, 30, 7);
        assert_eq!(
            [DType::F16, DType::F64, DType::C32, DType::C64].map(of),
            [420, 420, 1680, 1680]
        );
        assert_eq!(gflops(of(DType::C32), Duration::from_nanos(1680)), 1.0);
        assert_eq!(flops(DType::F32, usize::MAX, 2), u64::MAX);
    }
}
