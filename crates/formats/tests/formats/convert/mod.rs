//! Conversions and statistics, against models and against each other.

mod refresh;
mod round_trips;
mod stats;
mod support;
mod transpose;
