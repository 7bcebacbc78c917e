//! Products: the threads, the tasks, and the panels of B that tasks multiply.

#[cfg(test)]
mod as_lowered;
pub(crate) mod formats;
mod panels;
mod prepared;
#[cfg(test)]
pub(crate) mod recorder;
pub(crate) mod scratch;
pub(crate) mod split;
mod tasks;
pub(crate) mod team;

pub(crate) use prepared::Prepared;
