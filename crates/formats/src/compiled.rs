//! What is compiled once for each value type, in this crate.
//!
//! A generic function is compiled again in each crate that uses it. Readers and conversions are long and used by many:
//! the public methods are thin, and call these, which are not generic.

use num_complex::Complex;

use crate::csr::Csr;
use crate::error::FormatError;
use crate::io::{self, Info, ReadError, ReadOptions, Source};
use crate::layout::RowLayout;
use crate::pattern::CsrPattern;
use crate::scalar::Scalar;
use crate::tilings::slot_map::SlotMap;
use crate::tilings::value_places::ValuePlaces;
use crate::tilings::{
    BMat, Bcsr, BlockedEll, E4m3Overflow, E4m3Scales, Hybrid, RowCsr, Tiling, TwoFour, Wcsr,
};

/// How long the rows of a matrix are.
pub(crate) type RowLen<'a> = &'a (dyn Fn(usize) -> usize + Sync);

/// Fills one row's columns and values.
pub(crate) type FillRow<'a, T> = &'a (dyn Fn(usize, &mut [u32], &mut [T]) + Sync);

/// The functions, for one value type.
pub trait Compiled: Sized + 'static {
    fn read_matrix(
        source: Source<'_>,
        options: &ReadOptions,
    ) -> Result<(Csr<Self>, Info), ReadError>
    where
        Self: Scalar;
    fn csr_from_rows(
        nrows: usize,
        ncols: usize,
        len: RowLen<'_>,
        fill: FillRow<'_, Self>,
    ) -> Result<Csr<Self>, FormatError>
    where
        Self: Scalar;
    fn csr_transpose(csr: &Csr<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn row_csr_from_csr(csr: &Csr<Self>, layout: RowLayout) -> Result<RowCsr<Self>, FormatError>
    where
        Self: Scalar;
    fn row_csr_to_csr(tiling: &RowCsr<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn bcsr_from_csr(
        csr: &Csr<Self>,
        layout: RowLayout,
        block_cols: usize,
    ) -> Result<Bcsr<Self>, FormatError>
    where
        Self: Scalar;
    fn bcsr_to_csr(tiling: &Bcsr<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn wcsr_from_csr(
        csr: &Csr<Self>,
        layout: RowLayout,
        pad_cols: usize,
    ) -> Result<Wcsr<Self>, FormatError>
    where
        Self: Scalar;
    fn wcsr_to_csr(tiling: &Wcsr<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn blocked_ell_from_csr(
        csr: &Csr<Self>,
        layout: RowLayout,
    ) -> Result<BlockedEll<Self>, FormatError>
    where
        Self: Scalar;
    fn blocked_ell_to_csr(tiling: &BlockedEll<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn bmat_from_csr(
        csr: &Csr<Self>,
        layout: RowLayout,
        pattern_only: bool,
    ) -> Result<BMat<Self>, FormatError>
    where
        Self: Scalar;
    fn bmat_to_csr(tiling: &BMat<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn two_four_from_csr(csr: &Csr<Self>, layout: RowLayout) -> Result<TwoFour<Self>, FormatError>
    where
        Self: Scalar;
    fn two_four_e4m3(
        csr: &Csr<Self>,
        layout: RowLayout,
        scales: &E4m3Scales,
        overflow: E4m3Overflow,
    ) -> Result<TwoFour<Self>, FormatError>
    where
        Self: Scalar;
    fn two_four_to_csr(tiling: &TwoFour<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn hybrid_from_csr(
        csr: &Csr<Self>,
        layout: RowLayout,
        sizes: (usize, usize),
    ) -> Result<Hybrid<Self>, FormatError>
    where
        Self: Scalar;
    fn hybrid_to_csr(tiling: &Hybrid<Self>) -> Csr<Self>
    where
        Self: Scalar;
    fn slot_map(tiling: &Tiling<Self>, pattern: CsrPattern<'_>) -> Result<SlotMap, FormatError>
    where
        Self: Scalar;
    fn refresh_values(
        tiling: &mut Tiling<Self>,
        map: &SlotMap,
        values: &[Self],
    ) -> Result<(), FormatError>
    where
        Self: Scalar;
    fn value_places(tiling: &Tiling<Self>) -> Result<ValuePlaces, FormatError>
    where
        Self: Scalar;
    fn put_values(
        tiling: &mut Tiling<Self>,
        places: &ValuePlaces,
        values: &[Self],
    ) -> Result<(), FormatError>
    where
        Self: Scalar;
}

macro_rules! compiled {
    ($($t:ty)*) => {$(
        impl Compiled for $t {
            fn read_matrix(source: Source<'_>, options: &ReadOptions) -> Result<(Csr<Self>, Info), ReadError> {
                io::read_any(source, options)
            }
            fn csr_from_rows(nrows: usize, ncols: usize, len: RowLen<'_>, fill: FillRow<'_, Self>) -> Result<Csr<Self>, FormatError> {
                Csr::from_rows_with(nrows, ncols, len, fill)
            }
            fn csr_transpose(csr: &Csr<Self>) -> Csr<Self> {
                csr.transpose_values()
            }
            fn row_csr_from_csr(csr: &Csr<Self>, layout: RowLayout) -> Result<RowCsr<Self>, FormatError> {
                RowCsr::tiled(csr, layout)
            }
            fn row_csr_to_csr(tiling: &RowCsr<Self>) -> Csr<Self> {
                tiling.untiled()
            }
            fn bcsr_from_csr(csr: &Csr<Self>, layout: RowLayout, block_cols: usize) -> Result<Bcsr<Self>, FormatError> {
                Bcsr::tiled(csr, layout, block_cols)
            }
            fn bcsr_to_csr(tiling: &Bcsr<Self>) -> Csr<Self> {
                tiling.untiled()
            }
            fn wcsr_from_csr(csr: &Csr<Self>, layout: RowLayout, pad_cols: usize) -> Result<Wcsr<Self>, FormatError> {
                Wcsr::tiled(csr, layout, pad_cols)
            }
            fn wcsr_to_csr(tiling: &Wcsr<Self>) -> Csr<Self> {
                tiling.untiled()
            }
            fn blocked_ell_from_csr(csr: &Csr<Self>, layout: RowLayout) -> Result<BlockedEll<Self>, FormatError> {
                BlockedEll::tiled(csr, layout)
            }
            fn blocked_ell_to_csr(tiling: &BlockedEll<Self>) -> Csr<Self> {
                tiling.untiled()
            }
            fn bmat_from_csr(csr: &Csr<Self>, layout: RowLayout, pattern_only: bool) -> Result<BMat<Self>, FormatError> {
                BMat::tiled(csr, layout, pattern_only)
            }
            fn bmat_to_csr(tiling: &BMat<Self>) -> Csr<Self> {
                tiling.untiled()
            }
            fn two_four_from_csr(csr: &Csr<Self>, layout: RowLayout) -> Result<TwoFour<Self>, FormatError> {
                TwoFour::tiled(csr, layout)
            }
            fn two_four_e4m3(csr: &Csr<Self>, layout: RowLayout, scales: &E4m3Scales, overflow: E4m3Overflow) -> Result<TwoFour<Self>, FormatError> {
                TwoFour::tiled_e4m3(csr, layout, scales, overflow)
            }
            fn two_four_to_csr(tiling: &TwoFour<Self>) -> Csr<Self> {
                tiling.untiled()
            }
            fn hybrid_from_csr(csr: &Csr<Self>, layout: RowLayout, sizes: (usize, usize)) -> Result<Hybrid<Self>, FormatError> {
                Hybrid::tiled(csr, layout, sizes)
            }
            fn hybrid_to_csr(tiling: &Hybrid<Self>) -> Csr<Self> {
                tiling.untiled()
            }
            fn slot_map(tiling: &Tiling<Self>, pattern: CsrPattern<'_>) -> Result<SlotMap, FormatError> {
                tiling.map_of_slots(pattern)
            }
            fn refresh_values(tiling: &mut Tiling<Self>, map: &SlotMap, values: &[Self]) -> Result<(), FormatError> {
                tiling.scatter_values(map, values)
            }
            fn value_places(tiling: &Tiling<Self>) -> Result<ValuePlaces, FormatError> {
                tiling.places_of_values()
            }
            fn put_values(tiling: &mut Tiling<Self>, places: &ValuePlaces, values: &[Self]) -> Result<(), FormatError> {
                tiling.write_values(places, values)
            }
        }
    )*};
}

compiled!(f32 f64 half::f16 half::bf16 Complex<f32> Complex<f64>);
