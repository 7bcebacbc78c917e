//! The kernels of one instruction set, behind safe functions.

use std::cell::Cell;
use std::thread::LocalKey;

use girih_formats::Scalar;
use girih_planner::file::AttachedElement;
use half::{bf16, f16};

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::portable::Portable;
use super::{Isa, VectorsFor};
use crate::exec::scratch::ThreadScratch;
use crate::kernels::gather::{gather, panel};
use crate::kernels::pack::pack;
use crate::kernels::patterns::{PatternBlock, patterns};
use crate::kernels::rows::{RowBlock, rows};
use crate::kernels::runs::Runs;
use crate::kernels::sorted::{SortedBlock, sorted};
use crate::kernels::store::combine;
use crate::kernels::strip::{Strip, strip};
use crate::kernels::widen::widen;
use crate::operands::{Input, Output, RowMap, Source};
use crate::roofline::probe::{Work, probe};

type RowsFn<T, A> = unsafe fn(&RowBlock<'_, A>, Input<T>, &Output<A>, RowMap<'_>, usize);
type SortedFn<T, A> = unsafe fn(&SortedBlock<'_, A>, Input<T>, &Output<A>, usize);
type PackFn<T> = unsafe fn(Source<T>, usize, usize, usize, *mut T, usize);
type GatherFn<T> = unsafe fn(&Runs<'_>, usize, Input<T>, usize, *mut T);
type PatternsFn<T, A> = unsafe fn(&PatternBlock<'_, A>, Input<T>, &Output<A>, usize);
type StripFn<T, A> = unsafe fn(&Strip<'_, A>, Input<T>, &Output<A>, RowMap<'_>, usize);
type WidenFn<T, A> = unsafe fn(&[T], &mut [A]);
type CombineFn<A> = unsafe fn(&[A], usize, &Output<A>, RowMap<'_>, usize);
type ProbeFn<A> = unsafe fn(Work<'_, A>) -> A;

/// The kernels for values of type `T`.
#[derive(Clone, Copy)]
pub(crate) struct Kernels<T: Scalar> {
    rows: RowsFn<T, T::Acc>,
    sorted: SortedFn<T, T::Acc>,
    pack: PackFn<T>,
    gather: GatherFn<T>,
    panel: usize,
    patterns: PatternsFn<T, T::Acc>,
    strip: StripFn<T, T::Acc>,
    widen: WidenFn<T, T::Acc>,
    combine: CombineFn<T::Acc>,
    probe: ProbeFn<T::Acc>,
}

impl<T: KernelScalar> Kernels<T> {
    fn for_isa<I: VectorsFor<T>>() -> Self {
        Self {
            rows: rows::<I, T>,
            sorted: sorted::<I, T>,
            pack: pack::<I, T>,
            gather: gather::<I, T>,
            panel: const { panel::<I, T>() },
            patterns: patterns::<I, T>,
            strip: strip::<I, T>,
            widen: widen::<I, T>,
            combine: combine::<I, T>,
            probe: probe::<I, T>,
        }
    }

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
        unsafe { (self.rows)(block, b, out, map, width) }
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
        unsafe { (self.sorted)(block, b, out, width) }
    }

    /// Copies rows of B, from row `first` on and `width` columns wide, to the rows of `to`, which are
    /// `stride` elements long.
    ///
    /// B must have those rows and columns.
    #[inline]
    pub(crate) fn pack(
        &self,
        b: Source<T>,
        first: usize,
        width: usize,
        to: &mut [T],
        stride: usize,
    ) {
        assert!(width <= stride && to.len().is_multiple_of(stride));
        // SAFETY: the table was chosen for this machine; `to` has whole rows and is exclusive.
        unsafe { (self.pack)(b, first, to.len() / stride, width, to.as_mut_ptr(), stride) }
    }

    /// Columns of a panel of gathered rows.
    #[inline]
    pub(crate) fn panel(&self) -> usize {
        self.panel
    }

    /// Copies the rows of B that `runs` name, `width` columns wide, to panels of [`panel`](Self::panel)
    /// columns, one after the other.
    ///
    /// B must have those rows and columns.
    #[inline]
    pub(crate) fn gather(&self, runs: &Runs<'_>, b: Input<T>, width: usize, to: &mut [T]) {
        let count = runs.count();
        #[cfg(test)]
        if let Some(recorder) = b.recorder {
            recorder.gathered();
        }
        assert!(count * width.next_multiple_of(self.panel) <= to.len());
        // SAFETY: the table was chosen for this machine; `to` has room for all panels and is exclusive.
        unsafe { (self.gather)(runs, count, b, width, to.as_mut_ptr()) }
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
        unsafe { (self.patterns)(block, b, out, width) }
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
        let runs = strip.runs.starts.len();
        if let (Some(row), Some(run)) = (map.len().checked_sub(1), runs.checked_sub(1)) {
            let end = row * strip.row_stride + run * strip.run_stride + strip.runs.len;
            assert!(end <= strip.values.len());
        }
        // SAFETY: as for `rows`; that the values are there was just asserted.
        unsafe { (self.strip)(strip, b, out, map, width) }
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
pub(crate) trait KernelScalar: Scalar<Acc: AttachedElement> {
    /// The values themselves, where they need no widening.
    fn as_acc(values: &[Self]) -> Option<&[Self::Acc]>;

    /// The kernels of an instruction set.
    ///
    /// The caller must have found it available.
    fn kernels(isa: Isa) -> Kernels<Self>;

    /// Scratch for packed rows of B and for sums, which each thread keeps.
    fn thread_scratch() -> &'static LocalKey<Cell<ThreadScratch<Self>>>;
}

macro_rules! kernel_scalar {
    ($($t:ty, |$values:ident| $as_acc:expr);*) => {$(
        impl KernelScalar for $t {
            #[inline(always)]
            fn as_acc($values: &[Self]) -> Option<&[Self::Acc]> {
                $as_acc
            }

            fn thread_scratch() -> &'static LocalKey<Cell<ThreadScratch<Self>>> {
                thread_local!(static SCRATCH: Cell<ThreadScratch<$t>> = const { Cell::new(ThreadScratch::new()) });
                &SCRATCH
            }

            fn kernels(isa: Isa) -> Kernels<Self> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => Kernels::for_isa::<Avx512>(),
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => Kernels::for_isa::<Avx2>(),
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => Kernels::for_isa::<Neon>(),
                    _ => Kernels::for_isa::<Portable>(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Vector;

    fn agree<I: VectorsFor<f32>>(isa: Isa) {
        let found = (I::Vector::PREFETCHES, I::STRIP_VECTORS == 4, I::Vector::WIDE);
        assert_eq!(
            found,
            (isa.prefetches(), isa.has_wide_strips(), isa.has_wide_vectors()),
            "{isa}"
        );
    }

    #[test]
    fn decisions_know_what_kernels_of_each_instruction_set_can_do() {
        agree::<Portable>(Isa::Portable);
        #[cfg(target_arch = "x86_64")]
        {
            agree::<Avx2>(Isa::Avx2);
            agree::<Avx512>(Isa::Avx512);
        }
        #[cfg(target_arch = "aarch64")]
        agree::<Neon>(Isa::Neon);
    }
}
