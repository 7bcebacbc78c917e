//! What commands read: matrices, plans, dense operands, devices and the environment.

pub(crate) mod cuda;
pub(crate) mod dense;
pub(crate) mod device;
pub(crate) mod lowering;
pub(crate) mod matrix;
pub(crate) mod npy;
pub(crate) mod order;
pub(crate) mod planning;
pub(crate) mod problem;
pub(crate) mod source;
pub(crate) mod suite;

mod map;
