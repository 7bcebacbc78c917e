"""Tables of spmm.py's records."""

import math

from spmm_run import is_peer

STENCILS = ("laplacian",)  # near bandwidth in every library: means without them are given too
BEHIND = 0.95  # ratios below this are listed
SHARE = 0.6  # shares of the roofline below this are listed


def is_girih(result):
    return result["name"].startswith("girih")


def best_peer(case, threads):
    peers = [r for r in case["results"] if is_peer(r["name"]) and r["threads"] <= threads]
    return min(peers, key=lambda r: r["min_seconds"]) if peers else None


def girih(case, threads, format):
    """girih in a format, under that name or another that came to the same."""
    for r in case["results"]:
        if is_girih(r) and r["threads"] == threads:
            if r["name"] == f"girih {format}" or format in r["also"]:
                return r
    return None


def share(case, threads, result):
    """The floor of the case over the time, and what the floor is spent on."""
    floor = case.get("floors", {}).get(str(threads))
    if floor is None:
        return None, ""
    return floor["seconds"] / result["min_seconds"], floor["limit"]


def bound(case, threads, name="reading"):
    """The seconds of only reading a row of B for each entry, or of moving C and values too."""
    for r in case["results"]:
        if r["name"] == name and r["threads"] == threads:
            return r["min_seconds"]
    return None


def machine(record):
    """The roofline that was measured with the products."""
    for threads, found in record.get("machine", {}).items():
        peaks = [found[f"f{bits}_peak"] / 1e9 for bits in (32, 64)]
        print(f"\n{threads} thr: peak {peaks[0]:.0f} GF/s in f32, {peaks[1]:.0f} in f64; ", end="")
        print("GB/s read, triad, streaming triad: ", end="")
        points = [
            f"{size(p['bytes'])} {p['read'] / 1e9:.0f} {p['triad'] / 1e9:.0f} "
            f"{p['streaming_triad'] / 1e9:.0f}"
            for p in found["bandwidths"]
        ]
        print("; ".join(points), end="; ")
        print(f"other programs used {100 * found['other_load']:.0f} % of the processors")
    for skipped in record.get("skipped", []):
        where = "".join(f" {key} {skipped[key]}" for key in ("dtype", "n") if key in skipped)
        print(f"{skipped['matrix']}{where} left out: {skipped['reason']}")


def size(count):
    return f"{count / 2**20:.0f} MiB" if count > 1 << 20 else f"{count / 2**10:.0f} KiB"


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
        times = (
            f"  {r['threads']} thr  {r['name']:14} {best * 1e3:10.3f} ms  "
            f"(median {r['median_seconds'] * 1e3:10.3f}, quartiles {low * 1e3:.3f}-{high * 1e3:.3f})"
        )
        if r["name"] in ("reading", "moving"):
            print(times, flush=True)
            continue
        part, limit = share(case, r["threads"], r)
        floor = "" if part is None else f"  {100 * part:3.0f} % of {limit}"
        read = bound(case, r["threads"])
        floor += "" if read is None else f", {100 * read / best:.0f} % reading"
        print(
            f"{times} {case['flops'] / best / 1e9:7.1f} GF/s {case['bytes'] / best / 1e9:6.1f} GB/s"
            f"{floor}{format}",
            flush=True,
        )


def geomean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def tables(cases):
    """Markdown: one line per case and number of threads, then geometric means."""
    ours = [r for case in cases for r in case["results"] if is_girih(r)]
    formats = sorted({f for r in ours for f in (r["name"].removeprefix("girih "), *r["also"])})
    formats.sort(key=lambda format: format != "csr")
    for threads in sorted({r["threads"] for r in ours}):
        print(f"\n### {threads} thread{'' if threads == 1 else 's'}\n")
        columns = "".join(f" {f} ms (median) | ratio | roofline | reading |" for f in formats)
        print(f"| matrix | dtype | n | best peer | ms (median) |{columns} GF/s | GB/s | other load |")
        print("|---|---|---|---|---|" + "---|---|---|---|" * len(formats) + "---|---|---|")
        found = {format: [] for format in formats}
        for case in cases:
            peer = best_peer(case, threads)
            if peer is not None:
                print(line(case, threads, peer, formats, found))
        for format in formats:
            if found[format]:
                means(format, threads, found[format])


