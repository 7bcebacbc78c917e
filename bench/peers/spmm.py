"""SpMM on the CPU against MKL, torch, SuiteSparse:GraphBLAS and scipy, in one process, by turns.

    cargo build --release -p girih-peers-capi
    python bench/peers/spmm.py [MATRIX ...] [--n 1 8 32 128 512] [--dtype f32] [--threads 1 2]
                               [--formats csr auto] [--reps 9] [--json OUT]
    python bench/peers/spmm.py --report RESULTS.json ...

MATRIX is a generated class (uniform, rmat, fem, blocks, laplacian; by default all five) or a path.
Every side gets the same CSR matrix, B and C (row-major, on a 2 MiB boundary, C written with beta =
0). Each result is checked against a product in f64, element by element, within the rounding error
bound of a sum of that row's length. In every round each runner is called once unmeasured, then timed
over at least one call; runners alternate, so that other load hits all alike.

Ratios are of minima: the least time of the best peer over girih's, per case. A peer that is faster
on one thread than on two counts with one. GB/s counts A as CSR with 32-bit indices, B and C once.
"""

import argparse
import json
import os
import resource
import sys
import time

# Workers of OpenMP spin a moment between calls, then sleep and leave the processors to the next
# runner; malloc keeps what it has, so that libraries that allocate are not charged page faults.
SETTINGS = {
    "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0))),
    "GOMP_SPINCOUNT": "30000",
    "KMP_BLOCKTIME": "1",
    "MKL_THREADING_LAYER": "INTEL",
    "MKL_INTERFACE_LAYER": "LP64",
    "MKL_DYNAMIC": "FALSE",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0"
    ":glibc.malloc.trim_threshold=34359738368",
}
if __name__ == "__main__" and any(os.environ.get(k) != v for k, v in SETTINGS.items()):
    os.environ.update(SETTINGS)
    os.execv(sys.executable, [sys.executable, *sys.argv])

import numpy as np

CLASSES = ("uniform", "rmat", "fem", "blocks", "laplacian")
BLOCKS = {"fem": (3,), "blocks": (16, 64)}
DTYPES = {"f32": np.float32, "f64": np.float64}
HUGE_PAGE = 2 << 20
CHECKED = 1 << 22  # elements of C, beyond which only a sample of rows is checked
SAMPLE = 0.004  # seconds that a sample takes at most, unless one call takes longer


def aligned(shape, dtype):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + HUGE_PAGE, np.uint8)
    start = -raw.ctypes.data % HUGE_PAGE
    return raw[start : start + size].view(dtype).reshape(shape)


