//! New values in the place of A's, by `put_values.cu`: what a refresh of values runs, for every format and value type.
//!
//! # What bounds it
//! Memory: for each element of A as the device holds it, 4 bytes that say which entry it is, and the element; and the
//! entries, once where they stay in the second-level cache.

#[cfg(test)]
mod faults;

use bytemuck::bytes_of;

use super::shared::passed::passed;
use super::{Budget, Kernel};
use crate::CudaError;
use crate::launch::{Each, Launch, PackedValues};
use crate::operand::Place;

/// Its name.
pub(crate) const STEM: &str = "put_values";

/// Threads of a block.
const THREADS: u32 = 256;
/// Elements of a block.
const ELEMENTS: u64 = THREADS as u64 * 4;

/// By the bytes of an element, and its rounding.
const ENTRIES: [&str; 5] =
    ["put_values_2", "put_values_4", "put_values_4_tf32", "put_values_8", "put_values_16"];

passed! {
    "put_values/passed.cuh";

    /// What the entry points are passed. Addresses are of device memory.
    struct Params {
        /// Elements of the part.
        to: u64 as "void*",
        /// The entry that each holds, counted from 1; 0 if none, which is zero then.
        from: u64 as "const u32*",
        /// Entries, in the order of the matrix that was planned.
        values: u64 as "const void*",
        /// Elements from one entry to the next.
        stride: u64,
        count: u64,
    }
}

/// The kernel.
#[must_use]
pub(crate) fn kernel() -> Kernel {
    Kernel {
        stem: STEM,
        config: "all".to_owned(),
        source: include_str!("put_values.cu"),
        defines: Vec::new(),
        only: None,
        budget: Budget {
            registers: 40,
            shared: 0,
            dynamic_shared: 0,
            entries: &ENTRIES,
            instructions: &["LDG.E.128", "STG.E.128"],
        },
    }
}

/// A part that takes new values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its address.
    pub(crate) to: u64,
    /// Where it is said which entry each element holds: 32 bits each, from 1 on, 0 for none.
    pub(crate) from: u64,
    /// Elements.
    pub(crate) count: u64,
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) packed: PackedValues,
}

impl Target {
    /// Hands the launch to `each`, if there is an element; its kernel is number 0. `values` is one column, with an
    /// element for each entry.
    ///
    /// # Errors
    /// Those of `each`, and [`CudaError::Operand`] if there are more elements than a grid has blocks for.
    pub(crate) fn launch(&self, values: &Place, each: Each<'_>) -> Result<(), CudaError> {
        let Self { to, from, count, size, packed } = *self;
        let entry = match (size, packed) {
            (2, PackedValues::Exact) => "put_values_2",
            (4, PackedValues::Exact) => "put_values_4",
            (4, PackedValues::Tf32) => "put_values_4_tf32",
            (8, PackedValues::Exact) => "put_values_8",
            (16, PackedValues::Exact) => "put_values_16",
            _ => unreachable!("no values have {size} bytes and are {packed:?}"),
        };
        let blocks = count.div_ceil(ELEMENTS);
        let Ok(grid) = i32::try_from(blocks) else {
            let reason = format!("{count} values of A are more than one launch replaces");
            return Err(CudaError::Operand { operand: "A", reason });
        };
        if grid == 0 {
            return Ok(());
        }
        let params = Params { to, from, values: values.address, stride: values.row_stride, count };
        each(&Launch {
            kernel: 0,
            entry,
            grid: [grid as u32, 1, 1],
            block: THREADS,
            params: bytes_of(&params),
            ..Launch::default()
        })
    }
}
