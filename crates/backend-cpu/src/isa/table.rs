//! The kernels of one instruction set, behind safe functions.

use girih_formats::Scalar;
use half::{bf16, f16};

use super::line::{Line, LineFor, Widen};
use super::{Isa, portable};
use crate::kernels::access::{Access, Strided, Unit};
use crate::kernels::pack::pack;
use crate::kernels::patterns::{PatternBlock, patterns};
use crate::kernels::rows::{RowBlock, rows};
use crate::kernels::sorted::{SortedBlock, sorted};
use crate::kernels::store::combine;
use crate::kernels::strip::{Strip, strip};
use crate::operands::{Input, Output, RowMap};
use crate::roofline::probe::{Work, probe};

type RowsFn<T, A> = unsafe fn(&RowBlock<'_, A>, Input<T>, &Output<A>, RowMap<'_>, usize);
type SortedFn<T, A> = unsafe fn(&SortedBlock<'_, A>, Input<T>, &Output<A>, usize);
type PackFn<T> = unsafe fn(Input<T>, usize, usize, usize, *mut T, usize);
type PatternsFn<T, A> = unsafe fn(&PatternBlock<'_, A>, Input<T>, &Output<A>, usize);
type StripFn<T, A> = unsafe fn(&Strip<'_, A>, Input<T>, &Output<A>, RowMap<'_>, usize);
type WidenFn<T, A> = unsafe fn(&[T], &mut [A]);
type CombineFn<A> = unsafe fn(&[A], usize, &Output<A>, RowMap<'_>, usize);
type ProbeFn<A> = unsafe fn(Work<'_, A>) -> A;

/// The kernels for values of type `T`, each for unit column stride of B and for any.
#[derive(Clone, Copy)]
pub(crate) struct Kernels<T: Scalar> {
    rows: [RowsFn<T, T::Acc>; 2],
    sorted: [SortedFn<T, T::Acc>; 2],
    pack: PackFn<T>,
    patterns: [PatternsFn<T, T::Acc>; 2],
    strip: [StripFn<T, T::Acc>; 2],
    widen: WidenFn<T, T::Acc>,
    combine: CombineFn<T::Acc>,
    probe: ProbeFn<T::Acc>,
}

impl<T: KernelScalar> Kernels<T> {
    /// Multiplies a block of sparse rows by `width` columns of B.
    ///
    /// The block's columns must be rows of B, as those of any validated tiling are.
    #[inline]
    pub(crate) fn rows(
        &self,
        block: &RowBlock<'_, T::Acc>,
        b: Input<T>,
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        assert!(map.len() < block.row_ptr.len() && block.col_idx.len() == block.values.len());
        // SAFETY: the table was chosen for this machine; the operands were checked against the
        // tiling, whose indices are valid; a valid schedule gives these rows to this thread alone.
        unsafe { self.rows[usize::from(b.col_stride != 1)](block, b, out, map, width) }
    }

    /// Multiplies sorted rows by `width` columns of B.
    ///
    /// The block's columns must be rows of B; its rows, columns and values must be as many as its
    /// runs say.
    #[inline]
    pub(crate) fn sorted(
        &self,
        block: &SortedBlock<'_, T::Acc>,
        b: Input<T>,
        out: &Output<T::Acc>,
        width: usize,
    ) {
        // SAFETY: as for `rows`; a layout made from a valid matrix is as its runs say.
        unsafe { self.sorted[usize::from(b.col_stride != 1)](block, b, out, width) }
    }

    /// Copies rows of B, from row `first` on and `width` columns wide, to the rows of `to`, which are
    /// `stride` elements long.
    ///
    /// B must have those rows and columns.
    #[inline]
    pub(crate) fn pack(
        &self,
        b: Input<T>,
        first: usize,
        width: usize,
        to: &mut [T],
        stride: usize,
    ) {
        assert!(width <= stride && to.len().is_multiple_of(stride));
        // SAFETY: the table was chosen for this machine; `to` has whole rows and is exclusive.
        unsafe { (self.pack)(b, first, to.len() / stride, width, to.as_mut_ptr(), stride) }
    }

    /// Multiplies tiles of rows by `width` columns of B.
    ///
    /// The block's columns must be rows of B; its columns and values must be as many as its tiles
    /// say.
    #[inline]
    pub(crate) fn patterns(
        &self,
        block: &PatternBlock<'_, T::Acc>,
        b: Input<T>,
        out: &Output<T::Acc>,
        width: usize,
    ) {
        // SAFETY: as for `rows`; a layout made from a valid matrix is as its tiles say.
        unsafe { self.patterns[usize::from(b.col_stride != 1)](block, b, out, width) }
    }

    /// Multiplies a dense strip by `width` columns of B.
    #[inline]
    pub(crate) fn strip(
        &self,
        strip: &Strip<'_, T::Acc>,
        b: Input<T>,
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        if let (Some(row), Some(run)) = (map.len().checked_sub(1), strip.runs.len().checked_sub(1))
        {
            let end = row * strip.row_stride + run * strip.run_stride + strip.len;
            assert!(end <= strip.values.len());
        }
        // SAFETY: as for `rows`; that the values are there was just asserted.
        unsafe { self.strip[usize::from(b.col_stride != 1)](strip, b, out, map, width) }
    }

    /// Widens values to the accumulation type.
    #[inline]
    pub(crate) fn widen(&self, from: &[T], to: &mut [T::Acc]) {
        assert_eq!(from.len(), to.len());
        // SAFETY: the table was chosen for this machine, and the lengths agree.
        unsafe { (self.widen)(from, to) }
    }

    /// Adds up `parts` equally long arrays of sums in order and stores them; slot `i`'s sums stand
    /// at `i · width` of each.
    #[inline]
    pub(crate) fn combine(
        &self,
        sums: &[T::Acc],
        parts: usize,
        out: &Output<T::Acc>,
        map: RowMap<'_>,
        width: usize,
    ) {
        assert!(parts > 0 && map.len() * width <= sums.len() / parts);
        // SAFETY: as for `rows`; that the sums are there was just asserted.
        unsafe { (self.combine)(sums, parts, out, map, width) }
    }

    /// One of the loops that the machine's limits are measured with.
    #[inline]
    pub(crate) fn probe(&self, work: Work<'_, T::Acc>) -> T::Acc {
        // SAFETY: the table was chosen for this machine.
        unsafe { (self.probe)(work) }
    }
}

/// A value type that there are kernels for: all four.
pub(crate) trait KernelScalar: Scalar {
    /// The values themselves, where they need no widening.
    fn as_acc(values: &[Self]) -> Option<&[Self::Acc]>;

    /// The kernels of an instruction set.
    ///
    /// The caller must have found it available.
    fn kernels(isa: Isa) -> Kernels<Self>;
}

/// # Safety
/// The instruction set of `I`; `to` must not be shorter than `from`.
#[inline(always)]
unsafe fn widen<I: LineFor<T>, T: Scalar>(from: &[T], to: &mut [T::Acc]) {
    let lanes = const { <I::Line as Line>::LANES };
    let (src, dst) = (from.as_ptr(), to.as_mut_ptr());
    let mut i = 0;
    // SAFETY: the caller's contract; all accesses are below `from.len()`.
    unsafe {
        while i + lanes <= from.len() {
            let line: I::Line = Widen::<T>::widen(src.add(i));
            line.store(dst.add(i));
            i += lanes;
        }
        if i < from.len() {
            let mask = I::Line::mask(from.len() - i);
            let line: I::Line = Widen::<T>::widen_masked(src.add(i), mask);
            line.store_masked(dst.add(i), mask);
        }
    }
}

/// Compiles the kernels for one instruction set.
macro_rules! entries {
    ($name:ident: $isa:ty $(, #[$feature:meta])?) => {
        mod $name {
            use super::*;

            $(#[$feature])?
            unsafe fn rows_entry<S: Access, T: Scalar>(
                block: &RowBlock<'_, T::Acc>,
                b: Input<T>,
                out: &Output<T::Acc>,
                map: RowMap<'_>,
                width: usize,
            ) where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features and keeps the contract.
                unsafe { rows::<$isa, S, T>(block, b, out, map, width) }
            }

            $(#[$feature])?
            unsafe fn sorted_entry<S: Access, T: Scalar>(
                block: &SortedBlock<'_, T::Acc>,
                b: Input<T>,
                out: &Output<T::Acc>,
                width: usize,
            ) where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features and keeps the contract.
                unsafe { sorted::<$isa, S, T>(block, b, out, width) }
            }

            $(#[$feature])?
            unsafe fn pack_entry<T: Scalar>(
                b: Input<T>,
                first: usize,
                rows: usize,
                width: usize,
                to: *mut T,
                stride: usize,
            ) where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features and keeps the contract.
                unsafe { pack::<<$isa as LineFor<T>>::Line, T>(b, first, rows, width, to, stride) }
            }

            $(#[$feature])?
            unsafe fn patterns_entry<S: Access, T: Scalar>(
                block: &PatternBlock<'_, T::Acc>,
                b: Input<T>,
                out: &Output<T::Acc>,
                width: usize,
            ) where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features and keeps the contract.
                unsafe { patterns::<$isa, S, T>(block, b, out, width) }
            }

            $(#[$feature])?
            unsafe fn strip_entry<S: Access, T: Scalar>(
                block: &Strip<'_, T::Acc>,
                b: Input<T>,
                out: &Output<T::Acc>,
                map: RowMap<'_>,
                width: usize,
            ) where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features and keeps the contract.
                unsafe { strip::<$isa, S, T>(block, b, out, map, width) }
            }

            $(#[$feature])?
            unsafe fn widen_entry<T: Scalar>(from: &[T], to: &mut [T::Acc])
            where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features and keeps the contract.
                unsafe { widen::<$isa, T>(from, to) }
            }

            $(#[$feature])?
            unsafe fn combine_entry<T: Scalar>(
                sums: &[T::Acc],
                parts: usize,
                out: &Output<T::Acc>,
                map: RowMap<'_>,
                width: usize,
            ) where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features and keeps the contract.
                unsafe {
                    combine::<<$isa as LineFor<T>>::Line>(sums, parts, out, map, width);
                }
            }

            $(#[$feature])?
            unsafe fn probe_entry<T: Scalar>(work: Work<'_, T::Acc>) -> T::Acc
            where
                $isa: LineFor<T>,
            {
                // SAFETY: the caller has this function's features.
                unsafe { probe::<<$isa as LineFor<T>>::Line>(work) }
            }

            pub(super) fn kernels<T: Scalar>() -> Kernels<T>
            where
                $isa: LineFor<T>,
            {
                Kernels {
                    rows: [rows_entry::<Unit, T>, rows_entry::<Strided, T>],
                    sorted: [sorted_entry::<Unit, T>, sorted_entry::<Strided, T>],
                    pack: pack_entry::<T>,
                    patterns: [patterns_entry::<Unit, T>, patterns_entry::<Strided, T>],
                    strip: [strip_entry::<Unit, T>, strip_entry::<Strided, T>],
                    widen: widen_entry::<T>,
                    combine: combine_entry::<T>,
                    probe: probe_entry::<T>,
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
entries!(avx512: crate::isa::avx512::Avx512,
         #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")]);
#[cfg(target_arch = "x86_64")]
entries!(avx2: crate::isa::avx2::Avx2, #[target_feature(enable = "avx2,fma,f16c")]);
#[cfg(target_arch = "aarch64")]
entries!(neon: crate::isa::neon::Neon, #[target_feature(enable = "neon")]);
entries!(plain: portable::Portable);

macro_rules! kernel_scalar {
    ($($t:ty, |$values:ident| $as_acc:expr);*) => {$(
        impl KernelScalar for $t {
            #[inline(always)]
            fn as_acc($values: &[Self]) -> Option<&[Self::Acc]> {
                $as_acc
            }

            fn kernels(isa: Isa) -> Kernels<Self> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => avx512::kernels(),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => avx2::kernels(),
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => neon::kernels(),
                    _ => plain::kernels(),
                }
            }
        }
    )*};
}

kernel_scalar!(
    f32, |values| Some(values);
    f64, |values| Some(values);
    f16, |_values| None;
    bf16, |_values| None
);
