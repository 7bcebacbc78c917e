"""CSR -> BCSR and CSR -> CSC against scipy, MKL and sprs, in one run, interleaved.

    cargo build --release -p girih-formats --features generate --example convert
    python bench/peers/convert.py [--reps 15] [--json OUT]

Both sides get the same generated matrices. Every result is checked against scipy's. The times are
minima over repetitions that alternate between the programs, so that whatever else the machine does
hits them alike; each includes freeing the result, as the peers' calls do. The processor time, mean
over all repetitions and summed over threads, is what a busy machine distorts least. scipy and sprs have one
thread to offer; MKL is given the better of one and all. Needs numpy, scipy and mkl.
"""

import argparse
import ctypes as ct
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "target", "release", "examples", "convert")
CPUS = len(os.sched_getaffinity(0))
SPARSE_OPERATION_NON_TRANSPOSE, SPARSE_LAYOUT_ROW_MAJOR = 10, 101


class Girih:
    """The example program, one command and one answer at a time."""

    def __init__(self):
        self.process = subprocess.Popen(
            [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __call__(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            sys.exit(f"{' '.join(map(str, words))}: {answer['error']}")
        return answer

    def timer(self, threads, *operation):
        return lambda: self("time", threads, *operation)["seconds"]


class Mkl:
    """mkl_sparse_convert_bsr on one CSR matrix."""

    def __init__(self, a):
        paths = glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))
        self.lib = ct.CDLL(paths[0])
        self.arrays = a.indptr, a.indices, a.data
        self.handle = ct.c_void_p()
        pointers = [x.ctypes.data for x in self.arrays]
        self.check(
            self.lib.mkl_sparse_s_create_csr(
                ct.byref(self.handle), 0, *a.shape, ct.c_void_p(pointers[0]),
                ct.c_void_p(pointers[0] + 4), ct.c_void_p(pointers[1]), ct.c_void_p(pointers[2]),
            )
        )  # fmt: skip

    @staticmethod
    def check(status):
        if status != 0:
            raise RuntimeError(f"MKL status {status}")

    def to_bsr(self, size, threads):
        def run():
            self.lib.MKL_Set_Num_Threads(threads)
            out = ct.c_void_p()
            start = time.perf_counter()
            self.check(
                self.lib.mkl_sparse_convert_bsr(
                    self.handle, size, SPARSE_LAYOUT_ROW_MAJOR, SPARSE_OPERATION_NON_TRANSPOSE,
                    ct.byref(out),
                )
            )  # fmt: skip
            self.lib.mkl_sparse_destroy(out)
            return time.perf_counter() - start

        return run


def timed(function):
    def run():
        start = time.perf_counter()
        result = function()
        del result
        return time.perf_counter() - start

    return run


def load(directory, shape, dtypes=(np.int64, np.int32, np.float32)):
    names = ("row_ptr", "col_idx", "values")
    return [np.fromfile(os.path.join(directory, n), t) for n, t in zip(names, dtypes)], shape


def processor_seconds(girih):
    """Processor time that both sides have used so far."""
    with open(f"/proc/{girih.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK") + time.process_time()


def interleave(girih, runners, reps):
    """Minimum and median seconds, and mean processor seconds, of each runner."""
    times = {name: [] for name in runners}
    used = dict.fromkeys(runners, 0.0)
    for rep in range(reps + 1):
        for name, run in runners.items():
            before = processor_seconds(girih)
            seconds = run()
            if rep > 0:
                times[name].append(seconds)
                used[name] += processor_seconds(girih) - before
    return {name: (min(t), float(np.median(t)), used[name] / reps) for name, t in times.items()}


def check_bcsr(girih, directory, a, size):
    girih("result", directory, "bcsr", size, size)
    (ptr, idx, values), _ = load(directory, None)
    reference = a.tobsr((size, size))
    reference.sort_indices()
    same = (
        np.array_equal(ptr, reference.indptr)
        and np.array_equal(idx, reference.indices)
        and np.array_equal(values, reference.data.ravel())
    )
    if not same:
        sys.exit(f"BCSR {size}x{size} differs from scipy's")


def check_csc(girih, directory, a):
    girih("result", directory, "csc")
    (ptr, idx, values), _ = load(directory, None)
    reference = a.tocsc()
    same = (
        np.array_equal(ptr, reference.indptr)
        and np.array_equal(idx, reference.indices)
        and np.array_equal(values, reference.data)
    )
    if not same:
        sys.exit("CSC differs from scipy's")


def report(records, matrix, operation, times, ours, peers):
    print(f"\n{matrix}: {operation}")
    for name, (best, median, used) in times.items():
        ratios = "" if name != ours else "   " + ", ".join(
            f"{times[peer][0] / best:.2f}x {peer}" for peer in peers
        )
        print(f"  {name:16} {best * 1e3:8.2f} ms  (median {median * 1e3:8.2f}, processor {used * 1e3:8.2f}){ratios}")
        records.append(
            dict(matrix=matrix, operation=operation, name=name, min_seconds=best, median_seconds=median, processor_seconds=used)
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reps", type=int, default=15)
    parser.add_argument("--only", choices=("peers", "rates"), help="half of the benchmark")
    parser.add_argument("--json", help="write the records to this file")
    options = parser.parse_args()
    girih, records = Girih(), []
    with tempfile.TemporaryDirectory() as directory:
        for matrix in ("block-10", "fem-33") if options.only != "rates" else ():
            shape = girih("matrix", matrix)
            girih("dump", directory)
            (ptr, idx, values), _ = load(directory, None)
            a = sp.csr_matrix(
                (values, idx, ptr.astype(np.int32)), (shape["nrows"], shape["ncols"])
            )
            a.has_sorted_indices = True
            print(f"{matrix}: {a.shape[0]} x {a.shape[1]}, {a.nnz} entries", flush=True)
            mkl = Mkl(a)
            for size in (8, 16, 64):
                check_bcsr(girih, directory, a, size)
                runners = {
                    "girih": girih.timer(CPUS, "bcsr", size, size),
                    "girih, 1 thread": girih.timer(1, "bcsr", size, size),
                    "MKL, 1 thread": mkl.to_bsr(size, 1),
                    "MKL": mkl.to_bsr(size, CPUS),
                    "scipy": timed(lambda size=size: a.tobsr((size, size))),
                }
                times = interleave(girih, runners, options.reps)
                report(
                    records, matrix, f"CSR -> BCSR {size}x{size}", times, "girih",
                    ("MKL, 1 thread", "MKL", "scipy"),
                )  # fmt: skip
            check_csc(girih, directory, a)
            runners = {
                "girih": girih.timer(CPUS, "csc"),
                "girih, 1 thread": girih.timer(1, "csc"),
                "scipy": timed(a.tocsc),
                "sprs": girih.timer(1, "sprs-csc"),
            }
            times = interleave(girih, runners, options.reps)
            report(records, matrix, "CSR -> CSC", times, "girih", ("scipy", "sprs"))
    if options.only != "peers":
        rates(girih, records, options.reps)
    if options.json:
        with open(options.json, "w") as out:
            json.dump(records, out, indent=1)


def rates(girih, records, reps):
    print("\nConstruction rate, million entries per second (linear if the rate holds with size)")
    for matrix in ("fem-4", "fem-8", "fem-16", "fem-33", "uniform-65536", "uniform-262144", "rmat-16"):
        nnz = girih("matrix", matrix)["nnz"]
        runners = {
            "WCSR 64/8": girih.timer(CPUS, "wcsr", 64, 8),
            "WCSR 16/8": girih.timer(CPUS, "wcsr", 16, 8),
            "BMat": girih.timer(CPUS, "bmat"),
            "CSC": girih.timer(CPUS, "csc"),
        }
        times = interleave(girih, runners, max(3, reps // 3))
        rates = "  ".join(f"{name} {nnz / best / 1e6:7.1f}" for name, (best, _, _) in times.items())
        print(f"  {matrix:16} {nnz:9} entries  {rates}", flush=True)
        for name, (best, median, used) in times.items():
            records.append(
                dict(matrix=matrix, operation=name, name="girih", nnz=nnz, min_seconds=best, median_seconds=median, processor_seconds=used)
            )


if __name__ == "__main__":
    main()
