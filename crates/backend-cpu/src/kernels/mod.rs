//! Kernels of `girih-simd`, behind safe functions, and what the backend keeps for each value type.

mod b_panel;
mod table;

use std::cell::Cell;
use std::thread::LocalKey;

use girih_backend::Unsupported;
use girih_formats::DType;
use girih_planner::file::AttachedElement;
use girih_simd::KernelScalar;
#[cfg(feature = "half")]
use half::{bf16, f16};

use crate::exec::scratch::ThreadScratch;

pub(crate) use b_panel::BPanel;
pub(crate) use table::{Kernels, store_products};

/// A value type that kernels multiply: a real one that this build has kernels for. Complex values are two of them each.
pub(crate) trait CpuScalar: KernelScalar<Acc: AttachedElement + KernelScalar> {
    /// Scratch for packed rows of B and for sums, which each thread keeps.
    fn thread_scratch() -> &'static LocalKey<Cell<ThreadScratch<Self>>>;
}

macro_rules! cpu_scalar {
    ($($t:ty)*) => {$(
        impl CpuScalar for $t {
            fn thread_scratch() -> &'static LocalKey<Cell<ThreadScratch<Self>>> {
                thread_local!(static SCRATCH: Cell<ThreadScratch<$t>> = const { Cell::new(ThreadScratch::new()) });
                &SCRATCH
            }
        }
    )*};
}

cpu_scalar!(f32);
#[cfg(feature = "f64")]
cpu_scalar!(f64);
#[cfg(feature = "half")]
cpu_scalar!(f16 bf16);

/// Whether this build has kernels for a value type.
///
/// # Errors
/// Which feature adds them.
pub(crate) fn check_value_type(dtype: DType) -> Result<(), Unsupported> {
    let (has_kernels, feature, of_girih) = match dtype {
        DType::F32 | DType::C32 => return Ok(()),
        DType::F64 | DType::C64 => (cfg!(feature = "f64"), "f64", "cpu-f64"),
        DType::F16 | DType::Bf16 => (cfg!(feature = "half"), "half", "cpu-half"),
    };
    if has_kernels {
        return Ok(());
    }
    let reason = format!(
        "this build has no kernels for {dtype}: the feature `{of_girih}` of girih adds them (`{feature}` of \
         girih-backend-cpu)"
    );
    Err(Unsupported::ValueType { dtype, reason })
}

/// Runs an expression on a tiling of a real value type, which [`check_value_type`] has accepted, or another on complex
/// values.
macro_rules! for_kernel_tiling {
    ($any:expr, $tiling:ident => $body:expr, complex => $complex:expr $(,)?) => {
        match $any {
            girih_formats::AnyTiling::F32($tiling) => $body,
            #[cfg(feature = "f64")]
            girih_formats::AnyTiling::F64($tiling) => $body,
            #[cfg(feature = "half")]
            girih_formats::AnyTiling::F16($tiling) => $body,
            #[cfg(feature = "half")]
            girih_formats::AnyTiling::Bf16($tiling) => $body,
            girih_formats::AnyTiling::C32(_) | girih_formats::AnyTiling::C64(_) => $complex,
            #[cfg(not(all(feature = "f64", feature = "half")))]
            _ => unreachable!("the value type was checked"),
        }
    };
}

pub(crate) use for_kernel_tiling;

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use std::{env, fs};

    use object::{Object, ObjectSymbol};

    /// Where a function, such as a closure, is not compiled for the instruction set, each of its intrinsics is a call: rounding
    /// to bf16 took ten times as long once.
    #[test]
    fn no_intrinsic_of_kernels_is_a_call() {
        let program = fs::read(env::current_exe().unwrap()).unwrap();
        let program = object::File::parse(&*program).unwrap();
        let names = || program.symbols().filter_map(|symbol| symbol.name().ok());
        assert!(names().any(|name| name.contains("avx512")), "the program has no names");
        let calls: Vec<_> =
            names().filter(|name| name.contains("core_arch") && name.contains("_mm512_")).collect();
        assert!(calls.is_empty(), "{calls:?}");
    }
}
