//! How the backend is set up.

use std::path::PathBuf;

use crate::{CsrLayout, CtaOrder, LibrarySearch};

/// How the backend is set up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CudaOptions {
    /// Where libraries are looked for.
    pub libraries: LibrarySearch,
    /// The folder that compiled kernels are kept in; without one they are compiled in every process.
    pub cache: Option<PathBuf>,
    /// A folder with kernel sources in place of the built-in ones.
    pub sources: Option<PathBuf>,
    /// The index of the device.
    pub device: usize,
    /// How products in CSR are laid out, in place of what the backend would choose for each: to time layouts.
    /// A [`CsrLayout::Teams`] must be [valid](crate::CsrTeams::is_valid), and matrices have fewer than 2³¹
    /// entries and rows then; plans are refused otherwise.
    pub csr_layout: Option<CsrLayout>,
    /// In which order CTAs go through rows and columns of products in CSR and WCSR, in place of what the backend would
    /// choose for each: to time orders. A layout of CSR that is named too has its own. Plans are refused if no kernel
    /// has such tiles.
    pub cta_order: Option<CtaOrder>,
}

impl CudaOptions {
    /// With libraries from elsewhere.
    #[must_use]
    pub fn libraries(self, libraries: LibrarySearch) -> Self {
        Self { libraries, ..self }
    }

    /// With a folder that compiled kernels are kept in.
    #[must_use]
    pub fn cache(self, cache: impl Into<Option<PathBuf>>) -> Self {
        Self { cache: cache.into(), ..self }
    }

    /// With kernel sources from a folder.
    #[must_use]
    pub fn sources(self, sources: impl Into<Option<PathBuf>>) -> Self {
        Self { sources: sources.into(), ..self }
    }

    /// With products in CSR laid out so.
    #[must_use]
    pub fn csr_layout(self, csr_layout: impl Into<Option<CsrLayout>>) -> Self {
        Self { csr_layout: csr_layout.into(), ..self }
    }

    /// With CTAs in this order.
    #[must_use]
    pub fn cta_order(self, cta_order: impl Into<Option<CtaOrder>>) -> Self {
        Self { cta_order: cta_order.into(), ..self }
    }

    /// On another device, by its index.
    #[must_use]
    pub fn device(self, device: usize) -> Self {
        Self { device, ..self }
    }
}
