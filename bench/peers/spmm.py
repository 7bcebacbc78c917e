"""SpMM on the CPU against MKL, torch, SuiteSparse:GraphBLAS, scipy, Eigen, sprs and faer, in one
process, by turns.

    cargo build --release -p girih-peers-capi
    python bench/peers/spmm.py [MATRIX ...] [--folder DIR --min-nnz 100000] [--n 1 8 32 128 512]
                               [--dtype f32 f64] [--threads 1 2] [--formats csr auto] [--json OUT]
    python bench/peers/spmm.py --report RESULTS.json ...

MATRIX is a generated class (uniform, rmat, fem, blocks, laplacian; by default all five) or a path.
Every side gets the same CSR matrix, B and C (row-major, on a 2 MiB boundary, C written with beta =
0; faer column-major copies of B and C, in which it is faster). Each result is checked against a
product in f64, element by element, within the rounding error bound of a sum of that row's length.
Runners alternate, so that other load hits all alike. In a round, each is called once unmeasured,
then timed over at least one call; a call longer than 20 ms is its own sample. A peer that takes
three times as long as another, after two rounds, is not called again.

Ratios are of minima: the least time of the best peer over girih's, per case. A peer that is faster
on one thread than on two counts with one. GB/s counts A as CSR with 32-bit indices, B and C once;
the floor is what the machine needs for those bytes or for the flops, measured in the same run.
Reading, among the runners, is nothing but reading the row of B that each entry names: whole or in
panels, in place or copied apart, asked for ahead or not, whichever is fastest. Moving reads the
values of A too and writes C, past the caches or not: what a product that goes entry by entry moves.
"""

import argparse
import gzip
import json
import os
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

import spmm_native
import spmm_report
import spmm_run

CLASSES = ("uniform", "rmat", "fem", "blocks", "laplacian")
BLOCKS = {"fem": (3,), "blocks": (16, 64)}
DTYPES = {"f32": np.float32, "f64": np.float64}
HUGE_PAGE = 2 << 20
CHECKED = 1 << 21  # elements of C, beyond which only a sample of rows is checked
DRAWN = 1 << 14  # rows of B that are drawn; further ones are multiples of them


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


def fill(b):
    """Normal values; no two rows are the same."""
    rng = np.random.default_rng(1)
    drawn = rng.standard_normal((min(DRAWN, len(b)), b.shape[1]), b.dtype)
    for start in range(0, len(b), DRAWN):
        part = b[start : start + DRAWN]
        scale = rng.uniform(0.5, 2.0, (len(part), 1)).astype(b.dtype)
        np.multiply(drawn[: len(part)], scale, out=part)


def case(name, a, n, options, rooflines):
    from spmm_girih import Girih, Reads
    from spmm_peers import add_all

    dtype, (m, k) = a.dtype, a.shape
    b, c = aligned((k, n), dtype), aligned((m, n), dtype)
    fill(b)
    check, runners, facts = Check(a, b, c), {}, {}
    pins = spmm_run.Pins(not options.no_pin)

    def add(label, threads, call, result=None, **more):
        c.fill(np.nan)
        if result is not None:
            result.clear()
        call()
        pins.new_workers()
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
            # Workers of what is not timed too: of two that are new, the second would be pinned to the
            # caller's processor.
            pins.new_workers()
            if girih.format in planned:
                facts[planned[girih.format]]["also"].append(format)
                continue
            planned[girih.format] = (f"girih {format}", threads)
            more = dict(format=girih.format, prepare_seconds=prepare, also=[])
            add(f"girih {format}", threads, girih.call(b, c), **more)
        if Reads.possible(b):
            for label, out in (("reading", None), ("moving", c)):
                runners[label, threads], facts[label, threads] = Reads(a, b, threads, out), {}
                pins.new_workers()
    notes = add_all(a, b, c, options.threads, BLOCKS.get(name, ()), add, aligned)
    with spmm_run.Load() as load:
        times = spmm_run.measure(runners, options.reps, options.seconds, pins)
    results = []
    for (label, threads), t in times.items():
        low, median, high = (float(x) for x in np.quantile(t, (0.25, 0.5, 0.75)))
        results.append(
            dict(
                name=label, threads=threads, min_seconds=min(t), median_seconds=median,
                quartiles=[low, high], max_seconds=max(t), samples=len(t), **facts[label, threads],
            )
        )  # fmt: skip
    bytes_moved, flops = operands(a, n), 2 * a.nnz * n
    floors = {str(t): r.floor(dtype, bytes_moved, flops) for t, r in rooflines.items()}
    return dict(
        matrix=name, dtype=spmm_native.suffix(dtype), n=n, m=m, k=k, nnz=a.nnz, bytes=bytes_moved,
        flops=flops, floors=floors, other_load=load.other, notes=notes, results=results,
    )  # fmt: skip


