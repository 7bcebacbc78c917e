//! Tables of functions that are looked up when a library is opened.

/// Declares `Functions`, the functions of a library by their C names and signatures, and
/// `Functions::of`, which looks them all up: one that is missing is an error before anything is called.
macro_rules! functions {
    (of $library:expr; $($field:ident = $symbol:literal: fn($($arg:ty),*) -> $out:ty;)*) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($arg),*) -> $out,)*
        }

        impl Functions {
            fn of(
                library: &libloading::Library,
                path: &str,
            ) -> Result<Self, $crate::CudaError> {
                Ok(Self {
                    $($field: {
                        // SAFETY: the signature is the one in the library's header.
                        let found = unsafe { library.get($symbol.as_bytes()) };
                        *found.map_err(|_| $crate::CudaError::FunctionMissing {
                            library: $library,
                            path: path.to_owned(),
                            symbol: $symbol,
                        })?
                    },)*
                })
            }
        }
    };
}
