//! A plan's product on another machine than the one it was made for.

use super::Cost;
use crate::device::{DeviceKind, DeviceSpec, Overlap, Unit};
use crate::plan::Plan;

/// Seconds that a product of `plan` with its number of columns would take on `device`, operands where
/// the device computes; `None` for a plan around a tiling of the caller's, which was never priced.
///
/// What moves and what is computed are the plan's own counts; `device` says how fast. On the device that
/// the plan was made for it is the plan's estimate.
#[must_use]
pub fn seconds_on(plan: &Plan, device: &DeviceSpec) -> Option<f64> {
    let cost = plan.explanation().chosen()?.cost?;
    if plan.options().target == *device {
        return Some(cost.seconds);
    }
    Some(rerated(&cost, plan, device))
}

/// Seconds that operands of `plan`'s number of columns take from the host to `device` and back: B there,
/// C back. None for a CPU, which has them.
#[must_use]
pub fn transfer_seconds(plan: &Plan, device: &DeviceSpec) -> f64 {
    if device.kind == DeviceKind::Cpu || device.host_bandwidth <= 0.0 {
        return 0.0;
    }
    let (n, dtype) = (plan.options().n as f64, plan.dtype());
    let b = plan.ncols() as f64 * n * dtype.size() as f64;
    let c = plan.nrows() as f64 * n * dtype.accumulator().size() as f64;
    (b + c) / device.host_bandwidth
}

fn rerated(cost: &Cost, plan: &Plan, device: &DeviceSpec) -> f64 {
    let (kind, dtype, precision) = (plan.spec().kind(), plan.dtype(), plan.precision());
    let values = cost.flops / (2.0 * plan.options().n.max(1) as f64);
    let flops = cost.flops / device.flops_in(kind, dtype, precision);
    let value = device.value_seconds(kind);
    let compute = match (device.unit_in(kind, dtype, precision), device.kind) {
        (Unit::Tiles, DeviceKind::Cpu) => flops.max(values * value),
        _ => flops + values * value,
    };
    let memory =
        (cost.tile_bytes as f64 + cost.b_memory_bytes + cost.c_bytes) / device.memory_bandwidth;
    let cache = cost.b_fetched_bytes / device.cache_bandwidth;
    let busy = match device.overlap {
        Overlap::Full => memory.max(cache).max(compute),
        Overlap::None => memory + cache + compute,
    };
    busy * cost.imbalance + plan.nrows() as f64 * device.window_seconds + device.launch_seconds
}

#[cfg(test)]
mod tests {
    use girih_generate::uniform;

    use super::*;
    use crate::options::PlanOptions;
    use crate::planner::Planner;

    #[test]
    fn a_plan_is_priced_for_other_machines_too() {
        let a = uniform::<f32>(3000, 2000, 20, 1).unwrap();
        let (cpu, h200) = (DeviceSpec::cpu(), DeviceSpec::builtin("h200").unwrap());
        let options = PlanOptions { n: 128, target: cpu.clone(), ..PlanOptions::default() };
        let plan = Planner::new(options).plan(&a).unwrap();
        let chosen = plan.explanation().chosen().unwrap().cost.unwrap();
        assert_eq!(seconds_on(&plan, &cpu), Some(chosen.seconds));
        // Four times as many cores: faster, but not by more.
        let four = |x: f64| 4.0 * x;
        let large = DeviceSpec {
            name: "large".to_owned(),
            memory_bandwidth: four(cpu.memory_bandwidth),
            cache_bandwidth: four(cpu.cache_bandwidth),
            sparse_flops: cpu.sparse_flops.scaled(4.0),
            value_seconds: cpu.value_seconds.scaled(0.25),
            ..cpu.clone()
        };
        let faster = chosen.seconds / seconds_on(&plan, &large).unwrap();
        assert!((2.0..=4.5).contains(&faster), "{faster}");
        // On a GPU the product is faster still, but its operands have to go there and back.
        assert!(seconds_on(&plan, &h200).unwrap() < chosen.seconds);
        let moved = (2000.0 + 3000.0) * 128.0 * 4.0 / h200.host_bandwidth;
        assert_eq!(transfer_seconds(&plan, &h200), moved);
        assert_eq!(transfer_seconds(&plan, &cpu), 0.0);
    }
}
