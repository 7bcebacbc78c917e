//! The product of a prepared plan, whoever computes it, and what can be requested of it.

use girih_backend::{Activation, Aggregation, Lowering, ProductShape, Unsupported};
use girih_formats::DType;

use super::device_product::DeviceProduct;
use super::launched::Launched;
use super::source::Source;
use crate::kernels::supported::takes_epilogue;

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
