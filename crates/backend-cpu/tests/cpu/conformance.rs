//! The conformance suite, on every instruction set that this machine has.

use girih_backend_cpu::{CpuBackend, Isa};
use girih_testkit::Coverage;
use girih_testkit::conformance::{assert_conforms, named_dtype, named_format};

macro_rules! conforms {
    ($($isa_name:ident: $isa:ident),*) => {$(
        mod $isa_name {
            use super::*;
            conforms!(@formats $isa, csr, bcsr, wcsr, blocked_ell, bmat, two_four, hybrid);

            mod complex {
                use super::*;
                conforms!(@complex $isa, csr, bcsr);
            }
        }
    )*};
    (@formats $isa:ident, $($format:ident),*) => {$(
        mod $format {
            use super::*;
            conforms!(@dtypes $isa, $format, f16, bf16, f32, f64);
        }
    )*};
    (@complex $isa:ident, $($format:ident),*) => {$(
        mod $format {
            use super::*;
            conforms!(@dtypes $isa, $format, c32, c64);
        }
    )*};
    (@dtypes $isa:ident, $format:ident, $($dtype:ident),*) => {$(
        #[test]
        fn $dtype() {
            let Some(backend) = CpuBackend::with_isa(Isa::$isa) else {
                eprintln!("skipped: this machine has no {}", Isa::$isa);
                return;
            };
            assert_conforms(
                &backend,
                named_format(stringify!($format)),
                named_dtype(stringify!($dtype)),
                Coverage::EverySpec,
            );
        }
    )*};
}

conforms!(avx512: Avx512, avx2: Avx2, neon: Neon, portable: Portable);
