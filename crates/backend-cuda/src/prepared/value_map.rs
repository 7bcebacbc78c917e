//! Where a device plan's values come from.

use bytemuck::pod_read_unaligned;
use girih_backend::{BackendError, DenseScalar};
use girih_formats::{Complex, DType};
use girih_parallel::prelude::*;
use half::{bf16, f16};

use super::source::Source;
use crate::launch::PackedValues;

/// The entry that each element of a part of values holds, counted from 1 in the order of the matrix that was planned; 0
/// for an element that holds none, which stays zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartMap {
    /// Which of the device plan's parts.
    pub(crate) part: usize,
    pub(crate) entries: Vec<u32>,
    pub(crate) packed: PackedValues,
}

/// The bits of a number that one pass finds, of values of a type: with one more they are exact, also as packed.
fn bits(dtype: DType) -> u32 {
    match dtype {
        DType::Bf16 => 7,
        DType::F16 | DType::F32 | DType::C32 => 10,
        DType::F64 | DType::C64 => 32,
    }
}

/// Finds the entry of each element, by sending the entries' numbers through what packs values, some bits at a time: so
/// this knows no format. As many passes as packing the plan takes, and 4 bytes for each element.
///
/// # Errors
/// Those of [`Source::renewed`]: the plan takes no new values. [`BackendError::NewValues`] for more than 2³² − 2 entries.
pub(crate) fn value_map(source: &Source, backend: &str) -> Result<Vec<PartMap>, BackendError> {
    match source.dtype() {
        DType::F16 => typed::<f16>(source, backend),
        DType::Bf16 => typed::<bf16>(source, backend),
        DType::F32 => typed::<f32>(source, backend),
        DType::F64 => typed::<f64>(source, backend),
        DType::C32 => typed::<Complex<f32>>(source, backend),
        DType::C64 => typed::<Complex<f64>>(source, backend),
    }
}

fn typed<T: DenseScalar>(source: &Source, backend: &str) -> Result<Vec<PartMap>, BackendError> {
    let (nnz, bits) = (source.nnz(), bits(T::DTYPE));
    if nnz >= u32::MAX as usize {
        let reason = format!("{nnz} values are more than a device can put into tiles");
        return Err(BackendError::NewValues { backend: backend.to_owned(), reason });
    }
    let mask = ((1u64 << bits) - 1) as u32;
    // The plan's own values stay as they are.
    let mut numbered = source.clone();
    let mut found: Vec<PartMap> = Vec::new();
    let n_bits = (nnz as u32).checked_ilog2().map_or(1, |last| last + 1);
    for low in (0..n_bits).step_by(bits as usize) {
        let digit = |i: u32| f64::from(i >> low & mask) + 1.0;
        let values: Vec<T> =
            (0..nnz).into_par_iter().map(|i| T::from_c64(Complex::from(digit(i as u32)))).collect();
        let plan = numbered.renewed(backend, values[..].into())?;
        for (at, part) in plan.values.iter().enumerate() {
            let elements = plan.parts[part.part].bytes().par_chunks_exact(size_of::<T>());
            if found.len() == at {
                let entries = vec![0; plan.parts[part.part].bytes().len() / size_of::<T>()];
                found.push(PartMap { part: part.part, entries, packed: part.packed });
            }
            found[at].entries.par_iter_mut().zip(elements).for_each(|(entry, element)| {
                // What holds no entry is zero in each pass.
                let digit = pod_read_unaligned::<T>(element).to_c64().re as u32;
                if digit > 0 {
                    *entry += ((digit - 1) << low) + u32::from(low == 0);
                }
            });
        }
    }
    Ok(found)
}
