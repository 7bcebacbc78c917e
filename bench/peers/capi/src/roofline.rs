//! What the machine could reach at most, measured in the process that measures the products.

use std::ffi::c_int;
use std::ptr;

use girih::DType;
use girih::cpu::Isa;
use girih::cpu::roofline::{Bandwidth, Limit, Roofline, RooflineOptions};
use rayon::ThreadPoolBuilder;

use crate::error::{Outcome, guard};

/// Bandwidths over one working set, in bytes per second.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct BandwidthPoint {
    /// The working set of all threads together, in bytes.
    pub bytes: u64,
    /// Of reading it.
    pub read: f64,
    /// Of a triad: two thirds read, one third written.
    pub triad: f64,
    /// Of a triad whose stores bypass the caches.
    pub streaming_triad: f64,
}

impl From<&Bandwidth> for BandwidthPoint {
    fn from(from: &Bandwidth) -> Self {
        Self {
            bytes: from.bytes,
            read: from.read,
            triad: from.triad,
            streaming_triad: from.streaming_triad,
        }
    }
}

fn dtype(value_bits: u32) -> Outcome<DType> {
    match value_bits {
        32 => Ok(DType::F32),
        64 => Ok(DType::F64),
        _ => Err(format!("value_bits is {value_bits}, not 32 or 64").into()),
    }
}

/// Measures the machine on so many threads, with its best instruction set, over working sets of up
/// to `max_bytes`, for some `seconds`.
#[unsafe(no_mangle)]
pub extern "C" fn girih_roofline_measure(
    threads: usize,
    max_bytes: u64,
    seconds: f64,
) -> *mut Roofline {
    let roofline = guard(|| {
        if threads == 0 {
            return Err("threads is 0".into());
        }
        let options = RooflineOptions::default().max_bytes(max_bytes).seconds(seconds);
        // A pool even for one thread: the calling thread may be the last of one that has ended,
        // and such a pool takes no broadcasts.
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Box::new(pool.install(|| Roofline::measure(Isa::best(), &options))?))
    });
    roofline.map_or(ptr::null_mut(), Box::into_raw)
}

/// Flops per second, two for each fused multiply-add, on values of so many bits; 0 if there are none
/// such.
///
/// # Safety
/// From [`girih_roofline_measure`], and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_roofline_peak(roofline: *const Roofline, value_bits: u32) -> f64 {
    let peak = guard(|| {
        // SAFETY: null, or alive, as the caller vouches.
        let roofline = unsafe { roofline.as_ref() }.ok_or("the roofline is null")?;
        Ok(roofline.peak(dtype(value_bits)?))
    });
    peak.unwrap_or(0.0)
}

/// The working set at `index`, the smallest at 0; -1 past the last.
///
/// # Safety
/// As for [`girih_roofline_peak`]; `point` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_roofline_bandwidth(
    roofline: *const Roofline,
    index: usize,
    point: *mut BandwidthPoint,
) -> c_int {
    let done = guard(|| {
        // SAFETY: null, or alive and writable, as the caller vouches.
        let (roofline, point) = unsafe { (roofline.as_ref(), point.as_mut()) };
        let roofline = roofline.ok_or("the roofline is null")?;
        let found = roofline.bandwidths().get(index).ok_or("no such working set")?;
        *point.ok_or("point is null")? = found.into();
        Ok(())
    });
    if done.is_some() { 0 } else { -1 }
}

/// The least time, in seconds, to move so many bytes once and to do so many flops; `computing` is
/// set to 1 if the flops take longer, or else to 0. Negative on failure.
///
/// # Safety
/// As for [`girih_roofline_peak`]; `computing` must be null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_roofline_floor(
    roofline: *const Roofline,
    value_bits: u32,
    bytes: f64,
    flops: f64,
    computing: *mut c_int,
) -> f64 {
    let floor = guard(|| {
        // SAFETY: null, or alive and writable, as the caller vouches.
        let (roofline, computing) = unsafe { (roofline.as_ref(), computing.as_mut()) };
        let floor = roofline.ok_or("the roofline is null")?.floor(dtype(value_bits)?, bytes, flops);
        *computing.ok_or("computing is null")? = c_int::from(floor.limit == Limit::Compute);
        Ok(floor.seconds)
    });
    floor.unwrap_or(-1.0)
}

/// Frees a roofline.
///
/// # Safety
/// Null, or from [`girih_roofline_measure`] and not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn girih_roofline_free(roofline: *mut Roofline) {
    if !roofline.is_null() {
        // SAFETY: made by Box::into_raw, and freed once, as the caller vouches.
        drop(unsafe { Box::from_raw(roofline) });
    }
}
