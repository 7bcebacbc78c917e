//! How well schedules balance, by replaying them: the claims of Voltrix §4.6, for any machine to check.

use girih_planner::Schedule;
use girih_planner::cost::LinearCost;
use girih_planner::schedule::{Reduction, TilePtr};
use girih_planner::simulate::{ScheduleCost, lower_bound, simulate};

const WORKERS: usize = 132;
const N: usize = 256;

/// A window costs as much to write as eight tiles; loading a tile again what its bytes are of all that
/// it moves, for n = 256 in f32.
const COST: ScheduleCost = ScheduleCost {
    linear: LinearCost { tile_col: 1.0, window_col: 8.0, fixed: 0.0, tile_again: 3.0 },
    task: 2000.0,
    tile: 0.0,
};

/// Uniform numbers in (0, 1): xorshift64*.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.next().ln()).sqrt() * (std::f64::consts::TAU * self.next()).cos()
    }

    /// Gamma of a shape of at least 1 and scale 1 (Marsaglia and Tsang 2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.next().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

/// Windows of 256 tiles on average, gamma-distributed with a deviation of `deviation`.
fn windows(count: usize, deviation: f64) -> TilePtr {
    let mut random = Uniform(7);
    TilePtr::of_counts((0..count).map(|_| {
        if deviation == 0.0 {
            return 256;
        }
        let shape = (256.0 / deviation).powi(2);
        (random.gamma(shape) * 256.0 / shape).round() as u64
    }))
}

#[test]
fn partitions_stay_within_three_percent_of_the_bound() {
    for count in [1000, 2048, 10_000] {
        for deviation in [0.0, 16.0, 32.0, 64.0, 96.0, 128.0, 160.0, 192.0] {
            let windows = windows(count, deviation);
            let schedule = Schedule::sm_aligned(&windows, N, WORKERS, &COST.linear);
            let replay = simulate(&schedule, &windows, N, WORKERS, &COST);
            let bound = lower_bound(&windows, N, WORKERS, &COST.linear);
            assert!(
                replay.makespan <= 1.03 * bound,
                "{count} windows, deviation {deviation}: {:.4}",
                replay.makespan / bound
            );
        }
    }
}

#[test]
fn each_schedule_has_its_cases() {
    let makespan = |schedule: &Schedule, windows: &TilePtr| {
        simulate(schedule, windows, N, WORKERS, &COST).makespan
    };
    let all = |windows: &TilePtr, limit: u64| {
        [
            makespan(&Schedule::by_window(windows), windows),
            makespan(&Schedule::by_limit(windows, limit, Reduction::TwoPass), windows),
            makespan(&Schedule::sm_aligned(windows, N, WORKERS, &COST.linear), windows),
        ]
    };
    let [by_window, split, partitions] = all(&windows(2048, 192.0), 64);
    assert!(partitions < by_window && partitions < split);
    // Far more windows than workers balance by themselves, but each is begun on its own.
    let [by_window, _, partitions] = all(&windows(100_000, 32.0), 64);
    assert!(partitions < by_window && by_window < 1.05 * partitions);
    // One window with most of the tiles: partitions cut it by columns only.
    let one = TilePtr::of_counts((0..264).map(|w| if w == 131 { 400_000 } else { 64 }));
    let [by_window, split, partitions] = all(&one, 4096);
    assert!(split < partitions && partitions < by_window);
}
