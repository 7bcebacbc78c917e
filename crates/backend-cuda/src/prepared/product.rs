//! What multiplies operands that are on a device: this crate's own kernels, or others'.

use std::fmt::Debug;

use cudarc::driver::CudaStream;
use girih_backend::{Activation, Aggregation, Lowering, ProductShape, Unsupported};
use girih_formats::DType;

use super::launched::Launched;
use super::source::Source;
use crate::CudaError;
use crate::kernels::supported::takes_epilogue;
use crate::launch::Operands;

/// What multiplies operands that are in its device's memory, with an A that is there too.
///
/// [`CudaPrepared::of_product`](crate::CudaPrepared::of_product) makes a prepared plan of one, which checks
/// operands, orders streams, and moves operands from and to the host.
pub trait DeviceProduct: Debug + Send + Sync {
    /// Bytes of device memory that it takes.
    fn device_bytes(&self) -> u64;

    /// Enqueues a product of operands that fit, on a stream of its device. Neither m nor n is 0.
    ///
    /// `tracked` says whether streams are to be ordered by events. If so, the operands' uses are recorded
    /// already, and those of the product's own memory are this method's to record.
    ///
    /// # Errors
    /// [`CudaError::Operand`] if it does not take such strides; what the driver or a library refuses.
    ///
    /// # Safety
    /// 1. Both operands are in this device's memory, and hold what they say.
    /// 2. They live until the stream has run the product.
    /// 3. Nobody writes B or uses C meanwhile.
    /// 4. If `tracked` is false, nobody uses this product's own memory meanwhile.
    unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        operands: &Operands,
        tracked: bool,
    ) -> Result<(), CudaError>;
}

/// The product of a prepared plan.
#[derive(Debug)]
pub(super) enum Product {
    /// By this crate's kernels, and what new values are put into before they are sent.
    Launched(Box<Launched>, Box<Source>),
    /// By others, whose A stays as it is.
    Other(Box<dyn DeviceProduct>),
}

impl Product {
    pub(super) fn device(&self) -> &dyn DeviceProduct {
        match self {
            Self::Launched(launched, _) => &**launched,
            Self::Other(product) => &**product,
        }
    }

    /// Whether it executes an epilogue with such an activation; `None` if there is no epilogue.
    pub(super) fn takes_epilogue(
        &self,
        dtype: DType,
        activation: Option<Activation>,
    ) -> Result<(), Unsupported> {
        match (self, activation) {
            (_, None) => Ok(()),
            (Self::Launched(..), _) => takes_epilogue(dtype, activation),
            (Self::Other(_), _) => Err(Unsupported::Epilogue {
                reason: "its products are stored without bias and activation".to_owned(),
            }),
        }
    }

    /// Whether it computes an aggregation.
    pub(super) fn takes_aggregation(&self, aggregation: Aggregation) -> Result<(), Unsupported> {
        match self {
            Self::Launched(_, source) => source.takes_aggregation(aggregation),
            Self::Other(_) => Err(Unsupported::Aggregation {
                reason: "its products are the sums of a row's products".to_owned(),
            }),
        }
    }

    /// Whether it writes a C of this value type, of a plan of this shape.
    pub(super) fn takes_output(
        &self,
        shape: ProductShape,
        dtype: DType,
    ) -> Result<(), Unsupported> {
        match self {
            Self::Launched(_, source) => source.takes_output(dtype),
            Self::Other(_) if shape.dtype.accumulator() == dtype => Ok(()),
            Self::Other(_) => {
                let reason = format!("its C is of {}", shape.dtype.accumulator());
                Err(Unsupported::Output { dtype, reason })
            }
        }
    }

    /// Whether the columns of C may be computed in panels, with the same bits.
    pub(super) fn takes_panels(&self) -> bool {
        matches!(self, Self::Launched(..))
    }

    /// Adds what products of the lowering's n do, where that is known.
    pub(super) fn describe(&self, lowering: Lowering) -> Lowering {
        match self {
            Self::Launched(launched, _) => launched.describe(lowering),
            Self::Other(_) => lowering,
        }
    }
}
