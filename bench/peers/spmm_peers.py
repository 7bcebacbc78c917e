"""SpMM peers behind one call each: `add(name, threads, call, result)` for every one at hand.

Import torch before MKL is loaded, or its bundled MKL binds to the other.
"""

import ctypes as ct
import glob
import os
import sys
import warnings

import numpy as np
from scipy.sparse import _sparsetools as kernels

import spmm_native
from spmm_call import Setting, bound

warnings.filterwarnings("ignore", message="Sparse (CSR|BSR|invariant)")
try:
    import torch
except ImportError:
    torch = None
try:
    import graphblas
    import suitesparse_graphblas

    graphblas.init("suitesparse", blocking=True)
except ImportError:
    graphblas = None

NON_TRANSPOSE, ROW_MAJOR = 10, 101
CALLS = 1000  # what MKL's optimizer is told to expect
GRAPHBLAS_LIMIT = 1.5e9  # bytes of C: it needs copies of its own of B and C


class Descr(ct.Structure):
    _fields_ = [("type", ct.c_int), ("mode", ct.c_int), ("diag", ct.c_int)]


GENERAL = Descr(20, 0, 0)


def address(x):
    return ct.c_void_p(x.ctypes.data)


def _mkl():
    paths = glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))
    return ct.CDLL(paths[0]) if paths else None


mkl = _mkl()
mkl_threads = Setting(lambda threads: mkl.MKL_Set_Num_Threads(threads))
torch_threads = Setting(lambda threads: torch.set_num_threads(threads))


def _graphblas_threads(threads):
    graphblas.ss.config["nthreads"] = threads


graphblas_threads = Setting(_graphblas_threads)


def mkl_version():
    text = ct.create_string_buffer(256)
    mkl.MKL_Get_Version_String(text, 256)
    return text.value.decode().strip()


