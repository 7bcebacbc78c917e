//! Loops compiled for wider vectors.
//!
//! Programs are built for any processor of their architecture. What is inlined into [`Wide::run`] is
//! compiled for wider vectors than all of them have. Results are the same: no operation is fused or
//! put in another order.
//!
//! A closure is inlined there for certain only if it is called nowhere else. So what is to run without
//! wide vectors too is written down once and expanded twice, by [`either!`].

/// Vectors that are wider than those that programs are built for. To cut a number to an integer is an
/// instruction there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wide(#[cfg(target_arch = "x86_64")] fearless_simd::Avx2);

impl Wide {
    /// Those of this processor, if it has them.
    #[inline]
    pub(crate) fn of_processor() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return fearless_simd::Level::new().as_avx2().map(Self);
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Runs a function, compiled for them as far as it is inlined.
    #[inline(always)]
    pub(crate) fn run<R>(self, f: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        return fearless_simd::Simd::vectorize(self.0, f);
        #[cfg(not(target_arch = "x86_64"))]
        f()
    }
}

/// A boxed closure of references, compiled for the processor's vectors. What it captures is copied.
macro_rules! either {
    (|$($name:ident: $ty:ty),*| $body:expr) => {
        match $crate::vectors::Wide::of_processor() {
            Some(wide) => Box::new(move |$($name: $ty),*| wide.run(|| $body)) as Box<_>,
            None => Box::new(move |$($name: $ty),*| $body),
        }
    };
}
pub(crate) use either;