def operands(a, n):
    """Bytes of A as CSR with 32-bit indices, B and C."""
    (m, k), size = a.shape, a.dtype.itemsize
    return a.nnz * (size + 4) + 4 * (m + 1) + size * n * (k + m)


def stem(path):
    return os.path.basename(path).removesuffix(".gz").removesuffix(".mtx")


def in_folder(folder, min_nnz, skipped):
    """Paths of its Matrix Market files whose headers allow for that many entries."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.endswith((".mtx", ".mtx.gz")):
            continue
        with (gzip.open if name.endswith(".gz") else open)(path, "rt") as file:
            banner = file.readline().lower().split()
            line = next((line for line in file if line.strip() and line[0] != "%"), "")
        if "complex" in banner:
            skipped.append(dict(matrix=stem(name), reason="complex values"))
            print(f"{stem(name)} left out: complex values")
            continue
        # Symmetric files hold a half; an array holds rows times columns.
        sizes = [int(word) for word in line.split()]
        entries = sizes[2] if "coordinate" in banner else sizes[0] * sizes[1]
        if 2 * entries >= min_nnz:
            yield path


def sources(options, skipped):
    if options.matrices or not options.folder:
        yield from options.matrices or CLASSES
    if options.folder:
        yield from in_folder(options.folder, options.min_nnz, skipped)


def run(options):
    from spmm_girih import Roofline, open_matrix
    from spmm_peers import versions

    rooflines, machine = {}, {}
    for threads in options.threads:
        with spmm_run.Load() as load:
            rooflines[threads] = Roofline(threads)
        machine[str(threads)] = dict(**rooflines[threads].record(), other_load=load.other)
    when = time.strftime("%Y-%m-%d %H:%M")
    record = dict(when=when, versions=versions(), machine=machine, skipped=[], cases=[])

    def keep():
        if options.json:
            with open(options.json + ".part", "w") as out:
                json.dump(record, out, indent=1)
            os.replace(options.json + ".part", options.json)

    spmm_report.machine(record)
    for source in sources(options, record["skipped"]):
        name = stem(source)
        for dtype in options.dtype:
            a = open_matrix(source, DTYPES[dtype])
            of_folder = source not in (*options.matrices, *CLASSES)
            if of_folder and a.nnz < options.min_nnz:
                break
            for n in options.n:
                size = operands(a, n)
                if size > options.memory * 1e9:
                    reason = f"operands of {size / 1e9:.1f} GB"
                    record["skipped"].append(dict(matrix=name, dtype=dtype, n=n, reason=reason))
                    print(f"\n{name} {dtype} n = {n} left out: {reason}")
                    continue
                record["cases"].append(case(name, a, n, options, rooflines))
                spmm_report.show(record["cases"][-1])
                keep()
    keep()
    spmm_report.tables(record["cases"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("matrices", nargs="*", metavar="MATRIX")
    parser.add_argument("--folder", help="every Matrix Market file here as well")
    parser.add_argument("--min-nnz", type=int, default=100_000, help="of those in the folder")
    parser.add_argument("--n", type=int, nargs="+", default=[1, 8, 32, 128, 512])
    parser.add_argument("--dtype", choices=DTYPES, nargs="+", default=["f32"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--formats", nargs="+", default=["csr", "auto"])
    parser.add_argument("--reps", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3, help="for each case, beyond 3 rounds")
    parser.add_argument("--memory", type=float, default=6, help="GB of operands, at most")
    parser.add_argument("--no-pin", action="store_true", help="let threads wander")
    parser.add_argument("--json", help="write the records to this file, after each case")
    parser.add_argument("--report", nargs="+", metavar="RESULTS", help="tables of earlier runs")
    options = parser.parse_args()
    if not options.report:
        return run(options)
    cases = []
    for path in options.report:
        with open(path) as file:
            record = json.load(file)
        spmm_report.machine(record)
        cases += record["cases"]
    spmm_report.tables(cases)


if __name__ == "__main__":
    main()
