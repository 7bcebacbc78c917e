//! Bias, activation and rounding, as kernels see them.

use girih_backend::Activation;
use girih_formats::{DType, Real, Scalar};
use ndarray::ArrayViewMut2;

use super::rounded::RoundedC;
use super::{Store, leaves_caches};

/// What elements of C go through before they are stored, and where C lies: kernels know addresses, and an
/// element's bias is found by its address.
#[derive(Clone, Copy, Debug)]
pub struct Finish<A> {
    /// The element in row 0 and column 0 of the whole C.
    pub(super) origin: *const A,
    pub(super) dim: (usize, usize),
    pub(super) strides: (isize, isize),
    bias: Option<BiasValues<A>>,
    /// What is applied after the bias.
    pub activation: Activation,
    /// Where elements are stored, if they are rounded to 16 bits first. `origin` then stands for an address.
    rounded: Option<RoundedC>,
    /// Whether whole cache lines of a row that is finished at once are written past the caches.
    streams: bool,
}

#[derive(Clone, Copy, Debug)]
struct BiasValues<A> {
    ptr: *const A,
    len: usize,
    per_row: bool,
}

impl<A> BiasValues<A> {
    /// For a C of this shape.
    ///
    /// # Panics
    /// If there is not a value for each row, or else for each column.
    fn new((values, per_row): (&[A], bool), (m, n): (usize, usize)) -> Self {
        assert_eq!(values.len(), if per_row { m } else { n });
        Self { ptr: values.as_ptr(), len: values.len(), per_row }
    }
}

/// What is added to elements of C that kernels store together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BiasPart<'a, A> {
    /// Nothing.
    None,
    /// The same for all.
    One(A),
    /// One for each.
    Each(&'a [A]),
}

impl<A: Scalar> Finish<A> {
    /// For elements of `c`. A bias has a value for each row, or else for each column.
    ///
    /// # Panics
    /// If the bias has another length.
    pub fn new(
        c: &ArrayViewMut2<'_, A>,
        bias: Option<(&[A], bool)>,
        activation: Activation,
    ) -> Self {
        Self {
            origin: c.as_ptr(),
            dim: c.dim(),
            strides: (c.strides()[0], c.strides()[1]),
            bias: bias.map(|bias| BiasValues::new(bias, c.dim())),
            activation,
            rounded: None,
            streams: leaves_caches(c.len() * size_of::<A>(), false),
        }
    }

    /// The same for a C of f16 or bf16, which elements are rounded to.
    ///
    /// # Panics
    /// If the bias has another length, C another type, or sums are not of f32.
    pub fn rounded<C: Real>(
        c: &mut ArrayViewMut2<'_, C>,
        bias: Option<(&[A], bool)>,
        activation: Activation,
    ) -> Self {
        assert!(matches!((A::DTYPE, C::DTYPE), (DType::F32, DType::F16 | DType::Bf16)));
        Self {
            // Kernels count elements from here, and access none.
            origin: std::ptr::without_provenance(align_of::<A>()),
            dim: c.dim(),
            strides: (c.strides()[0], c.strides()[1]),
            bias: bias.map(|bias| BiasValues::new(bias, c.dim())),
            activation,
            rounded: Some(RoundedC::new(c)),
            streams: leaves_caches(c.len() * size_of::<C>(), false),
        }
    }

    /// The element of a rounded C that an address stands for; `None` if C is not rounded.
    #[inline(always)]
    pub fn rounded_at(&self, at: *const A) -> Option<RoundedC> {
        self.rounded.map(|c| c.at(self.offset(at)))
    }

    /// How elements are stored whose columns are this far apart: as vectors where that is possible.
    pub(super) fn store(&self, col_stride: isize, beta: A) -> Store {
        let is_elementwise = self.activation == Activation::Gelu
            || col_stride != 1
            || self.rounds() && !beta.is_zero();
        if is_elementwise { Store::Elements } else { Store::Finish }
    }

    /// Whether elements are rounded to 16 bits.
    pub fn rounds(&self) -> bool {
        self.rounded.is_some()
    }

    /// Whether whole cache lines of rows from scratch are written past the caches.
    pub(crate) fn streams(&self) -> bool {
        self.streams
    }

    /// Whether C has a single column.
    pub(crate) fn is_column(&self) -> bool {
        self.dim.1 == 1
    }

    /// Whether something is added to elements.
    pub(crate) fn has_bias(&self) -> bool {
        self.bias.is_some()
    }

