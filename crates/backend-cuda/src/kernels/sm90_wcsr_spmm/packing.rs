//! Values and packed columns as the kernel wants them.

use bytemuck::{Pod, cast_slice};
use girih_formats::{DType, PAD_COL, Scalar};
use girih_parallel::prelude::*;

use super::config::{ROW_UNIT, step, step_bytes};
use super::params::Segment;
use super::windows::Windows;
use super::work::Work;
use crate::kernels::shared::round_tf32;

/// The packed columns of all steps, [`PAD_COL`] where a segment's last step has none.
pub(super) fn pack_columns<T: Scalar>(a: &Windows<'_, T>, work: &Work) -> Vec<u32> {
    let mut packed = vec![PAD_COL; work.n_steps as usize * step(T::DTYPE)];
    for_segments(work, &mut packed, step(T::DTYPE), |_, span, to| {
        to[..span.len()].copy_from_slice(&a.window_col_idx[span]);
    });
    packed
}

/// The values of all steps, as bits: [`step_bytes`] for each.
///
/// A step's are core matrices of 8 rows of 16 bytes, two for each 8 rows of the window, one after the
/// other. f32 is rounded to TF32, to nearest with ties away from zero, as the kernel rounds B.
pub(super) fn pack_values<T: Scalar>(a: &Windows<'_, T>, work: &Work) -> Vec<u32> {
    match T::DTYPE {
        DType::F32 => pack(a, work, cast_slice::<T, u32>(a.values), round_tf32),
        DType::F16 | DType::Bf16 => pack(a, work, cast_slice::<T, u16>(a.values), |bits| bits),
        DType::F64 | DType::C32 | DType::C64 => {
            unreachable!("plans in f64 and of complex values are not supported")
        }
    }
}

fn pack<T: Scalar, V: Pod + Send + Sync>(
    a: &Windows<'_, T>,
    work: &Work,
    values: &[V],
    convert: impl Fn(V) -> V + Sync,
) -> Vec<u32> {
    let window_rows = a.window_rows;
    let per_step = step_bytes(window_rows) / size_of::<V>();
    let mut packed = vec![0u32; work.n_steps as usize * step_bytes(window_rows) / 4];
    let packed_values = bytemuck::cast_slice_mut(&mut packed);
    for_segments(work, packed_values, per_step, |segment, span, to: &mut [V]| {
        for row in 0..window_rows {
            let begin = a.place(segment.window as usize, row, span.start);
            let of_row = &values[begin..begin + span.len()];
            for (of_step, to) in of_row.chunks(step(T::DTYPE)).zip(to.chunks_mut(per_step)) {
                for (col, &value) in of_step.iter().enumerate() {
                    to[place::<V>(row, col)] = convert(value);
                }
            }
        }
    });
    packed
}

/// Where in a step's values the element of a row and a column is.
fn place<V>(row: usize, col: usize) -> usize {
    let per_chunk = 16 / size_of::<V>();
    // A thread reads the rows `t`, `t + 4`, … of B in a step. Two of 16 bits stand side by side in a
    // register, which the tensor core takes for neighbours along k.
    let k = if per_chunk == 8 {
        let (t, odd, half) = (col % 4, col / 4 % 2, col / 8);
        2 * t + odd + 8 * half
    } else {
        col
    };
    let matrix = row / ROW_UNIT * 2 + k / per_chunk;
    (matrix * ROW_UNIT + row % ROW_UNIT) * per_chunk + k % per_chunk
}

/// Fills the part of each segment, `per_step` elements for each of its steps, in parallel.
fn for_segments<V: Send>(
    work: &Work,
    mut packed: &mut [V],
    per_step: usize,
    fill: impl Fn(&Segment, std::ops::Range<usize>, &mut [V]) + Sync,
) {
    let mut parts = Vec::with_capacity(work.segments.len());
    for (segment, span) in work.segments.iter().zip(&work.spans) {
        let (part, rest) = packed.split_at_mut(segment.n_steps as usize * per_step);
        parts.push((segment, span.clone(), part));
        packed = rest;
    }
    parts
        .into_par_iter()
        .with_min_len(16)
        .for_each(|(segment, span, part)| fill(segment, span, part));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_element_of_a_step_has_a_place_of_its_own() {
        let wide: BTreeSet<_> = (0..512).map(|i| place::<u32>(i / 8, i % 8)).collect();
        let narrow: BTreeSet<_> = (0..1024).map(|i| place::<u16>(i / 16, i % 16)).collect();
        assert_eq!((wide.len(), wide.last()), (512, Some(&511)));
        assert_eq!((narrow.len(), narrow.last()), (1024, Some(&1023)));
        // Row 9 is the second of the second core matrix; columns 4 of the next chunk.
        assert_eq!(place::<u32>(9, 5), 64 + 32 + 4 + 1);
        // Columns 1 and 5 are neighbours.
        assert_eq!((place::<u16>(0, 1), place::<u16>(0, 5)), (2, 3));
        assert_eq!(place::<u16>(0, 8), 64);
    }
}
