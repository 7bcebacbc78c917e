//! The kernels and their configurations: what is compiled, and what it must come to.

mod check;
pub(crate) mod csr_sddmm;
pub(crate) mod csr_spmm;
pub(crate) mod hybrid;
pub(crate) mod locality;
pub(crate) mod pack_b;
pub(crate) mod put_values;
pub(crate) mod quantize_e4m3;
pub(crate) mod shared;
pub(crate) mod sm90_bcsr_spmm;
pub(crate) mod sm90_bmat_spmm;
pub(crate) mod sm90_dense_gemm;
pub(crate) mod sm90_two_four_spmm;
pub(crate) mod sm90_wcsr_spmm;
pub(crate) mod sm90_window_sddmm;
pub(crate) mod supported;

use girih_backend::Aggregation;
use girih_formats::DType;

pub use crate::kernel::{Budget, Kernel};

pub use check::{check, disassemble};

/// The complex value types.
pub(crate) const COMPLEX: [DType; 2] = [DType::C32, DType::C64];

impl Kernel {
    /// The kernel with an [epilogue](girih_backend::Epilogue) in its stores, which takes some registers more. It is
    /// a binary of its own, so that kernels of plain products pay nothing for it.
    #[must_use]
    pub(crate) fn with_epilogue(&self) -> Self {
        let mut with = self.clone();
        if !self.stores_c() {
            return with;
        }
        with.config += " epilogue";
        with.defines.push(("EPILOGUE", "1".to_owned()));
        with.budget.registers = (self.budget.registers + 16).min(255);
        with
    }

    /// The kernel whose C is of f16 or bf16, in a binary of its own.
    #[must_use]
    pub(crate) fn with_output(&self, dtype: DType) -> Self {
        let mut with = self.clone();
        if !self.stores_c() {
            return with;
        }
        with.config = format!("{} to {dtype}", self.config);
        with.defines.push(("OUTPUT", shared::value_name(dtype).to_owned()));
        with
    }

    /// The kernel of plans in CSR with an [aggregation](girih_backend::Aggregation) in the place of sums: a binary of
    /// its own too. Maxima and minima have one together.
    #[must_use]
    pub(crate) fn with_aggregation(&self, aggregation: Aggregation) -> Self {
        let (name, code) = match aggregation {
            Aggregation::Mean => ("means", 2),
            _ => ("extremes", 1),
        };
        let mut with = self.clone();
        if !self.stores_c() {
            return with;
        }
        with.config = format!("{} {name}", self.config);
        with.defines.push(("AGGREGATE", code.to_string()));
        with.budget.entries = csr_spmm::aggregating(self.budget.entries);
        with
    }

    /// Whether it stores C: it is otherwise the same whatever becomes of C.
    fn stores_c(&self) -> bool {
        ![quantize_e4m3::STEM, pack_b::STEM].contains(&self.stem)
    }
}

/// Every kernel in every configuration.
#[must_use]
pub fn all() -> Vec<Kernel> {
    let sampled = DType::REAL.into_iter().map(csr_sddmm::kernel);
    let windows = sm90_window_sddmm::DTYPES.into_iter().map(sm90_window_sddmm::kernel);
    let quantized = quantize_e4m3::DTYPES.into_iter().map(quantize_e4m3::kernel);
    let complex = COMPLEX.into_iter().flat_map(csr_spmm::kernels);
    let others = quantized.chain(sampled).chain(windows).chain(complex);
    products().chain(others).chain([put_values::kernel(), pack_b::kernel()]).collect()
}

/// Those of products of real values.
fn products() -> impl Iterator<Item = Kernel> {
    let csr = DType::REAL.into_iter().flat_map(csr_spmm::kernels);
    let bcsr = DType::REAL.into_iter().flat_map(|dtype| {
        sm90_bcsr_spmm::configs(dtype).iter().map(move |config| config.kernel(dtype))
    });
    let dense = DType::REAL.into_iter().flat_map(|dtype| {
        sm90_dense_gemm::configs(dtype).iter().map(move |config| config.kernel(dtype))
    });
    let wcsr = sm90_wcsr_spmm::kernels();
    let bmat = sm90_bmat_spmm::kernels();
    let two_four = DType::REAL.into_iter().flat_map(|dtype| {
        sm90_two_four_spmm::configs(dtype).iter().map(move |config| config.kernel(dtype))
    });
    let narrow = sm90_two_four_spmm::narrow_configs().iter();
    let two_four = two_four.chain(narrow.map(|config| config.kernel(DType::F16)));
    let windows = wcsr.chain(bmat);
    csr.chain(bcsr).chain(dense).chain(windows).chain(two_four)
}

/// The kernels of products of real values in [`all`] as those with an [epilogue](girih_backend::Epilogue) have them,
/// each in a binary of its own.
#[must_use]
pub fn with_epilogue() -> Vec<Kernel> {
    products().map(|kernel| kernel.with_epilogue()).collect()
}

/// The kernels of products of 16-bit values in [`all`] as those have them whose C is of the same type, each in a binary of
/// its own.
#[must_use]
pub fn rounded() -> Vec<Kernel> {
    let rounded = |kernel: Kernel| {
        let values = |dtype: &DType| {
            kernel.defines.contains(&("VALUE", shared::value_name(*dtype).to_owned()))
        };
        Some(kernel.with_output([DType::F16, DType::Bf16].into_iter().find(values)?))
    };
    products().filter_map(rounded).collect()
}

/// The kernels of [`all`] that compute [aggregations](girih_backend::Aggregation), each in binaries of their own.
#[must_use]
pub fn with_aggregation() -> Vec<Kernel> {
    let kernels = DType::REAL.into_iter().flat_map(csr_spmm::kernels);
    let both = |plain: Kernel| {
        [Aggregation::Max, Aggregation::Mean].map(|aggregation| plain.with_aggregation(aggregation))
    };
    kernels.flat_map(both).collect()
}

/// The kernels that only [`DenseConfig::ladder`](crate::DenseConfig::ladder) has, in every configuration.
#[must_use]
pub fn ladder() -> Vec<Kernel> {
    sm90_dense_gemm::ladder_kernels()
}