    /// Whether elements are rounded, and nothing else happens to them.
    pub(crate) fn rounds_alone(&self) -> bool {
        self.rounds() && !self.has_bias() && self.activation == Activation::None
    }

    /// Elements from the first one to the one at an address.
    #[inline(always)]
    fn offset(&self, at: *const A) -> isize {
        at.addr().wrapping_sub(self.origin.addr()) as isize / size_of::<A>() as isize
    }

    /// The row and column of the element at an address.
    ///
    /// Elements of a mutable view do not overlap, so one axis takes whole steps over the other.
    fn place(&self, at: *const A) -> (usize, usize) {
        let offset = self.offset(at);
        let (rows, cols) = self.strides;
        match self.dim {
            (_, 1) => (if offset == 0 { 0 } else { (offset / rows) as usize }, 0),
            (1, _) => (0, (offset / cols) as usize),
            _ if rows.unsigned_abs() >= cols.unsigned_abs() => steps(offset, rows, cols),
            _ => {
                let (col, row) = steps(offset, cols, rows);
                (row, col)
            }
        }
    }

    /// The values of the bias, and whether they are for rows: those for columns from that of the element at an address on.
    pub(crate) fn row_bias(&self, at: *const A) -> Option<(&[A], bool)> {
        let BiasValues { ptr, len, per_row } = self.bias?;
        // SAFETY: `new` took both from a slice, which outlives the product (point 4 of the module).
        let values = unsafe { std::slice::from_raw_parts(ptr, len) };
        Some(if per_row { (values, true) } else { (&values[self.place(at).1..], false) })
    }

    /// What is added to `len` elements from the one at an address on: neighbours in a row, or in the only
    /// column.
    pub fn bias(&self, at: *const A, len: usize) -> BiasPart<'_, A> {
        let Some(BiasValues { ptr, len: of, per_row }) = self.bias else { return BiasPart::None };
        // SAFETY: `new` took both from a slice, which outlives the product (point 4 of the module).
        let values = unsafe { std::slice::from_raw_parts(ptr, of) };
        let (row, col) = self.place(at);
        let is_column = self.dim.1 == 1;
        match (per_row, is_column) {
            (true, true) => BiasPart::Each(&values[row..row + len]),
            (true, false) => BiasPart::One(values[row]),
            (false, true) => BiasPart::One(values[0]),
            (false, false) => BiasPart::Each(&values[col..col + len]),
        }
    }
}

/// Steps of the wide stride, and of the narrow one within it.
fn steps(offset: isize, wide: isize, narrow: isize) -> (usize, usize) {
    // Along the wide axis, whichever way it goes.
    let (offset, narrow) = (offset * wide.signum(), narrow * wide.signum());
    let wide = wide.abs();
    let steps = if narrow < 0 {
        // The narrow axis goes back, by less than a step.
        -(-offset).div_euclid(wide)
    } else {
        offset.div_euclid(wide)
    };
    (steps as usize, ((offset - steps * wide) / narrow) as usize)
}

#[cfg(test)]
mod tests {
    use girih_testkit::operands::{Layout, Placed};
    use ndarray::Array2;

    use super::*;

    #[test]
    fn an_element_is_found_by_its_address_whatever_the_strides() {
        for dim in [(1, 1), (5, 1), (1, 7), (5, 7), (7, 5), (2, 2)] {
            for layout in Layout::WRITABLE {
                let mut c = Placed::new(&Array2::<f32>::zeros(dim), layout);
                let mut view = c.view_mut();
                let (rows, cols) = (vec![0.5; dim.0], (0..dim.1).map(|j| j as f32));
                let cols: Vec<f32> = cols.collect();
                let finish = Finish::new(&view, Some((&cols, false)), Activation::None);
                for ((i, j), element) in view.indexed_iter_mut() {
                    assert_eq!(finish.place(element), (i, j), "{dim:?}, {layout:?}");
                    let expected = match dim.1 {
                        1 => BiasPart::One(0.0),
                        _ => BiasPart::Each(&cols[j..]),
                    };
                    assert_eq!(finish.bias(element, dim.1 - j), expected);
                }
                let finish = Finish::new(&view, Some((&rows, true)), Activation::None);
                let first: *const f32 = &raw const view[[0, 0]];
                let expected = match dim.1 {
                    1 => BiasPart::Each(&rows[..]),
                    _ => BiasPart::One(0.5),
                };
                assert_eq!(finish.bias(first, dim.0), expected);
            }
        }
    }
}
