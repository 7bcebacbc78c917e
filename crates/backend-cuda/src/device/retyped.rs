//! Slices of values that cudarc itself makes none of: of complex numbers, f16 and bf16.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut};
use girih_formats::{Complex, ComplexScalar, Real, RealAccumulator};
use half::{bf16, f16};

use crate::CudaError;

/// Device memory of complex numbers, from memory of their parts: the real and the imaginary part of each number by
/// turns. Nothing is copied. Whoever uses the numbers waits for what was enqueued on their parts.
///
/// ```no_run
/// use girih_backend_cuda::{CudaError, complex_memory, cudarc::driver::CudaStream, parts_memory};
/// # use std::sync::Arc;
/// # fn of(stream: &Arc<CudaStream>) -> Result<(), Box<dyn std::error::Error>> {
/// let numbers = complex_memory(stream.clone_htod(&[1.0f64, 2.0, 3.0, 4.0])?)?;
/// assert_eq!(numbers.len(), 2);
/// let parts = stream.clone_dtoh(&parts_memory(numbers))?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`CudaError::Operand`] if there is an odd number of parts.
pub fn complex_memory<R: RealAccumulator>(
    parts: CudaSlice<R>,
) -> Result<CudaSlice<Complex<R>>, CudaError>
where
    Complex<R>: ComplexScalar<Part = R>,
{
    let len = parts.len();
    if !len.is_multiple_of(2) {
        let reason = format!("complex numbers have two parts each, and these are {len}");
        return Err(CudaError::Operand { operand: "the parts", reason });
    }
    let stream = parts.stream().clone();
    // SAFETY: a complex number is its two parts, which were initialized as cudarc has it, and half as many numbers
    // are as many bytes.
    Ok(unsafe { retyped(&stream, parts, len / 2) })
}

/// The parts of complex numbers in device memory, the real and the imaginary one by turns: what
/// [`complex_memory`] was made of, to be copied to the host.
pub fn parts_memory<R: RealAccumulator>(numbers: CudaSlice<Complex<R>>) -> CudaSlice<R>
where
    Complex<R>: ComplexScalar<Part = R>,
{
    let (stream, len) = (numbers.stream().clone(), numbers.len());
    // SAFETY: as above.
    unsafe { retyped(&stream, numbers, 2 * len) }
}

/// f16 or bf16 in device memory, of their bits. `C` is one or the other.
///
/// cudarc moves such values itself only with a feature that brings random numbers along; their bits it always does.
///
/// ```no_run
/// use girih_backend_cuda::{CudaError, bits_memory, cudarc::driver::CudaStream, half_memory};
/// # use std::sync::Arc;
/// # fn of(stream: &Arc<CudaStream>) -> Result<(), Box<dyn std::error::Error>> {
/// use half::f16;
///
/// let ones = half_memory::<f16>(stream.clone_htod(&[f16::ONE.to_bits(); 8])?);
/// assert_eq!(ones.len(), 8);
/// let bits = stream.clone_dtoh(&bits_memory(ones))?;
/// # Ok(())
/// # }
/// ```
pub fn half_memory<C: Half>(bits: CudaSlice<u16>) -> CudaSlice<C> {
    let (stream, len) = (bits.stream().clone(), bits.len());
    // SAFETY: a value is its 16 bits, all of which are valid, and they were initialized as cudarc has it.
    unsafe { retyped(&stream, bits, len) }
}

/// The bits of f16 or bf16 in device memory: what [`half_memory`] was made of, to be copied to the host.
pub fn bits_memory<C: Half>(values: CudaSlice<C>) -> CudaSlice<u16> {
    let (stream, len) = (values.stream().clone(), values.len());
    // SAFETY: as above.
    unsafe { retyped(&stream, values, len) }
}

/// A value type of 16 bits.
pub trait Half: Real + private::Sealed {}

impl Half for f16 {}
impl Half for bf16 {}

mod private {
    /// No other type is 16 bits of any value.
    pub trait Sealed {}

    impl Sealed for half::f16 {}
    impl Sealed for half::bf16 {}
}

/// A slice's memory as one of `len` other elements.
///
/// # Safety
/// They take as many bytes, and any bits of the old elements are valid new ones.
unsafe fn retyped<T, U>(stream: &Arc<CudaStream>, slice: CudaSlice<T>, len: usize) -> CudaSlice<U> {
    // The slice's stream waits for what was done with it.
    let address = slice.leak();
    // SAFETY: the allocation is given up here, and the caller promises the rest.
    let mut slice: CudaSlice<U> = unsafe { stream.upgrade_device_ptr(address, len) };
    // And other streams for that one: an event is recorded as the guard is dropped.
    drop(slice.device_ptr_mut(stream).1);
    slice
}
