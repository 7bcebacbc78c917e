//! Windows cut by columns of C, and the partitions their parts make up.

use std::ops::Range;

use girih_formats::Buffer;

use super::ColRange;

/// Columns for every task of a schedule, and which tasks a persistent worker computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// The number of columns of C (n) that windows were cut for. Products with other numbers are
    /// covered as [`ColRange::within`] says.
    pub cut_for: u32,
    /// The columns of every task.
    pub ranges: Buffer<ColRange>,
    /// Where the tasks of each partition begin, and at last the number of tasks. A partition may be
    /// empty.
    pub partition_ptr: Buffer<u64>,
}

impl Columns {
    /// Number of partitions.
    #[must_use]
    pub fn n_partitions(&self) -> usize {
        self.partition_ptr.len().saturating_sub(1)
    }

    /// The tasks of partition `p`.
    ///
    /// # Panics
    /// If there is no such partition.
    #[must_use]
    pub fn partition(&self, p: usize) -> Range<usize> {
        self.partition_ptr[p] as usize..self.partition_ptr[p + 1] as usize
    }

    /// The columns of task `task` in a product with `n` columns.
    ///
    /// # Panics
    /// If there is no such task.
    #[must_use]
    pub fn of_task(&self, task: usize, n: usize) -> Range<usize> {
        self.ranges[task].within(n, self.cut_for)
    }
}
