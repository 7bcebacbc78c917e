"""Reverse Cuthill-McKee against scipy's C code and sprs's, in one run, interleaved.

    cargo build --release -p girih-reorder --example order
    python bench/peers/rcm.py [--reps 9] [--threads 2] [--folder DIR] [--json OUT] [MATRIX.mtx.gz ...]

All sides get the same patterns, symmetric where sprs and scipy's symmetric mode take them; scipy is
timed from CSR arrays that exist, sprs likewise, ours adds the transposed pattern itself. Times are
minima over rounds in which every side runs once. What is compared besides is the bandwidth of the
matrix in each order, computed here by numpy from each side's order for scipy, and by the example's
metrics for the other two, after both ways were found to agree on scipy's.

With --folder every square matrix of the folder's INDEX.csv is ordered by all three for its bandwidth;
unsymmetric ones through A + A^T. Needs numpy and scipy.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("GIRIH_ORDER", os.path.join(ROOT, "target", "release", "examples", "order"))

# Name of the matrix, and the seed it is shuffled with.
TIMED = [("fem-33", None), ("fem-33", 1), ("laplacian-1000", None), ("laplacian-1000", 1)]


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
            raise RuntimeError(f"{' '.join(map(str, words))}: {answer['error']}")
        return answer


def pattern(girih, name, seed):
    """Loads a matrix into the example, and gives its pattern to scipy."""
    words = ("matrix", name) if seed is None else ("matrix", name, seed)
    shape = girih(*words)
    with tempfile.TemporaryDirectory() as directory:
        girih("dump", directory)
        ptr = np.fromfile(os.path.join(directory, "row_ptr"), np.int64)
        idx = np.fromfile(os.path.join(directory, "col_idx"), np.int32)
    a = sp.csr_matrix(
        (np.ones(len(idx), np.float32), idx, ptr.astype(np.int32)),
        (shape["nrows"], shape["ncols"]),
    )
    a.has_sorted_indices = True
    return a


def is_symmetric(a):
    t = a.T.tocsr()
    t.sort_indices()
    return np.array_equal(t.indptr, a.indptr) and np.array_equal(t.indices, a.indices)


def bandwidth(a, order):
    """The largest |i - j| of an entry with rows and columns in this order."""
    new = np.empty(a.shape[0], np.int64)
    new[order] = np.arange(a.shape[0])
    rows = np.repeat(new, np.diff(a.indptr))
    return int(np.abs(rows - new[a.indices]).max(initial=0))


def timed(girih, paths, reps, threads, records):
    for name, seed in TIMED + [(path, None) for path in paths]:
        a = pattern(girih, name, seed)
        symmetric = is_symmetric(a)
        ours = girih("effect", "rcm")["bandwidth"][1]
        scipys = bandwidth(a, reverse_cuthill_mckee(a, symmetric_mode=symmetric))
        widths = {"girih": ours, "scipy": scipys}
        runners = {
            f"girih, {threads} threads": lambda: girih("time", threads, "rcm")["seconds"],
            "girih, 1 thread": lambda: girih("time", 1, "rcm")["seconds"],
            "scipy": lambda: clock(lambda: reverse_cuthill_mckee(a, symmetric_mode=symmetric)),
        }
        if symmetric:
            widths["sprs"] = girih("effect", "sprs-rcm")["bandwidth"][1]
            runners["sprs"] = lambda: girih("time", 1, "sprs-rcm")["seconds"]
        times = {runner: [] for runner in runners}
        for rep in range(reps + 1):
            for runner, run in runners.items():
                seconds = run()
                if rep > 0:
                    times[runner].append(seconds)
        label = name if seed is None else f"{name} shuffled"
        best = {runner: min(t) for runner, t in times.items()}
        first = best[f"girih, {threads} threads"]
        print(f"\n{label}: {a.shape[0]} rows, {a.nnz} entries; bandwidth {widths}")
        for runner, seconds in best.items():
            median = float(np.median(times[runner]))
            print(f"  {runner:18} {seconds * 1e3:9.2f} ms  (median {median * 1e3:9.2f})  {seconds / first:6.2f}x", flush=True)
        records.append(dict(matrix=label, nnz=a.nnz, bandwidth=widths, min_seconds=best))


def clock(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def quality(girih, folder, records):
    """Bandwidths of every square matrix: ours over the better of scipy's and sprs's."""
    with open(os.path.join(folder, "INDEX.csv")) as index:
        rows = [r for r in csv.DictReader(index) if r["rcm_bandwidth"] and r["field"] != "complex"]
    print(f"\n{'matrix':48} {'natural':>8} {'girih':>8} {'scipy':>8} {'sprs':>8} {'ratio':>7}")
    ratios = []
    for row in rows:
        path = os.path.join(folder, row["file"])
        a = pattern(girih, path, None)
        effect = girih("effect", "rcm")["bandwidth"]
        both = (a + a.T).tocsr() if not is_symmetric(a) else a
        both.sort_indices()
        found = {"scipy": bandwidth(a, reverse_cuthill_mckee(both, symmetric_mode=True))}
        found["sprs"] = sprs_bandwidth(girih, a, path)
        best = min(width for width in found.values() if width is not None)
        ratio = effect[1] / best if best else 1.0
        ratios.append(ratio)
        shown = "-" if found["sprs"] is None else found["sprs"]
        print(f"{row['name']:48} {effect[0]:8} {effect[1]:8} {found['scipy']:8} {shown:>8} {ratio:7.3f}", flush=True)
        records.append(dict(matrix=row["name"], natural=effect[0], girih=effect[1], **found))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.4f}, worst {max(ratios):.3f} over {len(ratios)} matrices")
    if mean > 1.0 or max(ratios) > 1.05:
        sys.exit("a bandwidth is more than 5 % above the better peer's, or the mean above it")


def sprs_bandwidth(girih, a, path):
    """sprs orders symmetric patterns only."""
    if not is_symmetric(a):
        return None
    try:
        return girih("effect", "sprs-rcm")["bandwidth"][1]
    except RuntimeError as error:
        print(f"  sprs on {path}: {error}", file=sys.stderr)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("matrices", nargs="*", metavar="MATRIX", help="timed as well")
    parser.add_argument("--reps", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="Matrix Market files with an INDEX.csv: compare bandwidths")
    parser.add_argument("--skip-times", action="store_true")
    parser.add_argument("--json", help="write the records to this file")
    options = parser.parse_args()
    girih, records = Girih(), []
    if not options.skip_times:
        timed(girih, options.matrices, options.reps, options.threads, records)
    try:
        if options.folder:
            quality(girih, options.folder, records)
    finally:
        if options.json:
            with open(options.json, "w") as out:
                json.dump(records, out, indent=1)


if __name__ == "__main__":
    main()
