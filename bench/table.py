#!/usr/bin/env python3
"""Tables in Markdown from records of `girih bench` in JSON.

    bench/table.py RECORD.json... [--time median|min] > record.md

A table has a row for each matrix and n and a column for each format, order and backend; there is one for each
value type and number of threads. The fastest time of a row is bold. Below each table stands the geometric mean, by
n, of each column's time over the fastest of its row, over the rows in which every column has a time. Where a record
has ratios beside NVIDIA's libraries, their geometric means follow. Needs nothing but Python 3.
"""

import argparse
import json
import math
import pathlib
import re
import sys


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def time(seconds):
    """Three significant digits, with a unit."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms"), (1.0, "s")):
        value = seconds * factor
        if value < 1000.0:
            break
    decimals = 2 if value < 10.0 else 1 if value < 100.0 else 0
    return f"{value:.{decimals}f} {unit}"


def column(case):
    """What a case multiplied: format, order where it is not the matrix's own, and who did it."""
    order = "" if case["reorder"] == "none" else f", {case['reorder']}"
    how = case.get("isa") or case.get("way")
    return f"{case['format']}{order}, {case['backend']}{f' {how}' if how else ''}"


def markdown(header, rows):
    """A table whose first column is text and whose others are numbers."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def first_seen(values):
    return list(dict.fromkeys(values))


def tables(record, key):
    """The tables of a record, one for each value type and number of threads."""
    groups = first_seen((case["dtype"], case["threads"]) for case in record["cases"])
    for dtype, threads in groups:
        cases = [c for c in record["cases"] if (c["dtype"], c["threads"]) == (dtype, threads)]
        columns = first_seen(map(column, cases))
        times = {}
        for case in cases:
            times.setdefault((case["matrix"], case["n"]), {})[column(case)] = case[key]
        rows = []
        for (matrix, n), row in times.items():
            least = min(row.values())
            cells = []
            for name in columns:
                shown = time(row[name]) if name in row else "–"
                cells.append(f"**{shown}**" if row.get(name) == least else shown)
            rows.append([matrix, str(n), *cells])
        on = "" if threads is None else f", {threads} thread{'' if threads == 1 else 's'}"
        yield f"## {dtype}{on}\n\n" + markdown(["matrix", "n", *columns], rows)
        means = []
        for n in sorted({n for _, n in times}):
            whole = [row for (_, of), row in times.items() if of == n and len(row) == len(columns)]
            if whole:
                over = (geomean([row[name] / min(row.values()) for row in whole]) for name in columns)
                means.append([str(n), str(len(whole)), *(f"{mean:.3f}" for mean in over)])
        if means and len(columns) > 1:
            yield "Over the fastest, geometric mean:\n\n" + markdown(["n", "matrices", *columns], means)


def ratios(record):
    """Means of the ratios beside a device's peers."""
    like = {}
    for ratio in record.get("ratios", []):
        order = "" if ratio["order"] in ("none", "natural") else f", {ratio['order']}"
        key = (ratio["over"], ratio["spec"] + order, ratio["dtype"], ratio["n"])
        like.setdefault(key, []).append(ratio["ratio"])
    rows = [
        [*map(str, key), f"{geomean(found):.2f}", f"{min(found):.2f}", str(len(found))]
        for key, found in like.items()
    ]
    if rows:
        header = ["over", "format", "dtype", "n", "geometric mean", "least", "matrices"]
        yield "## How many times as fast\n\n" + markdown(header, rows)


def machine(record):
    """What was measured, on what, and how busy it was."""
    found = record["machine"]
    suite = record.get("suite")
    lines = [suite["description"] + "."] if suite else []
    cores = "" if found["cores"] is None else f" on {found['cores']} cores"
    virtual = ", virtual machine" if found["virtual_machine"] else ""
    lines.append(f"girih {record['version']} on {found['cpu'] or 'an unknown CPU'}, {found['cpus']} CPUs{cores}{virtual}.")
    lines += first_seen(f"{case['device']}." for case in record["cases"] if case.get("device"))
    loads = [case["other_load"] for case in record["cases"] if case["other_load"] is not None]
    if loads:
        mean, most = 100.0 * sum(loads) / len(loads), 100.0 * max(loads)
        lines.append(f"Other programs had {mean:.0f} % of the processors meanwhile, at most {most:.0f} %.")
    return "\n".join(lines)


def title(path, record):
    """The suite's name, or else the file's, and the date that the file's name begins with."""
    date = re.match(r"\d{4}-\d{2}-\d{2}", path.stem)
    name = record["suite"]["name"] if record.get("suite") else path.stem
    return f"# {name}: {date[0]}" if date else f"# {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=pathlib.Path, nargs="+", metavar="RECORD.json")
    parser.add_argument("--time", choices=["median", "min"], default="median")
    options = parser.parse_args()
    for path in options.records:
        record = json.loads(path.read_text(encoding="utf-8"))
        if not record.get("cases"):
            sys.exit(f"{path}: it holds no cases of girih bench")
        kind = "Median times" if options.time == "median" else "Least times"
        parts = [title(path, record), machine(record)]
        parts.append(f"{kind} of verified products, {record['seconds']} s for each.")
        parts += tables(record, f"{options.time}_seconds")
        parts += ratios(record)
        for skipped in record["skipped"]:
            case = f"{skipped['matrix']}, n = {skipped['n']}, {skipped['dtype']}, {skipped['format']}"
            parts.append(f"{case} was skipped: {skipped['reason']}")
        print("\n\n".join(parts), end="\n\n" if path != options.records[-1] else "\n")


if __name__ == "__main__":
    main()
