//! The CUDA sources: built into the program, or read from a folder while a kernel is worked on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::CudaError;
use crate::kernels::Kernel;

/// Every header, by the name it is included by, which is also its path in the folder.
const HEADERS: [(&str, &str); 31] = [
    ("girih/csr_access.cuh", include_str!("../../cuda/girih/csr_access.cuh")),
    ("girih/csr_block.cuh", include_str!("../../cuda/girih/csr_block.cuh")),
    ("girih/csr_items.cuh", include_str!("../../cuda/girih/csr_items.cuh")),
    ("girih/csr_params.cuh", include_str!("../../cuda/girih/csr_params.cuh")),
    ("girih/csr_runs.cuh", include_str!("../../cuda/girih/csr_runs.cuh")),
    ("girih/csr_store.cuh", include_str!("../../cuda/girih/csr_store.cuh")),
    ("girih/outgoing.cuh", include_str!("../../cuda/girih/outgoing.cuh")),
    ("girih/output.cuh", include_str!("../../cuda/girih/output.cuh")),
    ("girih/pipeline.cuh", include_str!("../../cuda/girih/pipeline.cuh")),
    ("girih/transposed.cuh", include_str!("../../cuda/girih/transposed.cuh")),
    ("girih/types.cuh", include_str!("../../cuda/girih/types.cuh")),
    ("girih/values.cuh", include_str!("../../cuda/girih/values.cuh")),
    ("girih/wcsr_config.cuh", include_str!("../../cuda/girih/wcsr_config.cuh")),
    ("girih/wcsr_consume.cuh", include_str!("../../cuda/girih/wcsr_consume.cuh")),
    ("girih/wcsr_params.cuh", include_str!("../../cuda/girih/wcsr_params.cuh")),
    ("girih/wcsr_produce.cuh", include_str!("../../cuda/girih/wcsr_produce.cuh")),
    ("girih/wcsr_store.cuh", include_str!("../../cuda/girih/wcsr_store.cuh")),
    ("ptx/atomic.cuh", include_str!("../../cuda/ptx/atomic.cuh")),
    ("ptx/barrier.cuh", include_str!("../../cuda/ptx/barrier.cuh")),
    ("ptx/bulk.cuh", include_str!("../../cuda/ptx/bulk.cuh")),
    ("ptx/cache.cuh", include_str!("../../cuda/ptx/cache.cuh")),
    ("ptx/cluster.cuh", include_str!("../../cuda/ptx/cluster.cuh")),
    ("ptx/convert.cuh", include_str!("../../cuda/ptx/convert.cuh")),
    ("ptx/fence.cuh", include_str!("../../cuda/ptx/fence.cuh")),
    ("ptx/mbarrier.cuh", include_str!("../../cuda/ptx/mbarrier.cuh")),
    ("ptx/memory.cuh", include_str!("../../cuda/ptx/memory.cuh")),
    ("ptx/registers.cuh", include_str!("../../cuda/ptx/registers.cuh")),
    ("ptx/shared.cuh", include_str!("../../cuda/ptx/shared.cuh")),
    ("ptx/tensor.cuh", include_str!("../../cuda/ptx/tensor.cuh")),
    ("ptx/wgmma.cuh", include_str!("../../cuda/ptx/wgmma.cuh")),
    ("ptx/wgmma_shapes.cuh", include_str!("../../cuda/ptx/wgmma_shapes.cuh")),
];

/// Where sources come from.
#[derive(Debug)]
pub(super) struct Sources {
    folder: Option<PathBuf>,
}

/// A kernel's source and all headers.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) source: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Sources {
    /// The built-in sources, or those of a folder laid out like them.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    /// What a kernel is compiled from.
    ///
    /// # Errors
    /// If a file of the folder can't be read: nothing built-in takes its place.
    pub(super) fn texts(&self, kernel: &Kernel) -> Result<Texts, CudaError> {
        let Some(folder) = &self.folder else {
            let headers = HEADERS
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into_iter()
                .collect();
            return Ok(Texts { source: kernel.source.to_owned(), headers });
        };
        let source = read(&folder.join("kernels").join(format!("{}.cu", kernel.stem)))?;
        let headers =
            HEADERS.iter().map(|(name, _)| Ok(((*name).to_owned(), read(&folder.join(name))?)));
        Ok(Texts { source, headers: headers.collect::<Result<_, CudaError>>()? })
    }
}

fn read(path: &Path) -> Result<String, CudaError> {
    fs::read_to_string(path).map_err(|source| CudaError::Source { path: path.to_owned(), source })
}
