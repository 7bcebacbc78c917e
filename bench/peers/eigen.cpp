// SpMM of Eigen behind a C ABI: A in CSR, B and C row-major.
//
// g++ -O3 -march=native -DNDEBUG -fopenmp -shared -fPIC -I/usr/include/eigen3 \
//     bench/peers/eigen.cpp -o target/release/libgirih_peers_eigen.so

#include <cstdint>

#include <Eigen/Sparse>

namespace {

template <typename T>
void multiply(int m, int k, int64_t nnz, const int *row_ptr, const int *col_idx, const T *values,
              const T *b, int n, T *c, int threads) {
    using Csr = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;
    Eigen::setNbThreads(threads);
    const Eigen::Map<const Csr> a(m, k, nnz, row_ptr, col_idx, values);
    if (n == 1) {
        using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
        Eigen::Map<Column>(c, m).noalias() = a * Eigen::Map<const Column>(b, k);
    } else {
        using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        Eigen::Map<Dense>(c, m, n).noalias() = a * Eigen::Map<const Dense>(b, k, n);
    }
}

} // namespace

extern "C" {

int peers_eigen_version() {
    return 10000 * EIGEN_WORLD_VERSION + 100 * EIGEN_MAJOR_VERSION + EIGEN_MINOR_VERSION;
}

void peers_eigen_f32(int m, int k, int64_t nnz, const int *row_ptr, const int *col_idx,
                     const float *values, const float *b, int n, float *c, int threads) {
    multiply(m, k, nnz, row_ptr, col_idx, values, b, n, c, threads);
}

void peers_eigen_f64(int m, int k, int64_t nnz, const int *row_ptr, const int *col_idx,
                     const double *values, const double *b, int n, double *c, int threads) {
    multiply(m, k, nnz, row_ptr, col_idx, values, b, n, c, threads);
}

} // extern "C"
