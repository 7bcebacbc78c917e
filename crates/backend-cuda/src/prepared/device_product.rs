//! What multiplies operands that are on a device: this crate's own kernels, or others'.

use std::fmt::Debug;

use cudarc::driver::CudaStream;

use crate::CudaError;
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
