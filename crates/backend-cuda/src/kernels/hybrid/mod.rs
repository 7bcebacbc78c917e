//! Plans whose dense windows go to tensor cores and whose other rows go to CUDA cores: RSH-SpMM (arXiv 2603.08734).
//!
//! There is no kernel for both. `sm90_wcsr_spmm` multiplies the packed windows and `csr_spmm` the rows of the others,
//! one after the other on the same stream. Each row of C belongs to one of the two, rows without entries to the
//! second. So each element is written once, after one epilogue, and C has the same bits each time.

#[cfg(test)]
mod faults;
mod launch;

pub(crate) use launch::device_plan;