def line(case, threads, peer, formats, found):
    """A case's line of the table; what it means is added to `found`, by format."""
    cells, best = "", math.inf
    for format in formats:
        ours = girih(case, threads, format)
        if ours is None:
            cells += " - | - | - | - |"
            continue
        ratio = peer["min_seconds"] / ours["min_seconds"]
        part, limit = share(case, threads, ours)
        least, moved = bound(case, threads), bound(case, threads, "moving")
        read = least and least / ours["min_seconds"]
        found[format].append(
            dict(
                matrix=case["matrix"], dtype=case["dtype"], n=case["n"], ratio=ratio, share=part,
                reading=read,
                moving=moved and moved / ours["min_seconds"],
            )
        )  # fmt: skip
        picked = f" {ours['format']}" if format == "auto" else ""
        floor = "-" if part is None else f"{100 * part:.0f} % {limit}"
        of_reading = "-" if read is None else f"{100 * read:.0f} %"
        cells += f" {milliseconds(ours)}{picked} | {ratio:.2f} | {floor} | {of_reading} |"
        best = min(best, ours["min_seconds"])
    on = "" if peer["threads"] == threads else f", {peer['threads']} thr"
    return (
        f"| {case['matrix']} | {case['dtype']} | {case['n']} | {peer['name']}{on} | "
        f"{milliseconds(peer)} |{cells} {case['flops'] / best / 1e9:.1f} | "
        f"{case['bytes'] / best / 1e9:.1f} | {100 * case['other_load']:.0f} % |"
    )


def means(format, threads, found):
    """Geometric means of a format's ratios, and the cases that are behind."""
    for dtype in sorted({x["dtype"] for x in found}):
        part = [x for x in found if x["dtype"] == dtype]
        print(f"\n**{format}, {dtype}, {threads} thread{'' if threads == 1 else 's'}**")
        print(f"- ratio, geomean: {mean(part)}")
        for n in sorted({x["n"] for x in part}):
            print(f"- n = {n}: {mean([x for x in part if x['n'] == n])}")
        wide = [x for x in part if x["n"] >= 128]
        stencils = [x for x in wide if x["matrix"] in STENCILS]
        others = [x for x in wide if x["matrix"] not in STENCILS]
        for label, group in (("without stencils", others), ("stencils", stencils)):
            if group:
                print(f"- n >= 128, {label}: {mean(group)}")
        behind = [x for x in part if x["ratio"] < BEHIND]
        ratio = lambda x: f"{x['ratio']:.2f}"
        print(f"- below {BEHIND}: {listed(behind, ratio)}")
        low = [x for x in part if x["share"] is not None and x["share"] < SHARE]
        print(f"- below {100 * SHARE:.0f} % of the roofline: {len(low)} of {len(part)} cases")
        rest = [x for x in low if x["reading"] is None or x["reading"] < SHARE]
        percent = lambda x: f"{100 * x['share']:.0f} %" + (
            "" if x["reading"] is None else f", {100 * x['reading']:.0f} % reading"
        )
        print(f"- and reading is below {100 * SHARE:.0f} % of the time: {listed(rest, percent)}")
        for name, alone in (("reading", "reading alone"), ("moving", "moving alone")):
            known = [x for x in part if x[name] is not None]
            wide = [x for x in known if x["n"] >= 128]
            if known:
                print(f"- {alone}: {most(known, name)}" + ("" if not wide else f"; n >= 128: {most(wide, name)}"))


def most(group, name):
    """What a product that took no longer than a bound would have."""
    taken, ratio = geomean([x[name] for x in group]), geomean([x["ratio"] / x[name] for x in group])
    return f"{100 * taken:.0f} % of the time in geomean, a product that took no longer has {ratio:.2f}"


def mean(group):
    text = f"{geomean([x['ratio'] for x in group]):.2f} over {len(group)} cases"
    shares = [x["share"] for x in group if x["share"] is not None]
    if shares:
        mean_share = geomean(shares)
        text += f", {100 * mean_share:.0f} % of the roofline ({1 / mean_share:.1f} x the floor)"
    return text


def listed(group, value):
    return ", ".join(f"{x['matrix']} n = {x['n']} ({value(x)})" for x in group) or "none"


def milliseconds(result):
    return f"{result['min_seconds'] * 1e3:.3f} ({result['median_seconds'] * 1e3:.3f})"