class Mkl:
    """mkl_sparse_?_mm, at n = 1 mkl_sparse_?_mv; hinted and optimized for one number of threads."""

    def __init__(self, a, n, threads, block=None):
        letter, real = ("s", ct.c_float) if a.dtype == np.float32 else ("d", ct.c_double)
        self.threads, self.n, self.handle = threads, n, ct.c_void_p()
        mkl_threads.be(threads)
        if block:
            bsr = a.tobsr((block, block))
            bsr.sort_indices()
            a, layout = bsr, (ROW_MAJOR, bsr.shape[0] // block, bsr.shape[1] // block, block)
            create = getattr(mkl, f"mkl_sparse_{letter}_create_bsr")
        else:
            layout, create = a.shape, getattr(mkl, f"mkl_sparse_{letter}_create_csr")
        self.arrays = a.indptr, a.indices, np.ascontiguousarray(a.data)
        ends = ct.c_void_p(a.indptr.ctypes.data + 4)
        pointers = address(a.indptr), ends, address(a.indices), address(self.arrays[2])
        self.check(create(ct.byref(self.handle), 0, *layout, *pointers))
        self.mm = getattr(mkl, f"mkl_sparse_{letter}_mm")
        self.mm.argtypes = [
            ct.c_int, real, ct.c_void_p, Descr, ct.c_int, ct.c_void_p, ct.c_int, ct.c_int, real,
            ct.c_void_p, ct.c_int,
        ]  # fmt: skip
        self.mv = getattr(mkl, f"mkl_sparse_{letter}_mv")
        self.mv.argtypes = [ct.c_int, real, ct.c_void_p, Descr, ct.c_void_p, real, ct.c_void_p]
        # A refused hint leaves the default kernel, which is then what a caller gets.
        if n == 1:
            mkl.mkl_sparse_set_mv_hint(self.handle, NON_TRANSPOSE, GENERAL, CALLS)
        else:
            mkl.mkl_sparse_set_mm_hint(self.handle, NON_TRANSPOSE, GENERAL, ROW_MAJOR, n, CALLS)
        mkl.mkl_sparse_optimize(self.handle)

    @staticmethod
    def check(status):
        if status != 0:
            raise RuntimeError(f"MKL status {status}")

    def call(self, b, c):
        h, n, at = self.handle, self.n, (b.ctypes.data, c.ctypes.data)
        if n == 1:
            run = bound(self.mv, NON_TRANSPOSE, 1.0, h.value, GENERAL, at[0], 0.0, at[1])
        else:
            first = NON_TRANSPOSE, 1.0, h.value, GENERAL, ROW_MAJOR
            run = bound(self.mm, *first, at[0], n, n, 0.0, at[1], n)

        def call():
            mkl_threads.be(self.threads)
            self.check(run())

        return call

    def __del__(self):
        mkl.mkl_sparse_destroy(self.handle)


def scipy_call(a, b, c):
    """The kernel of `A @ B`, into a C that is there already."""
    m, k, n = *a.shape, b.shape[1]
    flat_b, flat_c = b.reshape(-1), c.reshape(-1)
    if n == 1:
        run = lambda: kernels.csr_matvec(m, k, a.indptr, a.indices, a.data, flat_b, flat_c)
    else:
        run = lambda: kernels.csr_matvecs(m, k, n, a.indptr, a.indices, a.data, flat_b, flat_c)

    def call():
        c.fill(0)
        run()

    return call


def torch_call(a, b, c, threads, block=None):
    parts = [torch.from_numpy(x) for x in (a.indptr, a.indices, a.data)]
    ta = torch.sparse_csr_tensor(*parts, a.shape)
    if block:
        ta = ta.to_sparse_bsr((block, block))
    tb, tc = torch.from_numpy(b), torch.from_numpy(c)

    def call():
        torch_threads.be(threads)
        torch.addmm(tc, ta, tb, beta=0, alpha=1, out=tc)

    return call


class GraphBlas:
    """C += A·B into a full C, its fastest form; what C holds before is not charged."""

    def __init__(self, a, b, c):
        gb = graphblas
        self.shape, self.dtype = c.shape, c.dtype
        kind = gb.dtypes.FP32 if c.dtype == np.float32 else gb.dtypes.FP64
        self.a, self.b = gb.io.from_scipy_sparse(a), gb.Matrix.from_dense(b)
        self.semiring, self.plus = gb.semiring.plus_times[kind], gb.binary.plus[kind]
        self.clear()

    def clear(self):
        self.c = graphblas.Matrix.from_dense(np.zeros(self.shape, self.dtype))

    def call(self, threads):
        def run():
            graphblas_threads.be(threads)
            self.c(self.plus) << self.semiring(self.a @ self.b)

        return run

    def result(self):
        return self.c.to_dense(dtype=self.dtype)


def add_all(a, b, c, threads, blocks, add, aligned):
    """Adds every peer at hand on each number of threads; `blocks` are sizes for block formats."""
    n, notes = b.shape[1], []
    libraries = {"MKL": mkl, "torch": torch, "GraphBLAS": graphblas}
    missing = [name for name, found in libraries.items() if not found]
    if missing:
        notes.append(f"{', '.join(missing)} left out: not installed")
    for t in threads:
        for block in (None, *(blocks if n > 1 else ())) if mkl else ():
            peer = Mkl(a, n, t, block)
            add(f"mkl bsr {block}" if block else "mkl csr", t, peer.call(b, c))
        if torch:
            add("torch csr", t, torch_call(a, b, c, t))
            # Its conversion to small blocks does not end in minutes.
            for block in blocks:
                if block >= 64:
                    add(f"torch bsr {block}", t, torch_call(a, b, c, t, block))
    add("scipy csr", 1, scipy_call(a, b, c))
    if graphblas and c.nbytes > GRAPHBLAS_LIMIT:
        notes.append("GraphBLAS left out: C is too large for its copies")
    elif graphblas:
        peer = GraphBlas(a, b, c)
        for t in threads:
            add("graphblas", t, peer.call(t), peer)
    return notes + spmm_native.add_all(a, b, c, threads, add, aligned)


def versions():
    import scipy

    found = {"scipy": scipy.__version__, "numpy": np.__version__}
    if mkl:
        found["mkl"] = mkl_version()
    if torch:
        found["torch"] = torch.__version__
    if graphblas:
        found["SuiteSparse:GraphBLAS"] = suitesparse_graphblas.__version__
    return found | spmm_native.versions()
