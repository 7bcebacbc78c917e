#!/usr/bin/env python3
"""How much the planner's choice of format costs against the best one, measured.

    bench/regret.py FOLDER-OF-MATRICES --work DIR [--girih BINARY] [--device DEVICE.toml] > record.md

Calibrates this machine unless a device file is given, then runs the suite `formats-cpu` once for each matrix:
all formats that the planner considers, by turns, for every n. Each run is kept as DIR/NAME.json and not
repeated if the file is there, so an interrupted record goes on where it stopped. The regret of a choice
is its least time over the least of all formats, minus one. The choice is timed as the format it came to, in
the same run. Needs nothing but Python 3 and the binary. Nothing else should run meanwhile: the share of
the processors that other programs had is in the record.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

SUITE = pathlib.Path(__file__).parent / "suites" / "formats-cpu.toml"


def girih(binary, args, out=None):
    """Runs girih; with `out`, its JSON goes there, whole or not at all."""
    result = subprocess.run([binary, *map(str, args)], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        return f"exit code {result.returncode}"
    if out is not None:
        partial = out.with_suffix(".part")
        partial.write_text(result.stdout)
        partial.rename(out)
    return None


def choices(run):
    """For every n of a run: what was chosen, and the times of all formats."""
    for n in sorted({case["n"] for case in run["cases"]}):
        cases = [case for case in run["cases"] if case["n"] == n]
        chosen = [case["spec"] for case in cases if case["format"] == "auto"]
        times = {}
        for case in cases:
            # The choice under its own name counts; where no other case has it, the choice itself does.
            if case["format"] != "auto" or all(c["spec"] != case["spec"] or c is case for c in cases):
                times[case["spec"]] = case["min_seconds"]
        if chosen and times:
            yield n, chosen[0], times, max(case["other_load"] or 0.0 for case in cases)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matrices", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="where results are kept")
    parser.add_argument("--girih", default="target/release/girih")
    parser.add_argument("--device", type=pathlib.Path, help="a calibrated device file")
    parser.add_argument("--seconds", help="for each case [default: the suite's]")
    parser.add_argument("--budget", type=float, default=840, help="seconds in all [default: 840]")
    options = parser.parse_args()
    begin = time.monotonic()
    options.work.mkdir(parents=True, exist_ok=True)

    device = options.device or options.work / "device.toml"
    calibration = options.work / "calibration.json"
    if not device.exists():
        print("calibrating", file=sys.stderr)
        failed = girih(options.girih, ["calibrate", "-o", device, "--json"], calibration)
        if failed:
            sys.exit(f"calibrating failed: {failed}")

    matrices = sorted(options.matrices.glob("*.mtx.gz"))
    if not matrices:
        sys.exit(f"no *.mtx.gz in {options.matrices}")
    left_out = []
    for i, path in enumerate(matrices):
        out = options.work / (path.name.removesuffix(".mtx.gz") + ".json")
        if out.exists():
            continue
        if time.monotonic() - begin > options.budget:
            left_out.append((path.name, "not reached in time; run again to go on"))
            continue
        print(f"{i + 1} of {len(matrices)}: {path.name}", file=sys.stderr)
        args = ["bench", path, "--suite", SUITE, "--device", device, "--roofline", "off", "--json"]
        args += ["--memory-limit", "1GiB"]
        if options.seconds:
            args += ["--seconds", options.seconds]
        failed = girih(options.girih, args, out)
        if failed:
            left_out.append((path.name, failed))

    rows, machine = [], None
    for path in matrices:
        out = options.work / (path.name.removesuffix(".mtx.gz") + ".json")
        if not out.exists():
            continue
        run = json.loads(out.read_text())
        machine = run["machine"]
        for n, chosen, times, load in choices(run):
            best = min(times, key=times.get)
            rows.append((out.stem, n, chosen, best, times[chosen] / times[best] - 1, times[best], load))
    if not rows:
        sys.exit("nothing was measured")

    def geomean(some):
        return math.exp(sum(math.log1p(row[4]) for row in some) / len(some)) - 1

    print(f"# Regret of the planner's choice: {machine['cpu']}, {machine['cpus']} CPUs\n")
    widths = ", ".join(map(str, sorted({row[1] for row in rows})))
    print(f"`bench/regret.py`, {len({row[0] for row in rows})} matrices × n of {widths}, f32, all threads.")
    print(f"Other programs had up to {100 * max(row[6] for row in rows):.0f} % of the processors.\n")
    worst = max(rows, key=lambda row: row[4])
    print(f"Geomean regret {100 * geomean(rows):.1f} %, worst {100 * worst[4]:.1f} % ({worst[0]}, n =")
    print(f"{worst[1]}); {sum(row[2] == row[3] for row in rows)} of {len(rows)} choices were the best.\n")
    print("| n | geomean | worst |\n|---|---|---|")
    for n in sorted({row[1] for row in rows}):
        of_n = [row for row in rows if row[1] == n]
        print(f"| {n} | {100 * geomean(of_n):.1f} % | {100 * max(row[4] for row in of_n):.1f} % |")
    if calibration.exists():
        found = json.loads(calibration.read_text())
        fits = [*found["fits"], dict(spec="all together", quality=found["quality"])]
        print("\n| format | R² held out | mean error | largest |\n|---|---|---|---|")
        for fit in fits:
            quality = fit["quality"]
            print(
                f"| {fit['spec']} | {quality['r2']:.4f} "
                f"| {100 * quality['mean_relative_error']:.1f} % "
                f"| {100 * quality['max_relative_error']:.0f} % |"
            )
    print("\n| matrix | n | chosen | best | regret | best time, ms |\n|---|---|---|---|---|---|")
    for name, n, chosen, best, regret, seconds, _ in rows:
        print(f"| {name} | {n} | {chosen} | {best} | {100 * regret:.1f} % | {1e3 * seconds:.4f} |")
    for name, reason in left_out:
        print(f"\n{name} was left out: {reason}.")


if __name__ == "__main__":
    main()
