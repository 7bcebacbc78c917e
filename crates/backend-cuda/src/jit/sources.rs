//! The CUDA sources: built into the program, or read from a folder while a kernel is worked on.

use std::fs;
use std::path::{Path, PathBuf};

use crate::CudaError;
use crate::kernels::{self, Kernel};

/// A header of the folder `src/kernels`, with its name there.
macro_rules! header {
    ($name:literal) => {
        ($name, include_str!(concat!("../kernels/", $name)))
    };
}

/// Every header, by the name it is included by, which is also its path in the folder.
const HEADERS: [(&str, &str); 63] = [
    header!("csr_sddmm/access.cuh"),
    header!("csr_sddmm/params.cuh"),
    header!("csr_spmm/access.cuh"),
    header!("csr_spmm/block.cuh"),
    header!("csr_spmm/items.cuh"),
    header!("csr_spmm/params.cuh"),
    header!("csr_spmm/rows.cuh"),
    header!("csr_spmm/runs.cuh"),
    header!("csr_spmm/store.cuh"),
    header!("csr_spmm/total.cuh"),
    header!("ptx/atomic.cuh"),
    header!("ptx/barrier.cuh"),
    header!("ptx/bulk.cuh"),
    header!("ptx/cache.cuh"),
    header!("ptx/cluster.cuh"),
    header!("ptx/convert.cuh"),
    header!("ptx/fence.cuh"),
    header!("ptx/mbarrier.cuh"),
    header!("ptx/memory.cuh"),
    header!("ptx/mma.cuh"),
    header!("ptx/registers.cuh"),
    header!("ptx/shared.cuh"),
    header!("ptx/tensor.cuh"),
    header!("ptx/wgmma.cuh"),
    header!("ptx/wgmma_shapes.cuh"),
    header!("shared/complex.cuh"),
    header!("shared/elements.cuh"),
    header!("shared/entry.cuh"),
    header!("shared/epilogue.cuh"),
    header!("shared/outgoing.cuh"),
    header!("shared/output.cuh"),
    header!("shared/pipeline.cuh"),
    header!("shared/transposed.cuh"),
    header!("shared/types.cuh"),
    header!("shared/values.cuh"),
    header!("sm90_bcsr_spmm/ablation.cuh"),
    header!("sm90_bcsr_spmm/config.cuh"),
    header!("sm90_bcsr_spmm/consume.cuh"),
    header!("sm90_bcsr_spmm/produce.cuh"),
    header!("sm90_bmat_spmm/config.cuh"),
    header!("sm90_bmat_spmm/consume.cuh"),
    header!("sm90_bmat_spmm/consume_rows.cuh"),
    header!("sm90_bmat_spmm/decode.cuh"),
    header!("sm90_bmat_spmm/exact.cuh"),
    header!("sm90_bmat_spmm/params.cuh"),
    header!("sm90_bmat_spmm/produce.cuh"),
    header!("sm90_bmat_spmm/store.cuh"),
    header!("sm90_bmat_spmm/walk.cuh"),
    header!("sm90_dense_gemm/config.cuh"),
    header!("sm90_dense_gemm/consume.cuh"),
    header!("sm90_dense_gemm/produce.cuh"),
    header!("sm90_dense_gemm/store.cuh"),
    header!("sm90_dense_gemm/walk.cuh"),
    header!("sm90_two_four_spmm/config.cuh"),
    header!("sm90_two_four_spmm/consume.cuh"),
    header!("sm90_two_four_spmm/produce.cuh"),
    header!("sm90_wcsr_spmm/config.cuh"),
    header!("sm90_wcsr_spmm/consume.cuh"),
    header!("sm90_wcsr_spmm/params.cuh"),
    header!("sm90_wcsr_spmm/produce.cuh"),
    header!("sm90_wcsr_spmm/store.cuh"),
    header!("sm90_window_sddmm/access.cuh"),
    header!("sm90_window_sddmm/params.cuh"),
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

    /// What a kernel is compiled from. The folder has the headers, and the sources of this crate's kernels;
    /// another's is compiled from the source it comes with.
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
        let source = match kernels::all().iter().any(|own| own.stem == kernel.stem) {
            true => read(&folder.join(kernel.stem).join(format!("{}.cu", kernel.stem)))?,
            false => kernel.source.to_owned(),
        };
        let headers =
            HEADERS.iter().map(|(name, _)| Ok(((*name).to_owned(), read(&folder.join(name))?)));
        Ok(Texts { source, headers: headers.collect::<Result<_, CudaError>>()? })
    }
}

fn read(path: &Path) -> Result<String, CudaError> {
    fs::read_to_string(path).map_err(|source| CudaError::Source { path: path.to_owned(), source })
}
