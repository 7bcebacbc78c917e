//! Timing the loops on every thread of a pool.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use girih_formats::{Buffer, RealAccumulator};
use girih_simd::{Chains, VECTOR_BYTES, Work};

use super::bandwidth::Bandwidth;
use super::error::RooflineError;
use crate::Isa;
use crate::kernels::{CpuScalar, Kernels};

/// The shortest sample: waking the threads of a pool takes some ten microseconds.
const SAMPLE: Duration = Duration::from_millis(3);

/// Samples that a measurement has at least.
const MIN_SAMPLES: u32 = 3;

/// Multiply-adds per chain in one pass.
const ROUNDS: usize = 10_000;

/// Bytes between the arrays of a thread. If all began at the same place within a page, a load could seem to
/// depend on an earlier store to another array.
const APART: usize = 5 * VECTOR_BYTES;

/// Flops per second of dependent chains, on all threads; and the number of chains that reached it.
pub(super) fn peak<A>(isa: Isa, budget: Duration) -> (f64, Chains)
where
    A: CpuScalar<Acc = A> + RealAccumulator,
{
    let kernels = Kernels::<A>::new(isa);
    let lanes = VECTOR_BYTES / size_of::<A>();
    let attempts = Chains::ALL.map(|chains| {
        let vectors = chains.vectors();
        let mut start: Vec<A> =
            (0..vectors * lanes).map(|i| A::from_f64(1.0 + 1e-3 * i as f64)).collect();
        // x < 1 and y > 0: sums converge and are normal numbers all the way.
        start.extend((0..lanes).map(|i| A::from_f64(0.999 - 1e-4 * i as f64)));
        start.extend((0..lanes).map(|i| A::from_f64(1e-3 + 1e-4 * i as f64)));
        let flops = (2 * ROUNDS * vectors * lanes * girih_parallel::current_num_threads()) as f64;
        let rate = best_rate(flops, budget / Chains::ALL.len() as u32, |_| {
            let work = Work::MulAdd { chains, rounds: ROUNDS, start: black_box(&start) };
            black_box(kernels.probe(work));
        });
        (rate, chains)
    });
    attempts.into_iter().fold(attempts[0], |best, next| if next.0 > best.0 { next } else { best })
}

/// Arrays for every thread of the pool, each paged in by the thread that uses it.
pub(super) struct ThreadArrays {
    kernels: Kernels<f32>,
    chains: Chains,
    shares: Vec<Mutex<Arrays>>,
}

impl ThreadArrays {
    /// Allocates for working sets of up to `bytes` bytes in all.
    ///
    /// # Errors
    /// If there is not that much memory.
    pub(super) fn new(isa: Isa, chains: Chains, bytes: u64) -> Result<Self, RooflineError> {
        let threads = girih_parallel::current_num_threads();
        let bytes = bytes as usize / threads + 2 * APART + 4 * VECTOR_BYTES;
        let shares: Vec<Mutex<Arrays>> = (0..threads)
            .map(|_| Ok(Mutex::new(Arrays::new(bytes / size_of::<f32>())?)))
            .collect::<Result<_, RooflineError>>()?;
        let arrays = Self { kernels: Kernels::new(isa), chains, shares };
        rayon::broadcast(|thread| arrays.with(thread.index(), |share| share.values().fill(1.0)));
        Ok(arrays)
    }

    /// Measures how fast all threads go through a working set of about `bytes` bytes in all.
    pub(super) fn bandwidth(&self, bytes: u64, budget: Duration) -> Bandwidth {
        let threads = self.shares.len();
        // Of three arrays per thread.
        let vectors = (bytes as usize / threads / 3 / VECTOR_BYTES).max(1);
        let bytes = (vectors * VECTOR_BYTES * 3 * threads) as f64;
        let rate = |kind: Pass| {
            best_rate(bytes, budget / 3, |thread| {
                self.with(thread, |share| share.pass(&self.kernels, self.chains, vectors, kind));
            })
        };
        Bandwidth {
            bytes: bytes as u64,
            read: rate(Pass::Read),
            triad: rate(Pass::Triad { streaming: false }),
            streaming_triad: rate(Pass::Triad { streaming: true }),
        }
    }

    fn with<R>(&self, thread: usize, f: impl FnOnce(&mut Arrays) -> R) -> R {
        // Contents don't matter, so neither does a panic that left them half written.
        f(&mut self.shares[thread].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Clone, Copy)]
enum Pass {
    Read,
    Triad { streaming: bool },
}

/// One thread's arrays, in one allocation.
struct Arrays {
    values: Buffer<f32>,
}

impl Arrays {
    fn new(len: usize) -> Result<Self, RooflineError> {
        Ok(Self { values: Buffer::zeroed(len)? })
    }

    /// All values from the first that stands at the beginning of a cache line.
    fn values(&mut self) -> &mut [f32] {
        let values = self.values.make_mut();
        let address = values.as_ptr().addr();
        let skip = (address.next_multiple_of(VECTOR_BYTES) - address) / size_of::<f32>();
        values.get_mut(skip..).unwrap_or_default()
    }

    /// Goes once through three arrays of `vectors` cache lines each.
    fn pass(&mut self, kernels: &Kernels<f32>, chains: Chains, vectors: usize, kind: Pass) {
        const APART_LEN: usize = APART / size_of::<f32>();
        let len = vectors * VECTOR_BYTES / size_of::<f32>();
        let (to, rest) = self.values().split_at_mut(len + APART_LEN);
        let (b, c) = rest.split_at(len + APART_LEN);
        let (to, b, c) = (&mut to[..len], &b[..len], &c[..len]);
        match kind {
            Pass::Read => {
                for from in [&*to, b, c] {
                    black_box(kernels.probe(Work::Read { chains, from }));
                }
            }
            Pass::Triad { streaming } => {
                black_box(kernels.probe(Work::Triad { to, b, c, streaming }));
            }
        }
    }
}

/// The highest rate among samples of about `budget` in all: `units` per pass of all threads, over
/// the time until the last thread is through.
fn best_rate(units: f64, budget: Duration, pass: impl Fn(usize) + Sync) -> f64 {
    let sample = |passes: u32| {
        let start = Instant::now();
        rayon::broadcast(|thread| {
            for _ in 0..passes {
                pass(thread.index());
            }
        });
        start.elapsed()
    };
    let begin = Instant::now();
    sample(1);
    // Grows until a sample is long enough, rather than trusting one that may have been disturbed.
    let mut passes = 1;
    let mut time = sample(passes);
    while time < SAMPLE {
        let short = SAMPLE.as_secs_f64() / time.as_secs_f64().max(1e-9);
        passes = (f64::from(passes) * short.clamp(1.2, 16.0)).ceil() as u32;
        time = sample(passes);
    }
    let (mut best, mut samples) = (time, 1);
    while samples < MIN_SAMPLES || begin.elapsed() < budget {
        best = best.min(sample(passes));
        samples += 1;
    }
    units * f64::from(passes) / best.as_secs_f64()
}
