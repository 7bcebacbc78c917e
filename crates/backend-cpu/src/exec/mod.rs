//! Products: the threads, the tasks, and the panels of B that tasks multiply.
//!
//! [`prepared`] holds a plan made ready; [`store_c`] says how C is stored; [`product`] goes through panels of B; [`tasks`] runs the schedule's
//! tasks on a panel, on the threads of a [`team`]; [`formats`] hands tiles to kernels. [`split`] knows the
//! windows that several tasks share, [`aggregate`] computes maxima and means, [`complex`] makes
//! products of complex values of two real ones, [`scratch`] holds the memory that
//! products use meanwhile. What threads pass to each other lies in [`shares`] and [`lending`].

mod aggregate;
mod complex;
pub(crate) mod formats;
mod lending;
mod lines;
mod prepared;
mod product;
pub(crate) mod scratch;
mod shares;
pub(crate) mod split;
mod store_c;
mod sync;
mod tasks;
pub(crate) mod team;
#[cfg(test)]
mod tests;

pub(crate) use aggregate::known_aggregation;
pub(crate) use complex::{PreparedComplex, complex_epilogue};
pub(crate) use prepared::Prepared;
pub(crate) use store_c::known_epilogue;
