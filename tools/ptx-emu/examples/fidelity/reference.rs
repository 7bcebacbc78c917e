//! Inputs and expected results.
//!
//! Inputs are small integers, so every sum is exact in f32 whatever the order of its additions, and
//! a kernel's result can be compared bit by bit.

use half::bf16;

/// A stream of pseudo-random numbers (splitmix64), the same for the same seed.
pub(crate) struct Stream(pub(crate) u64);

impl Stream {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An integer in `low..=high`.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low + 1) as u64) as i64
    }

    /// A number in `-1.0..1.0`.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / 8_388_608.0 - 1.0
    }
}

/// `n` integers of `-4..=4`.
pub(crate) fn small(n: usize, seed: u64) -> Vec<f32> {
    let mut stream = Stream(seed);
    (0..n).map(|_| stream.between(-4, 4) as f32).collect()
}

/// To bf16: exact for small integers, otherwise to nearest even.
pub(crate) fn to_bf16(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&value| bf16::from_f32(value)).collect()
}

/// C\[m\]\[n\] = Σ A\[m\]\[k\]·B\[k\]\[n\], all row-major.
pub(crate) fn product(m: usize, n: usize, k: usize, a: &[f32], b: &[f32]) -> Vec<f32> {
    let mut c = vec![0.0; m * n];
    for (a, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (c, &b) in c.iter_mut().zip(b) {
                *c += a * b;
            }
        }
    }
    c
}

/// `rows`×`columns` to `columns`×`rows`.
pub(crate) fn transposed<T: Copy>(rows: usize, columns: usize, values: &[T]) -> Vec<T> {
    (0..columns).flat_map(|j| (0..rows).map(move |i| values[i * columns + j])).collect()
}

/// Says where the first difference is and how many there are.
pub(crate) fn compare<T: PartialEq + std::fmt::Debug>(
    got: &[T],
    expected: &[T],
) -> Result<(), String> {
    let wrong = got.iter().zip(expected).filter(|(got, expected)| got != expected).count();
    if wrong == 0 && got.len() == expected.len() {
        return Ok(());
    }
    let first = got.iter().zip(expected).position(|(got, expected)| got != expected).unwrap_or(0);
    Err(format!(
        "{wrong} of {} differ, first at {first}: {:?} instead of {:?}",
        expected.len(),
        got.get(first),
        expected.get(first)
    ))
}

/// As [`compare`], within an absolute and a relative tolerance.
pub(crate) fn close(
    got: &[f32],
    expected: &[f32],
    absolute: f32,
    relative: f32,
) -> Result<(), String> {
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        let near = (got - expected).abs() <= absolute + relative * expected.abs();
        if !near {
            return Err(format!("at {i}: {got} instead of {expected}"));
        }
    }
    Ok(())
}
