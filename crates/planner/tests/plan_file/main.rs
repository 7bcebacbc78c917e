//! Plan files: what is saved is what is loaded, and nothing else loads.

mod damage;
mod hostile;
mod round_trip;
mod support;

#[global_allocator]
static ALLOCATOR: support::LargestAllocation = support::LargestAllocation;
