"""What an ordering buys on the CPU, and what it would on a GPU.

    cargo build --release
    python bench/ordering/run.py FILE.mtx.gz ... --out bench/records/NAME
    python bench/ordering/run.py --folder DIR --min-nnz 80000 --out bench/records/NAME

Every matrix is multiplied as it comes and shuffled (rows and columns, alike if it is square), in CSR,
WCSR and BMat, with its rows in the order of the input, in RCM order and in the window ordering's, for n
of 32, 128 and 512, all by `girih bench`, which verifies each. Beside the times stand the
counts that tensor-core kernels would pay for: rows of B that windows of 16 and 64 rows gather, and BMat
tiles. `auto` is asked, for each format and n, which order it would take; it was right if that order's
measured time is within --tolerance of the best.

NAME.jsonl gets a line for each measurement as it is made, and NAME.md the tables. A second run goes on
where the first stopped: what NAME.jsonl has is not measured again. Times are minima over products by
turns between the orders and formats of one n. Needs numpy and scipy.
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
from scipy.io import mmread

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GIRIH = os.environ.get("GIRIH", os.path.join(ROOT, "target", "release", "girih"))
FORMATS = {"csr": "csr", "wcsr": "wcsr:64", "bmat": "bmat"}
ORDERS = ["none", "rcm", "window"]
INPUTS = ["natural", "shuffled"]
COLUMNS = [32, 128, 512]
# The n whose plans' times are reported.
PLANNED = 128


class Records:
    """Measurements by their key, in a file that is only appended to."""

    def __init__(self, path):
        self.path, self.found = path, {}
        if os.path.exists(path):
            with open(path) as lines:
                for line in lines:
                    record = json.loads(line)
                    self.found[tuple(record["key"])] = record["value"]

    def get(self, key, measure):
        if key not in self.found:
            value = measure()
            with open(self.path, "a") as out:
                print(json.dumps({"key": list(key), "value": value}), file=out)
            self.found[key] = value
        return self.found[key]


def girih(*words):
    done = subprocess.run([GIRIH, *map(str, words), "--json"], capture_output=True, text=True)
    answer = json.loads(done.stdout) if done.stdout else {}
    if done.returncode != 0:
        raise RuntimeError(f"girih {' '.join(map(str, words))}: {done.stderr.strip()}")
    return answer


def save_inputs(path, directory):
    """The matrix as it is and shuffled, in files that read fast."""
    a = sp.csr_matrix(mmread(path)).astype(np.float32)
    rng = np.random.default_rng(1)
    rows = rng.permutation(a.shape[0])
    cols = rows if a.shape[0] == a.shape[1] else rng.permutation(a.shape[1])
    shuffled = a[rows][:, cols].tocsr()
    files = {}
    for name, matrix in (("natural", a), ("shuffled", shuffled)):
        matrix.sort_indices()
        files[name] = os.path.join(directory, f"{name}.npz")
        sp.save_npz(files[name], matrix, compressed=False)
    return files, a


def products(source, options):
    """For each format and n: the least seconds in each order, the order that auto takes, and the
    seconds that planning each took."""
    facts = girih(
        "bench", source, "--format", ",".join(FORMATS.values()), "--reorder", ",".join([*ORDERS, "auto"]),
        "--n", ",".join(map(str, COLUMNS)), "--threads", options.threads, "--seconds", options.seconds,
        "--roofline", "off", "--memory-limit", "none", *(["--device", options.device] if options.device else []),
    )  # fmt: skip
    found = {}
    for case in facts["cases"]:
        kind = next(kind for kind, asked in FORMATS.items() if asked == case["format"])
        times, plans, auto = found.setdefault((kind, case["n"]), ({}, {}, {}))
        order = case["reorder"]
        plans[order] = case["plan_seconds"]
        if order == "auto":
            name = case["order"].split(":")[0]
            auto["order"] = "none" if name == "natural" else name
        else:
            times[order] = case["min_seconds"]
    return found


def measure(path, records, options, deadline):
    name = os.path.basename(path).split(".mtx")[0]
    with tempfile.TemporaryDirectory() as directory:
        files, a = save_inputs(path, directory)
        records.get((name, "shape"), lambda: [*map(int, a.shape), int(a.nnz)])
        for source in INPUTS:
            for order in ORDERS[1:]:
                key = (name, source, "counts", order)
                records.get(key, lambda: counts(files[source], order))
            if (name, source, "measured") in records.found:
                continue
            if time.monotonic() > deadline:
                return False
            for (kind, n), (times, plans, auto) in products(files[source], options).items():
                records.get((name, source, kind, n), lambda: times)
                records.get((name, source, kind, n, "auto"), lambda: auto)
                if n == PLANNED:
                    records.get((name, source, kind, "plan"), lambda: plans)
            records.get((name, source, "measured"), lambda: True)
    return True


def counts(source, order):
    facts = girih("inspect", source, "--reorder", order)["reordered"]
    return {"before": facts["before"], "after": facts["after"], "seconds": facts["order_seconds"]}


def geomean(values):
    values = [v for v in values if v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def report(records, tolerance, load):
    found = records.found
    names = sorted({key[0] for key in found})
    out = ["# What orderings buy\n", f"{len(names)} matrices. Load average when the last run ended: {load}.\n"]
    out.append("## Products on the CPU\n\nTime relative to the order of the natural input, geometric mean (least … most).\n")
    rows = []
    for kind in FORMATS:
        for n in COLUMNS:
            row = [kind, n]
            for source in INPUTS:
                for order in ORDERS:
                    if (source, order) == ("natural", "none"):
                        continue
                    ratios = [
                        found[name, source, kind, n][order] / found[name, "natural", kind, n]["none"]
                        for name in names
                        if (name, source, kind, n) in found and (name, "natural", kind, n) in found
                    ]
                    row.append(f"{geomean(ratios):.2f} ({min(ratios, default=math.nan):.2f} … {max(ratios, default=math.nan):.2f})")
            rows.append(row)
    heads = [f"{s}, {o}" for s in INPUTS for o in ORDERS if (s, o) != ("natural", "none")]
    out.append(table(["format", "n", *heads], rows))

    out.append("## What GPU kernels would pay for\n\nRelative to the order of the natural input: rows of B that windows gather, and 16×8 tiles.\n")
    rows = []
    for name in names:
        row = [name, found[name, "shape"][2]] if (name, "shape") in found else [name, ""]
        base = found.get((name, "natural", "counts", "rcm"))
        for source in INPUTS:
            for order in ORDERS[1:]:
                count = found.get((name, source, "counts", order))
                if not count or not base:
                    row.append("")
                    continue
                before, after = base["before"], count["after"]
                ratio = lambda x, y: y / x if x else 1.0
                cells = [ratio(before["packed_cols"][i], after["packed_cols"][i]) for i in (2, 1)]
                cells.append(ratio(before["bmat_tiles"], after["bmat_tiles"]))
                row.append(" ".join(f"{cell:.2f}" for cell in cells))
        rows.append(row)
    heads = [f"{s}, {o}: 64 rows, 16 rows, tiles" for s in INPUTS for o in ORDERS[1:]]
    out.append(table(["matrix", "nnz", *heads], rows))
    means = []
    for source in INPUTS:
        for order in ORDERS[1:]:
            ratios = [[], [], []]
            for name in names:
                base = found.get((name, "natural", "counts", "rcm"))
                count = found.get((name, source, "counts", order))
                if base and count:
                    for i, w in enumerate((2, 1)):
                        ratios[i].append(count["after"]["packed_cols"][w] / max(base["before"]["packed_cols"][w], 1))
                    ratios[2].append(count["after"]["bmat_tiles"] / max(base["before"]["bmat_tiles"], 1))
            means.append([source, order, *(f"{geomean(r):.3f}" for r in ratios)])
    out.append(table(["input", "order", "64 rows", "16 rows", "tiles"], means))

    out.append("## Planning against what it saves\n\nSeconds that an order adds to planning, and the products after which it has paid (n = 128; ∞ where products are no faster).\n")
    rows = []
    for name in names:
        for source in INPUTS:
            row = [name, source]
            for kind in FORMATS:
                seconds, times = found.get((name, source, kind, "plan")), found.get((name, source, kind, 128))
                for order in ORDERS[1:]:
                    if not seconds or not times:
                        row.append("")
                        continue
                    added, saved = seconds[order] - seconds["none"], times["none"] - times[order]
                    paid = f"{max(added, 0.0) / saved:.0f}" if saved > 0 else "∞"
                    row.append(f"{added:.2f} s, {paid}")
            rows.append(row)
    out.append(table(["matrix", "input", *(f"{k}, {o}" for k in FORMATS for o in ORDERS[1:])], rows))

    out.append("## Whether auto was right\n\nTime over the best order's, geometric means.\n")
    cases = [
        (*key[:4], found[key[:4]], found[key]["order"])
        for key in sorted(found, key=str)
        if key[-1] == "auto" and key[:4] in found
    ]
    regret = lambda times, order: times[order] / min(times.values())
    rows = []
    for kind in [*FORMATS, None]:
        for n in COLUMNS if kind else [None]:
            for source in INPUTS if kind else [None]:
                part = [c for c in cases if None in (kind, n) or c[1:4] == (source, kind, n)]
                if part:
                    means = [geomean([regret(times, order) for *_, times, _ in part]) for order in ORDERS]
                    auto = geomean([regret(times, order) for *_, times, order in part])
                    near = sum(regret(times, order) <= 1 + tolerance for *_, times, order in part)
                    rows.append([kind or "all", n or "", source or "", *(f"{mean:.2f}" for mean in (*means, auto)), f"{near} of {len(part)}"])
    within = f"auto within {100 * tolerance:.0f} %"
    out.append(table(["format", "n", "input", *(f"always {order}" for order in ORDERS), "auto", within], rows))
    rows = [
        [*case, order, min(times, key=times.get), f"{1e3 * min(times.values()):.3f}", f"{regret(times, order):.2f}"]
        for *case, times, order in cases
        if regret(times, order) > 1 + tolerance
    ]
    rows.sort(key=lambda row: -float(row[-1]))
    out.append(table(["matrix", "input", "format", "n", "auto", "best", "its ms", "auto's over it"], rows))
    return "\n".join(out)


def inputs(options):
    files = list(options.files)
    if options.folder:
        with open(os.path.join(options.folder, "INDEX.csv")) as index:
            for row in csv.DictReader(index):
                large = options.min_nnz <= int(row["nnz"]) <= options.max_nnz
                if large and row["field"] != "complex":
                    files.append(os.path.join(options.folder, row["file"]))
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--folder", help="Matrix Market files with an INDEX.csv")
    parser.add_argument("--min-nnz", type=int, default=80_000)
    parser.add_argument("--max-nnz", type=int, default=4_000_000)
    parser.add_argument("--threads", default="all")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each product in each order")
    parser.add_argument("--budget", type=float, default=840, help="seconds after which nothing new is begun")
    parser.add_argument("--device", help="device file of girih calibrate, for auto; else this CPU, not calibrated")
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument("--out", required=True, help="name of the records, without .jsonl and .md")
    options = parser.parse_args()
    files = inputs(options)
    if not files:
        sys.exit("no matrices: name files, or a --folder")
    records, deadline = Records(options.out + ".jsonl"), time.monotonic() + options.budget
    complete = True
    # Small ones first: what a budget cuts off is the fewest matrices.
    for path in sorted(files, key=os.path.getsize):
        start = time.monotonic()
        if start > deadline or not measure(path, records, options, deadline):
            complete = False
            break
        print(f"{os.path.basename(path)}: {time.monotonic() - start:.1f} s", flush=True)
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    with open(options.out + ".md", "w") as out:
        out.write(report(records, options.tolerance, load))
    if not complete:
        sys.exit("the budget is spent; run again to go on")


if __name__ == "__main__":
    main()
