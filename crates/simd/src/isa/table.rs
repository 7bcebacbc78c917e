//! The kernels of one instruction set, as addresses of functions.

use girih_formats::{Real, Scalar};
#[cfg(feature = "half")]
use half::{bf16, f16};

#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
use super::avx2::Avx2;
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
use super::avx512::Avx512;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::portable::Portable;
use super::{Isa, Vector, VectorsFor};
use crate::kernels::aggregate::{Total, aggregate};
use crate::kernels::gather::{gather, panel};
use crate::kernels::pack::pack;
use crate::kernels::patterns::{PatternBlock, patterns};
use crate::kernels::probe::{Work, probe};
use crate::kernels::rows::{RowBlock, rows};
use crate::kernels::runs::Runs;
use crate::kernels::sampled::{SampledEntries, SampledRows, sampled};
use crate::kernels::sorted::{SortedBlock, sorted};
use crate::kernels::store::combine;
use crate::kernels::strip::{Strip, strip};
use crate::kernels::widen::widen;
use crate::operands::{Input, Output, RowMap, Source};

type RowsFn<T, A> = unsafe fn(&RowBlock<'_, A>, Input<T>, &Output<A>, RowMap<'_>, usize);
type SortedFn<T, A> = unsafe fn(&SortedBlock<'_, A>, Input<T>, &Output<A>, usize);
type PackFn<T> = unsafe fn(Source<T>, usize, usize, usize, *mut T, usize);
type GatherFn<T> = unsafe fn(&Runs<'_>, usize, Input<T>, usize, *mut T);
type PatternsFn<T, A> = unsafe fn(&PatternBlock<'_, A>, Input<T>, &Output<A>, usize);
type StripFn<T, A> = unsafe fn(&Strip<'_, A>, Input<T>, &Output<A>, RowMap<'_>, usize);
type WidenFn<T, A> = unsafe fn(&[T], usize, usize, &mut [A]);
type CombineFn<A> = unsafe fn(&[A], usize, &Output<A>, RowMap<'_>, usize);
type SampledFn<T, A> = unsafe fn(SampledRows<T>, SampledEntries<'_>, [A; 2], &mut [A]);
type AggregateFn<T, A> =
    unsafe fn(&RowBlock<'_, A>, Total, Source<T>, &Output<A>, RowMap<'_>, usize);
type ProbeFn<A> = unsafe fn(Work<'_, A>) -> A;

/// The kernels for values of type `T`, each compiled for one instruction set.
/// What each requires is said at the function that it names, in `src/kernels`.
#[derive(Clone, Copy, Debug)]
pub struct KernelTable<T: Scalar> {
    /// Multiplies a block of sparse rows as stored, `kernels::rows`.
    pub rows: RowsFn<T, T::Acc>,
    /// Multiplies sorted rows, `kernels::sorted`.
    pub sorted: SortedFn<T, T::Acc>,
    /// Copies rows of B, `kernels::pack`.
    pub pack: PackFn<T>,
    /// Copies the rows of B in runs to panels, `kernels::gather`.
    pub gather: GatherFn<T>,
    /// Columns of a panel of gathered rows.
    pub panel: usize,
    /// Multiplies tiles of rows, `kernels::patterns`.
    pub patterns: PatternsFn<T, T::Acc>,
    /// Multiplies a dense strip, `kernels::strip`.
    pub strip: StripFn<T, T::Acc>,
    /// Widens values to the type of sums, `kernels::widen`.
    pub widen: WidenFn<T, T::Acc>,
    /// Adds up the parts of split windows, `kernels::combine`.
    pub combine: CombineFn<T::Acc>,
    /// Inner products of rows that entries name, `kernels::sampled`.
    pub sampled: SampledFn<T, T::Acc>,
    /// Greatest products or means of rows, `kernels::aggregate`.
    pub aggregate: AggregateFn<T, T::Acc>,
    /// Runs a loop that measures the machine, `kernels::probe`.
    pub probe: ProbeFn<T::Acc>,
}

impl<T: KernelScalar> KernelTable<T> {
    /// The kernels compiled for `I`, which this machine must have.
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
            sampled: sampled::<I, T>,
            aggregate: aggregate::<I, T>,
            probe: probe::<I, T>,
        }
    }
}

/// A value type that there are kernels for: f32, and f64, f16 and bf16 where the features `f64` and `half` add them.
pub trait KernelScalar: Real {
    /// The values themselves, where they need no widening.
    fn as_acc(values: &[Self]) -> Option<&[Self::Acc]>;

    /// The kernels of an instruction set.
    ///
    /// # Panics
    /// If this machine does not have it.
    fn kernels(isa: Isa) -> KernelTable<Self>;
}

macro_rules! kernel_scalar {
    ($($t:ty, |$values:ident| $as_acc:expr;)*) => {$(
        impl KernelScalar for $t {
            #[inline(always)]
            fn as_acc($values: &[Self]) -> Option<&[Self::Acc]> {
                $as_acc
            }

            fn kernels(isa: Isa) -> KernelTable<Self> {
                assert!(isa.is_available(), "this machine has no {isa}");
                match isa {
                    #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
                    Isa::Avx512 => KernelTable::for_isa::<Avx512>(),
                    #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
                    Isa::Avx2 => KernelTable::for_isa::<Avx2>(),
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => KernelTable::for_isa::<Neon>(),
                    _ => KernelTable::for_isa::<Portable>(),
                }
            }
        }
    )*};
}

kernel_scalar!(f32, |values| Some(values););
#[cfg(feature = "f64")]
kernel_scalar!(f64, |values| Some(values););
#[cfg(feature = "half")]
kernel_scalar!(
    f16, |_values| None;
    bf16, |_values| None;
);

/// Decisions are made by an [`Isa`] alone; this is what they rely on.
const fn is_as_named<I: VectorsFor<f32>>(isa: Isa) -> bool {
    I::Vector::PREFETCHES == isa.prefetches()
        && (I::STRIP_VECTORS == 4) == isa.has_wide_strips()
        && I::Vector::WIDE == isa.has_wide_vectors()
        && I::Vector::MASKS_HALVES == isa.masks_halves()
}

const _: () = assert!(is_as_named::<Portable>(Isa::Portable));
#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
const _: () = assert!(is_as_named::<Avx2>(Isa::Avx2));
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
const _: () = assert!(is_as_named::<Avx512>(Isa::Avx512));
#[cfg(target_arch = "aarch64")]
const _: () = assert!(is_as_named::<Neon>(Isa::Neon));
