//! Plan files: what is saved is what is loaded, and nothing else loads.

mod attachments;
mod damage;
mod golden;
mod hostile;
mod round_trip;
mod support;

#[global_allocator]
static ALLOCATOR: support::LargestAllocation = support::LargestAllocation;
