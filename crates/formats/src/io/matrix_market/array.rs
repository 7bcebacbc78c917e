//! Where the elements of an array stand in the matrix.

use super::header::Header;
use super::parse::Entry;
use crate::io::Symmetry;

/// Rows and columns of elements of an array, from their numbers in column order.
pub(super) fn place_elements<T>(
    header: &Header,
    first: u64,
    entries: &[Entry<T>],
    rows: &mut [u32],
    cols: &mut [u32],
) {
    let n = header.nrows as u128;
    // Elements before column j, and the first row listed of column j.
    let before = |j: u64| match header.symmetry {
        Symmetry::General => n * u128::from(j),
        Symmetry::Symmetric | Symmetry::Hermitian => columns_before(n, j.into()),
        Symmetry::SkewSymmetric => columns_before(n.saturating_sub(1), j.into()),
    };
    let top = |j: u64| match header.symmetry {
        Symmetry::General => 0,
        Symmetry::Symmetric | Symmetry::Hermitian => j,
        Symmetry::SkewSymmetric => j + 1,
    };
    let (mut low, mut high) = (0, header.ncols as u64);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if before(middle) <= first.into() { low = middle } else { high = middle }
    }
    let mut j = low;
    for ((e, r), c) in entries.iter().zip(rows).zip(cols) {
        let element = u128::from(first) + u128::from(e.col);
        while before(j + 1) <= element {
            j += 1;
        }
        *r = ((element - before(j)) as u64 + top(j)) as u32;
        *c = j as u32;
    }
}

/// How many elements of the matrix an element of an array stands for, by its number in column order.
pub(super) fn images(header: &Header, element: u64) -> u64 {
    match header.symmetry {
        Symmetry::General => 1,
        // There is no diagonal.
        Symmetry::SkewSymmetric => 2,
        Symmetry::Symmetric | Symmetry::Hermitian => {
            // Every column begins with its diagonal.
            let n = header.nrows as u128;
            let (mut low, mut high) = (0, header.ncols as u64);
            while high - low > 1 {
                let middle = u64::midpoint(low, high);
                let starts_later = columns_before(n, middle.into()) > element.into();
                if starts_later { high = middle } else { low = middle }
            }
            1 + u64::from(columns_before(n, low.into()) != element.into())
        }
    }
}

/// Elements in the first `j` columns when the first has `n` and each next one fewer.
fn columns_before(n: u128, j: u128) -> u128 {
    j * n - j * j.saturating_sub(1) / 2
}
