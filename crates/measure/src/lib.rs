//! Measures sparse products: what they take beside what the machine could reach, and what estimates of
//! them should say.
//!
//! - [`mod@bench`] times verified products by turns and reports them beside a floor of the same run.
//! - [`mod@ablation`] times what each step of a paper's kernel brings, by configurations of ours.
//! - [`mod@tune`] times the candidates of a plan and gives the fastest.
//! - [`calibrate`] times generated products and fits the planner's estimates to them.
//!
//! Nothing here prints or reads the environment. An [`Observer`] hears of progress; reports are values
//! that `serde` writes. Messages name flags of the `girih` command, since that is where people meet them.

#![deny(unsafe_code)]

pub mod ablation;
pub mod bench;
pub mod calibrate;
pub mod machine;
pub mod memory;
pub mod tune;
pub mod units;

mod error;
mod observer;
mod operand;
mod refusal;
mod runner;
mod sampling;
mod team;

pub use error::{MeasureError, WrongProduct};
pub use observer::Observer;
pub use operand::Operand;
pub use refusal::{is_above_memory_limit, is_unsupported};
