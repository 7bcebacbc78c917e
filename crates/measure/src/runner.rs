//! How products are run: on threads of this machine, or on a device.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use girih::cuda::CudaPrepared;
use girih::{BackendError, DenseScalar, PreparedSpmm};
use girih_cuda_libraries::{TimedOperands, TimedProducts};

use crate::operand::Operand;
use crate::team::Team;

/// A prepared case.
#[derive(Debug)]
pub(crate) enum Runner {
    /// Products of the operands as they lie here.
    Host(Box<dyn PreparedSpmm>),
    /// Products of copies of the operands on a device, timed there.
    Device(Box<dyn Products>),
}

/// [`TimedProducts`] of any value type.
pub(crate) trait Products: Debug {
    /// The time of `calls` products one after the other.
    fn time(&mut self, calls: u32) -> Result<Duration, BackendError>;
}

impl<T: DenseScalar> Products for TimedProducts<T> {
    fn time(&mut self, calls: u32) -> Result<Duration, BackendError> {
        Self::time(self, calls)
    }
}

impl Runner {
    /// A plan on a device with copies of the operands, which all such runners of a shape share, and the
    /// product in C.
    pub(crate) fn on_device<T: DenseScalar>(
        prepared: CudaPrepared,
        copies: &mut Option<Arc<TimedOperands<T>>>,
        b: &Operand<T>,
        c: &mut Operand<T::Acc>,
    ) -> Result<Self, BackendError> {
        let operands = match copies {
            Some(operands) => operands.clone(),
            None => copies.insert(Arc::new(TimedOperands::new(&prepared, &b.view())?)).clone(),
        };
        let mut products = TimedProducts::new(prepared, operands)?;
        products.poison()?;
        products.time(1)?;
        products.last(c.view_mut())?;
        Ok(Self::Device(Box::new(products)))
    }

    /// The time of `calls` products one after the other.
    pub(crate) fn time<T: DenseScalar>(
        &mut self,
        team: &Team,
        calls: u32,
        b: &Operand<T>,
        c: &mut Operand<T::Acc>,
    ) -> Result<Duration, BackendError> {
        match self {
            Self::Device(products) => products.time(calls),
            Self::Host(prepared) => {
                // Views are made once: making them is no part of a product.
                let (b, mut c) = (b.view(), c.view_mut());
                team.time(calls, || {
                    prepared.execute(1.0, T::erase(b), 0.0, T::erase_acc_mut(c.view_mut()))
                })
            }
        }
    }
}
