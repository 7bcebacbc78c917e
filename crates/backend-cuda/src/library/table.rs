//! Tables of functions that are looked up when a library is opened.

/// Declares `Functions`, functions of a library by their C names and signatures, and `Functions::of`, which looks
/// them all up in a [`FoundLibrary`](crate::low_level::FoundLibrary): one that is missing is an error before
/// anything is called.
///
/// The signatures must be those in the library's header, and whoever holds `Functions` holds the library too.
///
/// ```
/// # mod table {
/// use girih_backend_cuda::{CudaError, LibrarySearch};
///
/// girih_backend_cuda::library_functions! {
///     cosine = "cos": fn(f64) -> f64;
/// }
///
/// # pub fn run() -> Result<(), CudaError> {
/// let library = LibrarySearch::new().open("the C library's mathematics", &["libm.so.6"])?;
/// let functions = Functions::of(&library)?;
/// // SAFETY: it takes any number, and the library is loaded.
/// assert_eq!(unsafe { (functions.cosine)(0.0) }, 1.0);
/// # Ok(())
/// # }
/// # }
/// # // Other systems call the library by another name.
/// # if cfg!(all(target_os = "linux", target_env = "gnu")) {
/// #     table::run().unwrap();
/// # }
/// ```
#[macro_export]
macro_rules! library_functions {
    ($($field:ident = $symbol:literal: fn($($arg:ty),*) -> $out:ty;)*) => {
        struct Functions {
            $($field: unsafe extern "C" fn($($arg),*) -> $out,)*
        }

        impl Functions {
            fn of(
                library: &$crate::low_level::FoundLibrary,
            ) -> ::std::result::Result<Self, $crate::CudaError> {
                ::std::result::Result::Ok(Self {
                    $($field: {
                        let symbol = $symbol;
                        // SAFETY: 1 and 2 are seen to by who writes the table, 3 by who holds it.
                        unsafe { library.function(symbol) }?
                    },)*
                })
            }
        }
    };
}