class Check:
    """|C - AB| <= gamma·|A||B| on rows of C, from a product in f64."""

    def __init__(self, a, b, c):
        m, n = c.shape
        rng = np.random.default_rng(2)
        rows = np.arange(m) if m * n <= CHECKED else np.sort(rng.choice(m, CHECKED // n, False))
        part = a[rows].astype(np.float64)
        used = np.unique(part.indices)
        part, wide = part[:, used], b[used].astype(np.float64)
        self.rows, self.expected = rows, part @ wide
        eps = np.finfo(c.dtype).eps
        self.bound = (np.diff(part.indptr)[:, None] + 2) * eps * (abs(part) @ abs(wide))

    def worst(self, c):
        """The largest error as a part of its bound, or infinity if any is not finite."""
        error = np.abs(c[self.rows] - self.expected)
        if not np.isfinite(error).all() or (error[self.bound == 0] > 0).any():
            return np.inf
        return float((error / np.where(self.bound > 0, self.bound, 1)).max(initial=0))


def busy():
    """Processor seconds that the machine has used, by /proc/stat."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, *_ = map(int, stat.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(runners, reps, seconds):
    """Times of each runner, at least 3 rounds, at most `reps` or as many as fit in `seconds`."""
    times = {key: [] for key in runners}
    start = time.perf_counter()
    for rep in range(reps):
        if rep >= 3 and time.perf_counter() - start > seconds:
            break
        for key, call in runners.items():
            begin = time.perf_counter()
            call()
            once = min([time.perf_counter() - begin, *times[key]])
            count = max(1, min(50, int(SAMPLE / once)))
            begin = time.perf_counter()
            for _ in range(count):
                call()
            times[key].append((time.perf_counter() - begin) / count)
    return times


def case(name, a, n, options):
    from spmm_girih import Girih
    from spmm_peers import add_all

    dtype, (m, k) = a.dtype, a.shape
    b, c = aligned((k, n), dtype), aligned((m, n), dtype)
    rng = np.random.default_rng(1)
    for rows in range(0, k, 1 << 16):
        part = b[rows : rows + (1 << 16)]
        part[:] = rng.standard_normal(part.shape, dtype)
    check, runners, facts = Check(a, b, c), {}, {}

    def add(label, threads, call, result=None, **more):
        c.fill(np.nan)
        if result is not None:
            result.clear()
        call()
        worst = check.worst(c if result is None else result.result())
        if not worst <= 1:
            sys.exit(f"{name}, n = {n}: {label} is {worst:.3g} times its error bound off")
        runners[label, threads] = call
        facts[label, threads] = dict(error_of_bound=worst, **more)

    for threads in options.threads:
        planned = {}
        for format in options.formats:
            begin = time.perf_counter()
            girih = Girih(a, format, n, threads)
            prepare = time.perf_counter() - begin
            if girih.format in planned:
                facts[planned[girih.format]]["also"].append(format)
                continue
            planned[girih.format] = (f"girih {format}", threads)
            call = lambda girih=girih: girih(b, c)
            more = dict(format=girih.format, prepare_seconds=prepare, also=[])
            add(f"girih {format}", threads, call, **more)
    notes = add_all(a, b, c, options.threads, BLOCKS.get(name, ()), add)
    wall, machine, process = time.perf_counter(), busy(), own()
    times = measure(runners, options.reps, options.seconds)
    wall = time.perf_counter() - wall
    other = (busy() - machine - (own() - process)) / (wall * os.cpu_count())
    results = []
    for (label, threads), t in times.items():
        low, median, high = (float(x) for x in np.quantile(t, (0.25, 0.5, 0.75)))
        results.append(
            dict(
                name=label, threads=threads, min_seconds=min(t), median_seconds=median,
                quartiles=[low, high], max_seconds=max(t), samples=len(t), **facts[label, threads],
            )
        )  # fmt: skip
    size = dtype.itemsize
    bytes_moved = a.nnz * (size + 4) + 4 * (m + 1) + size * n * (k + m)
    return dict(
        matrix=name, dtype=options.dtype, n=n, m=m, k=k, nnz=a.nnz, bytes=bytes_moved,
        flops=2 * a.nnz * n, other_load=max(other, 0.0), notes=notes, results=results,
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("matrices", nargs="*", metavar="MATRIX")
    parser.add_argument("--n", type=int, nargs="+", default=[1, 8, 32, 128, 512])
    parser.add_argument("--dtype", choices=DTYPES, default="f32")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--formats", nargs="+", default=["csr", "auto"])
    parser.add_argument("--reps", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=20, help="for each case, beyond 3 rounds")
    parser.add_argument("--json", help="write the records to this file")
    parser.add_argument("--report", nargs="+", metavar="RESULTS", help="tables of earlier runs")
    options = parser.parse_args()
    import spmm_report

    if options.report:
        records = []
        for path in options.report:
            with open(path) as file:
                records.append(json.load(file))
        spmm_report.tables([case for record in records for case in record["cases"]])
        return
    from spmm_girih import open_matrix
    from spmm_peers import versions

    record = dict(when=time.strftime("%Y-%m-%d %H:%M"), versions=versions(), cases=[])
    for source in options.matrices or CLASSES:
        a = open_matrix(source, DTYPES[options.dtype])
        name = os.path.basename(source).removesuffix(".gz").removesuffix(".mtx")
        for n in options.n:
            record["cases"].append(case(name, a, n, options))
            spmm_report.show(record["cases"][-1])
            if options.json:
                with open(options.json, "w") as out:
                    json.dump(record, out, indent=1)
    spmm_report.tables(record["cases"])


if __name__ == "__main__":
    main()
