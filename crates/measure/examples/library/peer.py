"""The same jobs with scipy and with torch, whose sparse products on a CPU are MKL's.

Reads requests, one line of JSON each, and answers each with a line for every library that is there: its name, the least
seconds of a run, the shape of what came out and the file that holds it. `done` ends an answer.
"""

import json
import sys
import time

import numpy as np

threads = int(sys.argv[1])

try:
    import scipy.sparse as sp
except ImportError:
    sp = None
try:
    import torch

    torch.set_num_threads(threads)
except ImportError:
    torch = None


class Scipy:
    name = "scipy"

    def __init__(self, shape, row_ptr, col_idx, values):
        self.a = sp.csr_array((values, col_idx, row_ptr), shape=shape)

    def multiply(self, b, beta, c):
        if beta == 0:
            c[:] = self.a @ b
        else:
            c *= beta
            c += self.a @ b


class Torch:
    name = "torch"

    def __init__(self, shape, row_ptr, col_idx, values):
        pointers = torch.from_numpy(row_ptr.astype(np.int32)), torch.from_numpy(col_idx)
        self.a = torch.sparse_csr_tensor(*pointers, torch.from_numpy(values), size=shape)

    def multiply(self, b, beta, c):
        c = torch.from_numpy(c)
        torch.addmm(c, self.a, torch.from_numpy(b), beta=beta, out=c)


def pagerank(engine, steps, x, sources, dangling):
    damping, n = 0.85, x.shape[1]
    sources, columns = sources.ravel().astype(int), np.arange(n)
    dangling = np.flatnonzero(dangling)
    x, y = x.copy(), np.zeros_like(x)
    for _ in range(steps):
        engine.multiply(x, 0, y)
        y[sources, columns] += 1 - damping + damping * x[dangling].sum(axis=0)
        x, y = y, x
    return x


def chebyshev(engine, steps, x):
    before, now = x.copy(), np.zeros_like(x)
    engine.multiply(before, 0, now)
    now /= 2
    for _ in range(1, steps):
        engine.multiply(now, -1, before)
        before, now = now, before
    return now


def block_cg(engine, steps, b):
    x, r, p, q = np.zeros_like(b), b.copy(), b.copy(), np.zeros_like(b)
    rr = r.T @ r
    for _ in range(steps):
        engine.multiply(p, 0, q)
        step = np.linalg.solve(p.T @ q, rr)
        x += p @ step
        r -= q @ step
        rr_next = r.T @ r
        p = r + p @ np.linalg.solve(rr, rr_next)
        rr = rr_next
    return x


def gcn(engine, steps, x, w1, w2, wanted):
    ax, spread = np.zeros_like(x), np.zeros((x.shape[0], w1.shape[1]), x.dtype)
    by_hidden, w1, w2 = np.zeros_like(spread), w1.copy(), w2.copy()
    engine.multiply(x, 0, ax)
    rate = x.dtype.type(1 / len(x))
    for _ in range(steps):
        hidden = np.maximum(ax @ w1, 0)
        engine.multiply(hidden, 0, spread)
        by_scores = spread @ w2 - wanted
        engine.multiply(by_scores @ w2.T, 0, by_hidden)
        by_hidden *= hidden > 0
        w2 -= rate * (spread.T @ by_scores)
        w1 -= rate * (ax.T @ by_hidden)
    return spread @ w2


class Sampled:
    """S of torch.sparse.sampled_addmm, as one column."""

    name = "torch"

    def __init__(self, shape, row_ptr, col_idx, values):
        self.pattern = Torch(shape, row_ptr, col_idx, values).a

    def run(self, x, y):
        x, y = torch.from_numpy(x), torch.from_numpy(y)
        return torch.sparse.sampled_addmm(self.pattern, x, y.T, beta=0.0).values().numpy()[:, None]


def least(run, seconds):
    run()
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - before)
    return min(times), result


def answer(request):
    folder, dtype = request["folder"], np.dtype(request["dtype"])
    read = lambda name, dtype: np.fromfile(f"{folder}/{name}", dtype)
    shape = tuple(request["shape"])
    arrays = {name: read(name, dtype).reshape(dim) for name, *dim in request["arrays"]}
    matrix = read("row_ptr", np.int64), read("col_idx", np.int32), read("values", dtype)
    job = request["job"]
    if job == "sddmm":
        engines = [Sampled] if torch else []
        run = lambda engine: engine.run(**arrays)
    else:
        engines = ([Scipy] if sp else []) + ([Torch] if torch else [])
        function = {f.__name__: f for f in (pagerank, chebyshev, block_cg, gcn)}[job]
        run = lambda engine: function(engine, request["steps"], **arrays)
    for make in engines:
        engine = make(shape, *matrix)
        seconds, out = least(lambda: run(engine), request["seconds"])
        path = f"{folder}/out-{make.name}"
        np.ascontiguousarray(out, dtype).tofile(path)
        print(make.name, seconds, *out.shape, path, sep="\t")
    print("done", flush=True)


for line in sys.stdin:
    answer(json.loads(line))
