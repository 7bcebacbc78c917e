//! The same plan, byte for byte, whoever made it: any number of threads, optimized or not.

use super::common::options;
use girih_formats::Csr;
use girih_planner::{DeviceSpec, Plan, Planner};
use xxhash_rust::xxh3::Xxh3;

fn matrices() -> [Csr<f32>; 3] {
    [
        girih_generate::uniform(3000, 2000, 7, 1).unwrap(),
        girih_generate::block_sparse(1024, 1024, 64, 0.1, 1).unwrap(),
        girih_generate::power_law_rows(2000, 3000, 300, 1).unwrap(),
    ]
}

fn plans() -> Vec<Plan> {
    let mut plans = Vec::new();
    for a in matrices() {
        for name in DeviceSpec::builtin_names() {
            for n in [32, 200] {
                plans.push(Planner::new(options(name, n)).plan(&a).unwrap());
            }
        }
    }
    plans
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let files = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            plans()
                .iter()
                .map(|plan| {
                    let mut bytes = Vec::new();
                    plan.write_to(&mut bytes).unwrap();
                    bytes
                })
                .collect::<Vec<_>>()
        })
    };
    assert!(files(1) == files(2));
}

/// Every estimate to the last bit and every task, in one number: debug and release builds both have to
/// find it. It changes with the cost model and with nothing else.
#[test]
fn debug_and_release_decide_the_same() {
    let mut hash = Xxh3::new();
    for plan in plans() {
        hash.update(plan.spec().to_string().as_bytes());
        hash.update(bytemuck::cast_slice(plan.schedule().tasks()));
        if let Some(columns) = plan.schedule().columns() {
            hash.update(bytemuck::cast_slice(&columns.ranges));
            hash.update(bytemuck::cast_slice(&columns.partition_ptr));
        }
        for candidate in &plan.explanation().candidates {
            let seconds = candidate.cost.map_or(-1.0, |cost| cost.seconds);
            hash.update(&seconds.to_bits().to_le_bytes());
        }
        for option in &plan.explanation().schedules {
            hash.update(&option.makespan.to_bits().to_le_bytes());
        }
    }
    assert_eq!(hash.digest(), 0x42f8_8faf_0773_5a61, "{:#018x}", hash.digest());
}
