"""The CPU backend through its C ABI (bench/peers/capi)."""

import ctypes as ct
import os

import numpy as np
import scipy.sparse as sp

from spmm_call import bound

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFAULT = os.path.join(ROOT, "target", "release", "libgirih_peers_capi.so")
LIBRARY = os.environ.get("GIRIH_LIB", DEFAULT)  # another build, to compare it with


class CsrArrays(ct.Structure):
    _fields_ = [
        ("nrows", ct.c_uint64),
        ("ncols", ct.c_uint64),
        ("nnz", ct.c_uint64),
        ("row_ptr", ct.c_void_p),
        ("col_idx", ct.c_void_p),
        ("values", ct.c_void_p),
        ("row_ptr_bits", ct.c_uint32),
        ("value_bits", ct.c_uint32),
    ]


def _load():
    lib = ct.CDLL(LIBRARY)
    size, pointer, text = ct.c_size_t, ct.c_void_p, ct.c_char_p
    signatures = {
        "girih_last_error": (text, []),
        "girih_csr_open": (pointer, [text, ct.c_uint32, ct.POINTER(CsrArrays)]),
        "girih_csr_free": (None, [pointer]),
        "girih_spmm_prepare": (pointer, [ct.POINTER(CsrArrays), text, size, size]),
        "girih_spmm_format": (text, [pointer]),
        "girih_spmm_execute": (
            ct.c_int,
            [pointer, ct.c_double, pointer, size, ct.c_double, pointer, size, size],
        ),
        "girih_spmm_free": (None, [pointer]),
        "girih_reads_prepare": (pointer, [ct.POINTER(CsrArrays), pointer, pointer, size, size]),
        "girih_reads_run": (ct.c_int, [pointer]),
        "girih_reads_free": (None, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


_lib = _load()


def _failed():
    raise RuntimeError(f"girih: {_lib.girih_last_error().decode()}")


def open_matrix(source, dtype):
    """A generated class by name or a file by path, as scipy CSR with 32-bit indices."""
    arrays = CsrArrays()
    bits = 8 * np.dtype(dtype).itemsize
    handle = _lib.girih_csr_open(source.encode(), bits, ct.byref(arrays)) or _failed()

    def copy(address, kind, count, to):
        if count == 0:
            return np.zeros(0, to)
        return np.ctypeslib.as_array(ct.cast(address, ct.POINTER(kind)), (count,)).astype(to)

    value = ct.c_float if bits == 32 else ct.c_double
    parts = (
        copy(arrays.values, value, arrays.nnz, dtype),
        copy(arrays.col_idx, ct.c_uint32, arrays.nnz, np.int32),
        copy(arrays.row_ptr, ct.c_uint64, arrays.nrows + 1, np.int32),
    )
    shape = (arrays.nrows, arrays.ncols)
    _lib.girih_csr_free(handle)
    a = sp.csr_matrix(parts, shape)
    a.has_sorted_indices = a.has_canonical_format = True
    return a


class BandwidthPoint(ct.Structure):
    _fields_ = [
        ("bytes", ct.c_uint64),
        ("read", ct.c_double),
        ("triad", ct.c_double),
        ("streaming_triad", ct.c_double),
    ]


class Roofline:
    """Bandwidth by working set and peaks of so many threads, measured for some seconds."""

    def __init__(self, threads, seconds=2.0, max_bytes=512 << 20):
        size, pointer, real = ct.c_size_t, ct.c_void_p, ct.c_double
        signatures = {
            "measure": (pointer, [size, ct.c_uint64, real]),
            "peak": (real, [pointer, ct.c_uint32]),
            "bandwidth": (ct.c_int, [pointer, size, ct.POINTER(BandwidthPoint)]),
            "floor": (real, [pointer, ct.c_uint32, real, real, ct.POINTER(ct.c_int)]),
            "free": (None, [pointer]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(_lib, f"girih_roofline_{name}")
            function.restype, function.argtypes = result, arguments
        self.handle = _lib.girih_roofline_measure(threads, max_bytes, seconds) or _failed()

    def record(self):
        """What was measured, in flops and bytes per second."""
        peaks = {f"f{bits}_peak": _lib.girih_roofline_peak(self.handle, bits) for bits in (32, 64)}
        points, point = [], BandwidthPoint()
        while _lib.girih_roofline_bandwidth(self.handle, len(points), ct.byref(point)) == 0:
            points.append({name: getattr(point, name) for name, _ in BandwidthPoint._fields_})
        return dict(**peaks, bandwidths=points)

    def floor(self, dtype, bytes_moved, flops):
        """The longer of moving the bytes once and doing the flops, in seconds, and which it is."""
        computing, bits = ct.c_int(), 8 * np.dtype(dtype).itemsize
        arguments = self.handle, bits, bytes_moved, flops, ct.byref(computing)
        seconds = _lib.girih_roofline_floor(*arguments)
        if seconds < 0:
            _failed()
        return dict(seconds=seconds, limit="compute" if computing.value else "bandwidth")

    def __del__(self):
        if getattr(self, "handle", None):
            _lib.girih_roofline_free(self.handle)


def lend(a):
    return CsrArrays(
        *a.shape, a.nnz, a.indptr.ctypes.data, a.indices.ctypes.data, a.data.ctypes.data,
        32, 8 * a.dtype.itemsize,
    )  # fmt: skip


class Reads:
    """Reading, for every entry of A in turn, the row of B that it names, and nothing else: in the
    fastest way there is. With C, moving what a product moves: reading values too, and writing C."""

    def __init__(self, a, b, threads, c=None):
        self.b, self.c = b, c  # are read and written where they are
        out = None if c is None else c.ctypes.data
        arguments = ct.byref(lend(a)), b.ctypes.data, out, b.shape[1], threads
        self.handle = _lib.girih_reads_prepare(*arguments) or _failed()

    @staticmethod
    def possible(b):
        """Whether rows are whole cache lines, or small parts of one."""
        row = b.shape[1] * b.dtype.itemsize
        return row in (4, 8, 32) or row % 64 == 0

    def __call__(self):
        if _lib.girih_reads_run(self.handle):
            _failed()

    def __del__(self):
        if getattr(self, "handle", None):
            _lib.girih_reads_free(self.handle)


class Girih:
    """A plan in one format, prepared for one number of columns and of threads."""

    def __init__(self, a, format, n, threads):
        self.handle = _lib.girih_spmm_prepare(ct.byref(lend(a)), format.encode(), n, threads)
        self.handle or _failed()
        self.format = _lib.girih_spmm_format(self.handle).decode()

    def call(self, b, c):
        n, at = b.shape[1], (b.ctypes.data, c.ctypes.data)
        run = bound(_lib.girih_spmm_execute, self.handle, 1.0, at[0], n, 0.0, at[1], n, n)

        def call():
            if run():
                _failed()

        call.plan = self  # whoever holds the call holds the plan
        return call

    def __del__(self):
        if getattr(self, "handle", None):
            _lib.girih_spmm_free(self.handle)
