//! Panels of columns that operands on the host are moved in.

use std::ops::Range;

use girih_backend::ProductShape;

/// Bytes of a row of B in the narrowest panel: with fewer, rows that lie apart are moved slowly, and the
/// order of additions would depend on the panel: kernels lay products over lanes by their columns up to this.
const UNIT: usize = 512;
/// Panels of a product at most: with more, the first one's way there and the last one's way back hardly
/// shrink, and kernels have few columns at a time.
const MOST: usize = 4;
/// Bytes of B and C in a panel at least.
const LEAST_BYTES: usize = 8 << 20;

/// The panels that products of `n` columns are moved in: one goes there while another is multiplied and a
/// third comes back. Of the shape and n alone, so that the bits of C are, too.
pub(crate) fn panels(shape: ProductShape, n: usize) -> Vec<Range<usize>> {
    let (size, acc) = (shape.dtype.size(), shape.dtype.accumulator().size());
    let per_column = shape.k.saturating_mul(size).saturating_add(shape.m.saturating_mul(acc));
    let count = (per_column.saturating_mul(n) / LEAST_BYTES).min(MOST);
    of_count(n, UNIT / size, count)
}

/// At most `count` panels of whole units, the last with what is left.
fn of_count(n: usize, unit: usize, count: usize) -> Vec<Range<usize>> {
    let units = n / unit;
    let count = count.min(units).max(1);
    let begin = |i: usize| if i == count { n } else { units * i / count * unit };
    (0..count).map(|i| begin(i)..begin(i + 1)).collect()
}

#[cfg(test)]
mod tests {
    use girih_formats::DType;

    use super::*;

    #[test]
    fn panels_cover_the_columns_and_none_is_narrow() {
        for n in [0, 1, 127, 128, 129, 255, 256, 300, 511, 512, 1000, 4096, 4097] {
            for count in 0..6 {
                let panels = of_count(n, 128, count);
                let covered: Vec<usize> = panels.iter().cloned().flatten().collect();
                assert_eq!(covered, (0..n).collect::<Vec<_>>());
                assert!(panels.len() <= count.max(1));
                assert!(panels.len() == 1 || panels.iter().all(|panel| panel.len() >= 128));
                assert!(panels.iter().all(|panel| panel.start % 128 == 0));
            }
        }
    }

    #[test]
    fn only_large_operands_are_cut() {
        let count = |m, k, dtype, n| panels(ProductShape { m, k, dtype }, n).len();
        assert_eq!(count(1000, 1000, DType::F32, 1024), 1, "8 MB");
        assert_eq!(count(156_317, 156_317, DType::F32, 128), 1, "rows of 512 bytes");
        assert_eq!(count(156_317, 156_317, DType::F32, 256), 2);
        assert_eq!(count(156_317, 156_317, DType::F32, 4096), 4);
        assert_eq!(count(156_317, 156_317, DType::F16, 512), 2);
        assert_eq!(count(156_317, 156_317, DType::F64, 128), 2);
        assert_eq!(count(1 << 40, 1 << 40, DType::F64, usize::MAX), 4);
    }
}
