//! What is decided for products of complex values: how many rows and columns a block has.

use girih_backend::Lowering;
use girih_formats::{ComplexScalar, DType, FormatSpec, Tiling};

use crate::Isa;
use crate::NAME;
use crate::lowering::Case;
use crate::machine::Machine;
use crate::thresholds::{COMPLEX_B_BYTES, COMPLEX_SUMS, THREADS_GRAIN, THREADS_SHARED};

/// Bytes of the columns that kernels multiply at a time.
const GROUP_BYTES: usize = 256;

/// The numbers that decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ComplexLowering {
    case: Case,
    dtype: DType,
}

/// How much of a product is computed at a time: by A's real parts, and then by its imaginary ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockSizes {
    /// Columns of B.
    pub(crate) cols: usize,
    /// Rows of C at the most.
    pub(crate) rows: usize,
    /// Stored values of A at the most, unless a single row has more.
    pub(crate) values: usize,
}

impl ComplexLowering {
    pub(crate) fn new<T: ComplexScalar>(
        tiling: &Tiling<T>,
        n: usize,
        threads: usize,
        isa: Isa,
    ) -> Self {
        Self { case: Case::new(tiling, n, threads, isa, Machine::detect()), dtype: T::DTYPE }
    }

    /// The blocks of a product with `n` columns. Depends on the matrix and n alone, so that sums do.
    pub(crate) fn blocks(&self, n: usize) -> BlockSizes {
        let Case { m, stored, value_bytes, .. } = self.case;
        let group = GROUP_BYTES / value_bytes;
        let per_row = stored.div_ceil(m.max(1)).max(1);
        let fitting = COMPLEX_B_BYTES / value_bytes / per_row / group * group;
        let cols = fitting.clamp(group, COMPLEX_SUMS).min(n.max(1));
        let values = (COMPLEX_B_BYTES / (cols * value_bytes)).max(1);
        BlockSizes { cols, rows: COMPLEX_SUMS / cols, values }
    }

    /// How many of `count` tasks a thread takes at a time; `None` if the calling thread runs them alone.
    pub(crate) fn grain(&self, count: usize, n: usize) -> Option<usize> {
        // Two products of two columns each.
        let work = self.case.stored.saturating_mul(4 * n);
        let is_shared = count >= 2 && work >= THREADS_SHARED;
        is_shared.then(|| THREADS_GRAIN.div_ceil((work / count.max(1)).max(1)))
    }

    /// What a product of `n` columns executes, if operands are row-major and β = 0.
    pub(crate) fn describe(&self, n: usize, tasks: usize, threads: usize) -> Lowering {
        let BlockSizes { cols, rows, values } = self.blocks(n);
        let part = self.dtype.part();
        let kernel = match self.case.spec {
            FormatSpec::Csr => "rows of CSR as stored",
            _ => "dense strips",
        };
        let workers = self.grain(tasks, n).map_or(1, |grain| threads.min(tasks / grain).max(1));
        Lowering::new(NAME, format!("{}, {threads} threads", self.case.isa), n)
            .with(
                "kernel",
                format!("{kernel} in {part}, by real parts and by imaginary parts"),
                format!("an element of B is two neighbouring columns of {part}"),
            )
            .with(
                "blocks",
                format!("up to {rows} rows and {values} values of A × {cols} columns"),
                format!(
                    "the second product finds its rows of B, {} KiB, in a core's caches",
                    COMPLEX_B_BYTES >> 10
                ),
            )
            .with("C", "α·(P + i·Q) + β·C of the two products P and Q", "")
            .with("threads", format!("{workers} of {threads}"), format!("{tasks} tasks"))
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::{Complex, RowLayout};
    use girih_generate::uniform;

    use super::*;

    fn blocks(per_row: usize, n: usize) -> BlockSizes {
        let a = uniform::<Complex<f64>>(500, 4000, per_row, 1).unwrap();
        let layout = RowLayout::natural(500, 1).unwrap();
        let tiling = Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap();
        ComplexLowering::new(&tiling, n, 2, Isa::Portable).blocks(n)
    }

    #[test]
    fn blocks_fit_caches_and_have_whole_groups_of_columns() {
        // 128 KiB of rows of B of 16 · n bytes.
        assert_eq!(blocks(10, 8), BlockSizes { cols: 8, rows: 128, values: 1024 });
        assert_eq!(blocks(10, 512), BlockSizes { cols: 512, rows: 2, values: 16 });
        assert_eq!(blocks(100, 512), BlockSizes { cols: 80, rows: 12, values: 102 });
        assert_eq!(blocks(2000, 512).cols, 16);
        assert_eq!(blocks(1, 5000).cols, 1024);
    }
}
