"""Matrix Market reading: girih into CSR against scipy.io.mmread into COO, in one run.

scipy's reader is fast_matrix_market, parallel. Every round times one reading by each, so that both
meet the same load; the file is in the page cache. Both must give the same matrix.

    python read_mtx.py [--rounds 15] [--threads 2] [--orders row column shuffled symmetric]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DATA = HERE / "data"


def fem(np, sp, nx=32, ny=32, nz=33, dof=3):
    """Pattern of a 19-point stencil on a 3-D grid with dof × dof blocks; random normal values."""
    idx = np.arange(nx * ny * nz).reshape(nz, ny, nx)
    rows, cols = [], []
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if abs(dx) + abs(dy) + abs(dz) > 2:
                    continue
                cut = lambda n, d: (slice(max(0, -d), n - max(0, d)), slice(max(0, d), n + min(0, d)))
                (sz, tz), (sy, ty), (sx, tx) = cut(nz, dz), cut(ny, dy), cut(nx, dx)
                rows.append(idx[sz, sy, sx].ravel())
                cols.append(idx[tz, ty, tx].ravel())
    rows, cols = np.concatenate(rows), np.concatenate(cols)
    grid = sp.coo_matrix((np.ones(len(rows)), (rows, cols))).tocsr()
    a = sp.kron(grid, np.ones((dof, dof)), format="csr")
    a.sort_indices()
    a.data = np.random.default_rng(3).standard_normal(a.nnz)
    return a


def laplacian(np, sp, n=1000):
    """5-point Laplacian of an n × n grid: values of one or two digits."""
    one, three = sp.identity(n, format="csr"), sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (n, n))
    a = sp.csr_matrix(sp.kron(one, three) + sp.kron(three, one))
    a.sort_indices()
    return a


def ordered(np, sp, a, order):
    if order == "row":
        return a.tocoo()
    if order == "column":
        return a.tocsc().tocoo()
    if order == "symmetric":
        return sp.tril(a).tocsc().tocoo()
    coo = a.tocoo()
    p = np.random.default_rng(1).permutation(coo.nnz)
    return sp.coo_matrix((coo.data[p], (coo.row[p], coo.col[p])), coo.shape)


def write(path, coo, symmetry):
    """Shortest decimals that read back as the same values, whatever the writer at hand would do."""
    with open(path, "w") as f:
        f.write(f"%%MatrixMarket matrix coordinate real {symmetry}\n")
        f.write(f"{coo.shape[0]} {coo.shape[1]} {coo.nnz}\n")
        step = 1 << 16
        for s in range(0, coo.nnz, step):
            rows, cols = (coo.row[s : s + step] + 1).tolist(), (coo.col[s : s + step] + 1).tolist()
            values = coo.data[s : s + step].tolist()
            lines = (f"{i} {j} {v!r}".removesuffix(".0") for i, j, v in zip(rows, cols, values))
            f.write("\n".join(lines) + "\n")


def checksums(np, a):
    """As examples/read_mtx.rs computes them."""
    a.sort_indices()
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    cols = int(((np.arange(a.nnz) % 1021) * a.indices.astype(np.int64)).sum())
    return float(cols), float(((rows % 1021) * a.data).sum())


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rounds", type=int, default=15)
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--orders", nargs="*", default=["row", "column", "shuffled", "symmetric"])
    args = args.parse_args()
    # Both sides are held to the same processors.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)

    import numpy as np
    import scipy
    import scipy.io
    import scipy.sparse as sp

    build = ["cargo", "build", "--release", "-p", "girih-formats", "--example", "read_mtx"]
    subprocess.run(build, cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    reader = target / "release" / "examples" / "read_mtx"

    DATA.mkdir(exist_ok=True)
    print(f"scipy {scipy.__version__}, {args.threads} threads, {args.rounds} rounds")
    print(f"{'file':22} {'MB':>6} {'entries':>9} {'girih s':>8} {'scipy s':>8} {'girih MB/s':>10}"
          f" {'ratio of minima':>16} {'median ratio':>13}")
    worst = None
    for name, make in (("fem", fem), ("laplacian", laplacian)):
        for order in args.orders:
            if order == "symmetric" and name == "fem":
                continue
            path = DATA / f"{name}_{order}.mtx"
            symmetry = "symmetric" if order == "symmetric" else "general"
            if not path.exists():
                partial = path.with_suffix(".partial")
                write(partial, ordered(np, sp, make(np, sp), order), symmetry)
                partial.rename(path)
            pipe = subprocess.Popen([reader, path, "f64", "-"], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            ours, theirs = [], []
            for _ in range(args.rounds + 1):
                pipe.stdin.write("\n")
                pipe.stdin.flush()
                line = pipe.stdout.readline().split()
                start = time.perf_counter()
                a = scipy.io.mmread(path)
                theirs.append(time.perf_counter() - start)
                ours.append(float(line[0]))
            pipe.stdin.close()
            pipe.wait()
            ours, theirs = ours[1:], theirs[1:]  # the first round warms the page cache
            a = a.tocsr()
            found = (int(line[1]), int(line[2]), int(line[3]))
            if found != (*a.shape, a.nnz):
                sys.exit(f"{path}: girih read {found}, scipy {(*a.shape, a.nnz)}")
            for ours_sum, sum_ in zip(map(float, line[4:6]), checksums(np, a)):
                if not abs(ours_sum - sum_) <= 1e-9 * max(1.0, abs(sum_)):
                    sys.exit(f"{path}: checksums differ, {ours_sum} and {sum_}")
            ratios = sorted(t / o for o, t in zip(ours, theirs))
            minima, median = min(theirs) / min(ours), ratios[len(ratios) // 2]
            mb = path.stat().st_size / 1e6
            print(f"{path.name:22} {mb:6.1f} {a.nnz:9} {min(ours):8.4f} {min(theirs):8.4f}"
                  f" {mb / min(ours):10.0f} {minima:16.2f} {median:13.2f}", flush=True)
            if order == "row":
                worst = min(worst or minima, minima)
    if worst is not None:
        print(f"row-major files, worst ratio of minima: {worst:.2f} (to reach: 1.5)")


if __name__ == "__main__":
    main()
