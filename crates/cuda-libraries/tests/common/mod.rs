//! Where the tests find libraries and a device.

use girih_backend::SpmmBackend;
use girih_backend_cuda::{CudaBackend, CudaOptions, LibrarySearch};
use girih_testkit::machine;

/// The folders and wheels of this machine.
pub(crate) fn libraries() -> LibrarySearch {
    let search =
        machine::cuda_folders().into_iter().fold(LibrarySearch::new(), LibrarySearch::folder);
    machine::site_packages().iter().fold(search, LibrarySearch::site_packages)
}

/// The backend on device 0; `None`, with a note, where there is none.
pub(crate) fn backend() -> Option<CudaBackend> {
    let options = CudaOptions::default().libraries(libraries());
    let backend = CudaBackend::new(options);
    machine::is_available(&backend.capabilities().map(|_| ())).then_some(backend)
}
