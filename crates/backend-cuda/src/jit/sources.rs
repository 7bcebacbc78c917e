//! The CUDA sources: built into the program, or read from a folder while a kernel is worked on.

use std::collections::BTreeMap;
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
const HEADERS: [(&str, &str); 83] = [
    header!("csr_sddmm/access.cuh"),
    header!("csr_sddmm/params.cuh"),
    header!("csr_sddmm/passed.cuh"),
    header!("csr_spmm/access.cuh"),
    header!("csr_spmm/block.cuh"),
    header!("csr_spmm/items.cuh"),
    header!("csr_spmm/params.cuh"),
    header!("csr_spmm/passed.cuh"),
    header!("csr_spmm/rows.cuh"),
    header!("csr_spmm/runs.cuh"),
    header!("csr_spmm/store.cuh"),
    header!("csr_spmm/total.cuh"),
    header!("pack_b/passed.cuh"),
    header!("ptx/atomic.cuh"),
    header!("ptx/barrier.cuh"),
    header!("ptx/bulk.cuh"),
    header!("ptx/cache.cuh"),
    header!("ptx/cluster.cuh"),
    header!("ptx/convert.cuh"),
    header!("ptx/copy_async.cuh"),
    header!("ptx/fence.cuh"),
    header!("ptx/grid.cuh"),
    header!("ptx/mbarrier.cuh"),
    header!("ptx/memory.cuh"),
    header!("ptx/mma.cuh"),
    header!("ptx/registers.cuh"),
    header!("ptx/shared.cuh"),
    header!("ptx/tensor.cuh"),
    header!("ptx/wgmma.cuh"),
    header!("ptx/wgmma_shapes.cuh"),
    header!("put_values/passed.cuh"),
    header!("quantize_e4m3/passed.cuh"),
    header!("shared/complex.cuh"),
    header!("shared/element_of_c.cuh"),
    header!("shared/elements.cuh"),
    header!("shared/entry.cuh"),
    header!("shared/epilogue.cuh"),
    header!("shared/gather.cuh"),
    header!("shared/narrow.cuh"),
    header!("shared/outgoing.cuh"),
    header!("shared/output.cuh"),
    header!("shared/parts.cuh"),
    header!("shared/passed_elements.cuh"),
    header!("shared/passed_epilogue.cuh"),
    header!("shared/passed_output.cuh"),
    header!("shared/pipeline.cuh"),
    header!("shared/transposed.cuh"),
    header!("shared/types.cuh"),
    header!("shared/values.cuh"),
    header!("sm90_bcsr_spmm/ablation.cuh"),
    header!("sm90_bcsr_spmm/config.cuh"),
    header!("sm90_bcsr_spmm/consume.cuh"),
    header!("sm90_bcsr_spmm/passed.cuh"),
    header!("sm90_bcsr_spmm/produce.cuh"),
    header!("sm90_bmat_spmm/config.cuh"),
    header!("sm90_bmat_spmm/consume.cuh"),
    header!("sm90_bmat_spmm/consume_rows.cuh"),
    header!("sm90_bmat_spmm/decode.cuh"),
    header!("sm90_bmat_spmm/exact.cuh"),
    header!("sm90_bmat_spmm/params.cuh"),
    header!("sm90_bmat_spmm/passed.cuh"),
    header!("sm90_bmat_spmm/produce.cuh"),
    header!("sm90_bmat_spmm/store.cuh"),
    header!("sm90_bmat_spmm/walk.cuh"),
    header!("sm90_dense_gemm/config.cuh"),
    header!("sm90_dense_gemm/consume.cuh"),
    header!("sm90_dense_gemm/passed.cuh"),
    header!("sm90_dense_gemm/produce.cuh"),
    header!("sm90_dense_gemm/store.cuh"),
    header!("sm90_dense_gemm/walk.cuh"),
    header!("sm90_two_four_spmm/config.cuh"),
    header!("sm90_two_four_spmm/consume.cuh"),
    header!("sm90_two_four_spmm/passed.cuh"),
    header!("sm90_two_four_spmm/produce.cuh"),
    header!("sm90_wcsr_spmm/config.cuh"),
    header!("sm90_wcsr_spmm/consume.cuh"),
    header!("sm90_wcsr_spmm/params.cuh"),
    header!("sm90_wcsr_spmm/passed.cuh"),
    header!("sm90_wcsr_spmm/produce.cuh"),
    header!("sm90_wcsr_spmm/store.cuh"),
    header!("sm90_window_sddmm/access.cuh"),
    header!("sm90_window_sddmm/params.cuh"),
    header!("sm90_window_sddmm/passed.cuh"),
];

