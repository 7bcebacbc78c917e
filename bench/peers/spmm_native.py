"""Peers that are compiled here: sprs and faer (rust/) and Eigen (eigen.cpp)."""

import ctypes as ct
import os

import numpy as np

from spmm_call import bound

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUST = os.path.join(ROOT, "target", "peers", "release", "libgirih_peers_rust.so")
EIGEN = os.path.join(ROOT, "target", "release", "libgirih_peers_eigen.so")
LOCK = os.path.join(ROOT, "bench", "peers", "rust", "Cargo.lock")
COPIES = 3e9  # bytes of B and C, beyond which faer gets no column-major copies of them
METHODS = {"sprs": 0, "faer csr": 1, "faer csc": 2}


def _load(path):
    return ct.CDLL(path) if os.path.exists(path) else None


rust, eigen = _load(RUST), _load(EIGEN)


def suffix(dtype):
    return "f32" if dtype == np.float32 else "f64"


class Rust:
    """A copy of A for sprs and faer. faer reads a column-major B and writes a column-major C."""

    def __init__(self, a):
        kind = suffix(a.dtype)
        names = ("prepare", "execute", "free")
        prepare, self.run, self.free = (getattr(rust, f"peers_rust_{f}_{kind}") for f in names)
        size, pointer = ct.c_size_t, ct.c_void_p
        prepare.restype, prepare.argtypes = pointer, [size] * 3 + [pointer] * 3
        self.run.argtypes = [pointer, ct.c_uint32, pointer, size, pointer]
        self.free.argtypes = [pointer]
        arrays = (x.ctypes.data for x in (a.indptr, a.indices, a.data))
        self.handle = prepare(*a.shape, a.nnz, *arrays)
        if not self.handle:
            raise RuntimeError("sprs refuses the matrix")

    def call(self, name, b, c):
        n, at = b.shape[1], (b.ctypes.data, c.ctypes.data)
        run = bound(self.run, self.handle, METHODS[name], at[0], n, at[1])

        def call():
            if run():
                raise RuntimeError(f"{name} failed")

        call.copy = self  # whoever holds the call holds the copy of A
        return call

    def __del__(self):
        if getattr(self, "handle", None):
            self.free(self.handle)


class ColumnMajor:
    """A column-major C, for a peer that has its own layout."""

    def __init__(self, c, columns):
        self.columns = columns.reshape(c.shape[::-1])

    def clear(self):
        self.columns.fill(np.nan)

    def result(self):
        return self.columns.T


def eigen_call(a, b, c, threads):
    run = getattr(eigen, f"peers_eigen_{suffix(a.dtype)}")
    run.restype = None
    pointer, integer = ct.c_void_p, ct.c_int
    run.argtypes = [integer, integer, ct.c_int64, *[pointer] * 4, integer, pointer, integer]
    arrays = [x.ctypes.data for x in (a.indptr, a.indices, a.data)]
    n, at = b.shape[1], (b.ctypes.data, c.ctypes.data)
    return bound(run, *a.shape, a.nnz, *arrays, at[0], n, at[1], threads)


def add_all(a, b, c, threads, add, aligned):
    """Adds each library that is built; says which are not."""
    notes = []
    if rust:
        peer = Rust(a)
        add("sprs", 1, peer.call("sprs", b, c))
        if b.nbytes + c.nbytes > COPIES:
            notes.append("faer left out: B and C are too large for column-major copies")
        else:
            columns = aligned(b.shape[::-1], b.dtype)
            columns[:] = b.T
            own = ColumnMajor(c, aligned(c.shape, c.dtype))
            for name in ("faer csr", "faer csc"):
                call = peer.call(name, columns.reshape(b.shape), own.columns.reshape(c.shape))
                add(name, 1, call, own)
    else:
        notes.append("sprs and faer left out: bench/peers/rust is not built")
    if eigen:
        for t in threads:
            add("eigen", t, eigen_call(a, b, c, t))
    else:
        notes.append("Eigen left out: bench/peers/eigen.cpp is not built")
    return notes


def versions():
    found = {}
    if rust:
        with open(LOCK) as file:
            lines = file.read().splitlines()
        for name in ("sprs", "faer"):
            line = lines[lines.index(f'name = "{name}"') + 1]
            found[name] = line.split('"')[1]
    if eigen:
        number = eigen.peers_eigen_version()
        found["Eigen"] = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return found
