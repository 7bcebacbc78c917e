//! Small matrices of every shape that has broken a sparse kernel somewhere.

use girih_formats::{Complex, Coo, Csr, Duplicates, FormatError, FormatKind, Scalar, TwoFour};

use crate::operands::IMAGINARY;
use crate::random::{hash, one_in, signed, unit};

/// A matrix with a name for messages.
#[derive(Clone, Debug)]
pub struct Case {
    /// What is special about it.
    pub name: &'static str,
    /// The matrix; that of another type is [made from it](typed).
    pub matrix: Csr<f64>,
}

/// Every case, as `kind` can hold it: for 2:4, no more than two entries of each group are kept.
///
/// # Errors
/// If a generator refuses its arguments, which would be a fault of this function.
pub fn cases(kind: FormatKind) -> Result<Vec<Case>, FormatError> {
    let random = |density: f64| move |i, j| unit(7, i, j) < density;
    let cases = [
        ("0×0", Csr::empty(0, 0)?),
        ("no rows", Csr::empty(0, 5)?),
        ("no columns", Csr::empty(5, 0)?),
        ("no entries", Csr::empty(37, 41)?),
        ("1×1", where_(1, 1, |_, _| true)?),
        ("diagonal", where_(65, 65, |i, j| i == j)?),
        ("sparse", where_(37, 43, random(0.1))?),
        ("many windows", where_(131, 67, random(0.04))?),
        ("tall", where_(301, 3, random(0.3))?),
        ("wide", where_(3, 515, random(0.2))?),
        ("all dense", where_(70, 66, |_, _| true)?),
        ("one dense row", girih_generate::dense_row(67, 131, 2, 40, 1)?),
        ("one dense column", girih_generate::dense_col(131, 67, 2, 66, 1)?),
        (
            "empty rows and windows at the end",
            where_(150, 31, |i, j| i < 41 && one_in(8, 3, i, j))?,
        ),
        ("empty rows and windows first", where_(150, 31, |i, j| i > 97 && one_in(8, 3, i, j))?),
        ("long rows", where_(5, 900, random(0.9))?),
        ("last column only", where_(40, 37, |_, j| j == 36)?),
        ("last row only", where_(49, 37, |i, _| i == 48)?),
        ("explicit zeros", explicit_zeros()?),
        ("sums of duplicates", sums_of_duplicates()?),
        ("skewed graph", girih_generate::rmat(7, 6, 1)?),
        ("power-law rows", girih_generate::power_law_rows(120, 90, 1, 1)?),
        ("finite elements", girih_generate::fem_2d(6, 5, 3, 1)?),
        ("blocks", girih_generate::block_sparse(100, 120, 16, 0.2, 1)?),
    ];
    cases.into_iter().map(|(name, matrix)| Ok(Case { name, matrix: fit(&matrix, kind)? })).collect()
}

/// The entries `(i, j)` that `present` picks, with values in ±[0.05, 1). O(nrows · ncols).
///
/// # Errors
/// If a dimension is too large for a matrix.
pub fn where_(
    nrows: usize,
    ncols: usize,
    present: impl Fn(usize, usize) -> bool,
) -> Result<Csr<f64>, FormatError> {
    from_fn(nrows, ncols, |i, j| present(i, j).then(|| signed(11, i, j)))
}

/// The matrix with the entries that `value` gives. O(nrows · ncols).
///
/// # Errors
/// If a dimension is too large for a matrix.
pub fn from_fn(
    nrows: usize,
    ncols: usize,
    value: impl Fn(usize, usize) -> Option<f64>,
) -> Result<Csr<f64>, FormatError> {
    let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..nrows {
        for j in 0..ncols {
            if let Some(value) = value(i, j) {
                col_idx.push(j as u32);
                values.push(value);
            }
        }
        row_ptr.push(values.len() as u64);
    }
    Csr::try_new(nrows, ncols, row_ptr, col_idx, values)
}

/// The matrix in a value type: [cast](Csr::cast), and with an imaginary part beside each value but zeros, where the
/// type has one.
#[must_use]
pub fn typed<T: Scalar>(csr: &Csr<f64>) -> Csr<T> {
    if !T::DTYPE.is_complex() {
        return csr.cast();
    }
    let im = |at: usize, re: f64| if re == 0.0 { 0.0 } else { signed(IMAGINARY, at, 0) };
    let value = |(at, &re): (usize, &f64)| T::from_c64(Complex::new(re, im(at, re)));
    let values: Vec<T> = csr.values().iter().enumerate().map(value).collect();
    match csr.with_values(values) {
        Ok(typed) => typed,
        Err(error) => unreachable!("there are as many values as entries: {error}"),
    }
}

/// The matrix as `kind` can hold it: for 2:4, without all but the first two entries of each group of
/// four columns; for the rest, as it is.
///
/// # Errors
/// None for a valid matrix.
pub fn fit(csr: &Csr<f64>, kind: FormatKind) -> Result<Csr<f64>, FormatError> {
    if kind != FormatKind::TwoFour {
        return Ok(csr.clone());
    }
    let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..csr.nrows() {
        let mut held = vec![0; TwoFour::<f64>::groups_of(csr.ncols())];
        let (cols, row_values) = csr.row(i);
        for (&col, &value) in cols.iter().zip(row_values) {
            let group = &mut held[col as usize / 4];
            *group += 1;
            if *group <= 2 {
                col_idx.push(col);
                values.push(value);
            }
        }
        row_ptr.push(values.len() as u64);
    }
    Csr::try_new(csr.nrows(), csr.ncols(), row_ptr, col_idx, values)
}

/// Zeros of both signs among other entries, and a row and a window of nothing else.
fn explicit_zeros() -> Result<Csr<f64>, FormatError> {
    from_fn(43, 29, |i, j| match hash(5, i, j) % 9 {
        0 if i != 7 && i < 32 => Some(signed(11, i, j)),
        0 | 1 => Some(0.0),
        2 => Some(-0.0),
        _ => None,
    })
}

/// 3000 random triplets on 400 positions, those of one position summed.
fn sums_of_duplicates() -> Result<Csr<f64>, FormatError> {
    let at = |seed| move |t| (hash(seed, t, 0) % 20) as u32;
    let (rows, cols) = ((0..3000).map(at(1)).collect(), (0..3000).map(at(2)).collect());
    let values = (0..3000).map(|t| signed(3, t, 0)).collect();
    Coo::try_new(20, 20, rows, cols, values)?.into_csr(Duplicates::Sum)
}