/// Where sources come from.
#[derive(Debug)]
pub(super) struct Sources {
    folder: Option<PathBuf>,
    /// Texts that stand in the place of others, by their paths in the folder.
    #[cfg(test)]
    replaced: BTreeMap<String, String>,
}

/// A kernel's source and the headers that are included, in order of their names.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) source: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Sources {
    /// The built-in sources, or those of a folder laid out like them.
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            #[cfg(test)]
            replaced: BTreeMap::new(),
        }
    }

    /// Puts a text in the place of that of a path.
    #[cfg(test)]
    pub(super) fn replace(&mut self, path: &str, text: String) {
        self.replaced.insert(path.to_owned(), text);
    }

    /// The text of a path, which is built in as this.
    fn text(&self, path: &str, built_in: &str) -> Result<String, CudaError> {
        #[cfg(test)]
        if let Some(text) = self.replaced.get(path) {
            return Ok(text.clone());
        }
        match &self.folder {
            Some(folder) => read(&folder.join(path)),
            None => Ok(built_in.to_owned()),
        }
    }

    /// What a kernel is compiled from. The folder has the headers, and the sources of this crate's kernels;
    /// another's is compiled from the source it comes with. A header that the source does not include, itself or
    /// through others, is left out: a change of it leaves the kernel as it is.
    ///
    /// # Errors
    /// If a file of the folder can't be read: nothing built-in takes its place.
    pub(super) fn texts(&self, kernel: &Kernel) -> Result<Texts, CudaError> {
        let stem = kernel.stem;
        let source = match kernels::all().iter().any(|own| own.stem == stem) {
            true => self.text(&format!("{stem}/{stem}.cu"), kernel.source)?,
            false => kernel.source.to_owned(),
        };
        let mut headers = BTreeMap::new();
        let mut names = included(&source);
        while let Some(name) = names.pop() {
            // One that is not there is reported by NVRTC, with the line.
            let Some((name, built_in)) = HEADERS.iter().find(|(known, _)| *known == name) else {
                continue;
            };
            if !headers.contains_key(*name) {
                let text = self.text(name, built_in)?;
                names.extend(included(&text));
                headers.insert((*name).to_owned(), text);
            }
        }
        Ok(Texts { source, headers: headers.into_iter().collect() })
    }
}

/// The names of the headers that a text includes, under whatever condition.
fn included(text: &str) -> Vec<String> {
    let names = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("#include \"")?.split_once('"'));
    names.map(|(name, _)| name.to_owned()).collect()
}

fn read(path: &Path) -> Result<String, CudaError> {
    fs::read_to_string(path).map_err(|source| CudaError::Source { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_header_is_included_by_some_kernel() {
        let sources = Sources::new(None);
        let mut found = BTreeSet::new();
        for kernel in kernels::all() {
            let texts = sources.texts(&kernel).unwrap();
            assert!(texts.headers.len() < HEADERS.len(), "{kernel} includes all");
            for text in texts.headers.iter().map(|(_, text)| text).chain([&texts.source]) {
                for name in included(text) {
                    assert!(texts.headers.iter().any(|(known, _)| *known == name), "{name}");
                }
            }
            found.extend(texts.headers.into_iter().map(|(name, _)| name));
        }
        assert_eq!(found, HEADERS.iter().map(|(name, _)| (*name).to_owned()).collect());
    }

    #[test]
    fn includes_are_read_from_lines() {
        let text = "// #include \"no.cuh\"\n#include \"a/b.cuh\"\n  #include \"c.cuh\" // why\n#include <d>\n";
        assert_eq!(included(text), ["a/b.cuh", "c.cuh"]);
    }
}
