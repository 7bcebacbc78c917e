//! The generated matrices that coefficients are fitted on.

use girih::formats::{Csr, FormatError, Scalar};
use girih_generate::{
    banded, block_sparse, fem_2d, fem_3d, laplacian_5pt, power_law_rows, pruned_weights, rmat,
    two_four, uniform,
};

/// A generated matrix.
pub(super) struct DesignProblem<T: Scalar> {
    pub(super) name: &'static str,
    make: fn() -> Result<Csr<T>, FormatError>,
}

impl<T: Scalar> DesignProblem<T> {
    pub(super) fn matrix(&self) -> Result<Csr<T>, FormatError> {
        (self.make)()
    }
}

/// Every structure in several sizes, so that no two terms grow together over all of them: scattered and
/// banded entries, short and long rows, few and many columns of A, blocks full and part full, and
/// matrices on either side of each cache. The first three are so small that they show what every product
/// costs at the least. `quick` takes only those of few entries.
pub(super) fn problems<T: Scalar>(quick: bool) -> Vec<DesignProblem<T>> {
    let small: [DesignProblem<T>; 17] = [
        DesignProblem { name: "uniform 20×20", make: || uniform(20, 20, 3, 1) },
        DesignProblem { name: "laplacian 10×12", make: || laplacian_5pt(10, 12) },
        DesignProblem { name: "uniform 200×150", make: || uniform(200, 150, 6, 1) },
        DesignProblem { name: "uniform 1000×1000", make: || uniform(1000, 1000, 8, 1) },
        DesignProblem { name: "uniform 8000×500", make: || uniform(8000, 500, 4, 2) },
        DesignProblem { name: "uniform 6000×6000", make: || uniform(6000, 6000, 12, 3) },
        DesignProblem { name: "uniform 400×20000", make: || uniform(400, 20_000, 200, 4) },
        DesignProblem { name: "rmat 11", make: || rmat(11, 8, 1) },
        DesignProblem { name: "laplacian 100×100", make: || laplacian_5pt(100, 100) },
        DesignProblem { name: "fem 2-d 40×40×2", make: || fem_2d(40, 40, 2, 1) },
        DesignProblem { name: "fem 3-d 10×10×10×3", make: || fem_3d(10, 10, 10, 3, 1) },
        DesignProblem { name: "banded 3000", make: || banded(3000, 3000, 10, 10, 1) },
        DesignProblem { name: "blocks of 16", make: || block_sparse(1024, 1024, 16, 0.08, 1) },
        DesignProblem { name: "blocks of 64", make: || block_sparse(1024, 1024, 64, 0.1, 1) },
        DesignProblem { name: "weights 80 %", make: || pruned_weights(512, 1024, 0.8, 1) },
        DesignProblem { name: "weights 95 %", make: || pruned_weights(1024, 512, 0.95, 1) },
        DesignProblem { name: "2:4 512×512", make: || two_four(512, 512, 1) },
    ];
    let large: [DesignProblem<T>; 17] = [
        DesignProblem { name: "uniform 30000×30000", make: || uniform(30_000, 30_000, 16, 5) },
        DesignProblem { name: "uniform 60000×60000", make: || uniform(60_000, 60_000, 4, 6) },
        DesignProblem { name: "uniform 3000×80000", make: || uniform(3000, 80_000, 100, 7) },
        DesignProblem { name: "rmat 14", make: || rmat(14, 12, 2) },
        DesignProblem { name: "rmat 16", make: || rmat(16, 6, 3) },
        DesignProblem { name: "long rows", make: || power_law_rows(4000, 8000, 8, 1) },
        DesignProblem { name: "laplacian 350×350", make: || laplacian_5pt(350, 350) },
        DesignProblem { name: "fem 3-d 20×20×20×3", make: || fem_3d(20, 20, 20, 3, 2) },
        DesignProblem { name: "banded 20000", make: || banded(20_000, 20_000, 15, 15, 2) },
        DesignProblem { name: "blocks of 8", make: || block_sparse(4096, 4096, 8, 0.03, 2) },
        DesignProblem { name: "large blocks of 64", make: || block_sparse(4096, 2048, 64, 0.1, 2) },
        DesignProblem { name: "weights 90 %", make: || pruned_weights(2048, 2048, 0.9, 2) },
        DesignProblem { name: "weights 50 %", make: || pruned_weights(1024, 1024, 0.5, 3) },
        DesignProblem { name: "weights 60 %", make: || pruned_weights(1536, 768, 0.6, 4) },
        DesignProblem { name: "2:4 2048×1024", make: || two_four(2048, 1024, 2) },
        DesignProblem { name: "2:4 1536×768", make: || two_four(1536, 768, 3) },
        DesignProblem { name: "2:4 1024×2048", make: || two_four(1024, 2048, 4) },
    ];
    small.into_iter().chain(large.into_iter().filter(|_| !quick)).collect()
}
