//! Matrices and problems.

use girih::DType;
use serde::Serialize;

use crate::units;

/// A matrix of a benchmark.
#[derive(Debug, Serialize)]
pub struct MatrixReport {
    /// A name that no other matrix of the report has.
    pub name: String,
    /// `generated`, or the path.
    pub source: String,
    /// Rows.
    pub m: usize,
    /// Columns.
    pub k: usize,
    /// Entries.
    pub nnz: usize,
}

/// The problem of a case.
#[derive(Clone, Debug, Serialize)]
pub struct ProblemReport {
    /// The name of the matrix.
    pub matrix: String,
    /// The value type.
    pub dtype: &'static str,
    /// Columns of B.
    pub n: usize,
    /// A as CSR with 32-bit indices, B and C, once each.
    pub bytes: u64,
    /// 2·nnz·n, of complex values 8·nnz·n.
    pub flops: u64,
}

impl ProblemReport {
    pub(in super::super) fn new(matrix: &MatrixReport, dtype: DType, n: usize) -> Self {
        let MatrixReport { m, k, nnz, .. } = *matrix;
        let size = dtype.size() as u64;
        // A fits in memory, and so do B and C of any case that is run; those of others may not.
        let [m, k, nnz, cols] = [m, k, nnz, n].map(|x| x as u64);
        let a = 4 * (m + 1) + nnz * (4 + size);
        let dense = k.saturating_mul(size) + m.saturating_mul(dtype.accumulator().size() as u64);
        Self {
            matrix: matrix.name.clone(),
            dtype: dtype.name(),
            n,
            bytes: a.saturating_add(dense.saturating_mul(cols)),
            flops: units::flops(dtype, matrix.nnz, n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_csr_and_both_operands() {
        let matrix = MatrixReport {
            name: "a".to_owned(),
            source: "generated".to_owned(),
            m: 10,
            k: 20,
            nnz: 30,
        };
        let f32 = ProblemReport::new(&matrix, DType::F32, 7);
        assert_eq!((f32.bytes, f32.flops), (44 + 30 * 8 + 7 * 4 * (10 + 20), 420));
        // B in two bytes, C in four.
        let bf16 = ProblemReport::new(&matrix, DType::Bf16, 7);
        assert_eq!(bf16.bytes, 44 + 30 * 6 + 7 * (2 * 20 + 4 * 10));
    }
}
