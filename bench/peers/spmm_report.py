"""Tables of spmm.py's records."""

import math


def is_girih(result):
    return result["name"].startswith("girih")


def best_peer(case, threads):
    peers = [r for r in case["results"] if not is_girih(r) and r["threads"] <= threads]
    return min(peers, key=lambda r: r["min_seconds"]) if peers else None


def girih(case, threads, format):
    """girih in a format, under that name or another that came to the same."""
    for r in case["results"]:
        if is_girih(r) and r["threads"] == threads:
            if r["name"] == f"girih {format}" or format in r["also"]:
                return r
    return None


def show(case):
    """Every runner of one case, fastest first."""
    load = 100 * case["other_load"]
    print(
        f"\n{case['matrix']} {case['dtype']} n = {case['n']}: {case['m']} x {case['k']}, "
        f"{case['nnz']} entries; other programs used {load:.0f} % of the processors"
    )
    for note in case["notes"]:
        print(f"  {note}")
    for r in sorted(case["results"], key=lambda r: (r["threads"], r["min_seconds"])):
        best, low, high = r["min_seconds"], *r["quartiles"]
        format = f"  {r['format']}" if "format" in r else ""
        print(
            f"  {r['threads']} thr  {r['name']:14} {best * 1e3:10.3f} ms  "
            f"(median {r['median_seconds'] * 1e3:10.3f}, quartiles {low * 1e3:.3f}-{high * 1e3:.3f})"
            f" {case['flops'] / best / 1e9:7.1f} GF/s {case['bytes'] / best / 1e9:6.1f} GB/s{format}",
            flush=True,
        )


def geomean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def tables(cases):
    """Markdown: one line per case and number of threads, then geometric means."""
    ours = [r for case in cases for r in case["results"] if is_girih(r)]
    formats = sorted({f for r in ours for f in (r["name"].removeprefix("girih "), *r["also"])})
    formats.sort(key=lambda format: format != "csr")
    counts = sorted({r["threads"] for r in ours})
    for threads in counts:
        plural = "" if threads == 1 else "s"
        print(f"\n### {threads} thread{plural}\n")
        columns = "".join(f" {f} ms (median) | ratio |" for f in formats)
        print(f"| matrix | dtype | n | best peer | ms (median) |{columns} GF/s | GB/s | other load |")
        print("|---|---|---|---|---|" + "---|---|" * len(formats) + "---|---|---|")
        ratios = {format: [] for format in formats}
        for case in cases:
            peer = best_peer(case, threads)
            cells, best = "", math.inf
            for format in formats:
                found = girih(case, threads, format)
                if found is None or peer is None:
                    cells += " - | - |"
                    continue
                ratio = peer["min_seconds"] / found["min_seconds"]
                ratios[format].append((case["matrix"], case["n"], ratio))
                picked = f" {found['format']}" if format == "auto" else ""
                cells += f" {milliseconds(found)}{picked} | {ratio:.2f} |"
                best = min(best, found["min_seconds"])
            if peer is None:
                continue
            on = "" if peer["threads"] == threads else f", {peer['threads']} thr"
            print(
                f"| {case['matrix']} | {case['dtype']} | {case['n']} | {peer['name']}{on} | "
                f"{milliseconds(peer)} |{cells} {case['flops'] / best / 1e9:.1f} | "
                f"{case['bytes'] / best / 1e9:.1f} | {100 * case['other_load']:.0f} % |"
            )
        for format, of_format in ratios.items():
            if not of_format:
                continue
            print(f"\n{format}, {threads} thread{plural}: ", end="")
            parts = [f"geomean {geomean([r for *_, r in of_format]):.2f} over {len(of_format)} cases"]
            for n in sorted({n for _, n, _ in of_format}):
                parts.append(f"n = {n}: {geomean([r for _, k, r in of_format if k == n]):.2f}")
            low = [f"{matrix} n = {n} ({r:.2f})" for matrix, n, r in of_format if r < 1]
            print("; ".join(parts) + ". Below 1: " + (", ".join(low) or "none") + ".")


def milliseconds(result):
    return f"{result['min_seconds'] * 1e3:.3f} ({result['median_seconds'] * 1e3:.3f})"
