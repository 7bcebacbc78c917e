//! What the threads of a product pass to each other, in models: the sources of the CPU backend, with loom's
//! atomics and locks in the place of the standard library's. [`loom`] runs a model once for every order in
//! which its threads can meet, and lets them see every value that the memory model allows (Norris and Demsky,
//! CDSChecker, OOPSLA 2013).
//!
//! ```sh
//! cargo test --manifest-path tools/models/Cargo.toml
//! ```
//!
//! A model starts and joins its helpers as rayon's scope does. Rayon itself is not modelled, nor is how its
//! threads park and are woken: girih has nothing of its own that parks. `build.rs` plants faults, each of
//! which must show.

#![cfg(test)]

mod loops;
mod products;
mod sync;

#[path = "../../../crates/backend-cpu/src/exec/lending.rs"]
mod lending;
#[path = "../../../crates/backend-cpu/src/exec/shares.rs"]
mod shares;

/// The sources with faults, and one without that a fault is compared with.
#[allow(
    dead_code,
    clippy::all,
    reason = "a model uses what its fault is in; a fault is not pretty"
)]
mod planted {
    use crate::sync;

    macro_rules! sources {
        ($($name:ident),+) => {
            $(pub(crate) mod $name {
                include!(concat!(env!("OUT_DIR"), "/", stringify!($name), ".rs"));
            })+
        };
    }
    sources!(acquired_alone, index_without_item, own_share_alone);
    sources!(released, taken_in_two_steps, waiting_for_the_lock);
}

/// Numbers that threads write and read without any order between them: what is seen, others made visible.
struct Marks(Vec<loom::sync::atomic::AtomicUsize>);

impl Marks {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| loom::sync::atomic::AtomicUsize::new(0)).collect())
    }

    fn add(&self, i: usize, value: usize) {
        self.0[i].fetch_add(value, sync::Ordering::Relaxed);
    }

    fn set(&self, i: usize, value: usize) {
        self.0[i].store(value, sync::Ordering::Relaxed);
    }

    fn get(&self, i: usize) -> usize {
        self.0[i].load(sync::Ordering::Relaxed)
    }
}

/// Whether loom finds an order in which the model fails.
fn fails(model: impl Fn() + Sync + Send + 'static) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| loom::model(model))).is_err()
}
