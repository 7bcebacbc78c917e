#!/usr/bin/env python3
"""Runs test programs on many processors, each test in a process of its own, also on a machine without Rust.

    tools/apart.py pack FOLDER COMMAND...              what `cargo test --no-run` as COMMAND builds, into FOLDER
    tools/apart.py run FOLDER PROCESSORS SECONDS [PART...]   the tests whose program::name has one of PARTs in it

`pack` keeps the programs without lines of sources, and the variables that sanitizers and threads read. With GIRIH_PACK
tools/sanitize.sh and tools/aarch64.sh pack what they would run. Tests that read files of the repository expect it
where it was when they were compiled. Where FOLDER/run holds a command, programs run by it: an emulator, or
`setarch -R`. Paths that begin with `./`, there and in FOLDER/environment, are FOLDER's.

`run` starts the tests of FOLDER/first, lines of PARTs, before all others: name what takes longest. It ends after
SECONDS, and writes FOLDER/results.tsv (program, test, result, seconds) and, for each test that did not pass, its
output into FOLDER/logs. Results are: passed; skipped, by its own word; failed; reported, by a sanitizer; stopped, by
the end of time; left, not begun.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

VARIABLES = ("ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "RAYON_NUM_THREADS", "RUST_MIN_STACK")
REPORT = re.compile(r"(Address|Thread|Leak)Sanitizer\b")


def pack(folder, command):
    """Builds, and copies each program with the folder that Cargo would run it in."""
    folder.mkdir(parents=True, exist_ok=True)
    built = subprocess.run(
        [*command, "--no-run", "--message-format=json-render-diagnostics"], stdout=subprocess.PIPE, check=True
    )
    programs = {}
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"]:
            source = pathlib.Path(message["executable"])
            package = pathlib.Path(message["manifest_path"]).parent
            name = f"{package.name}.{message['target']['name']}"
            objcopy = os.environ.get("OBJCOPY", "objcopy")
            if subprocess.run([objcopy, "--strip-debug", source, folder / name]).returncode:
                shutil.copy(source, folder / name)
            programs[name] = str(package)
    (folder / "programs").write_text("".join(f"{name}\t{at}\n" for name, at in sorted(programs.items())))
    environment = [f"{name}={os.environ[name]}\n" for name in VARIABLES if name in os.environ]
    (folder / "environment").write_text("".join(environment))
    print(f"{len(programs)} programs in {folder}")


def lines(path):
    """The lines of a file that may be missing."""
    return path.read_text().splitlines() if path.exists() else []


def run(folder, processors, seconds, parts):
    """Runs the tests, and says whether nothing failed."""
    end = time.monotonic() + seconds
    environment = dict(os.environ)
    for line in lines(folder / "environment"):
        name, _, value = line.partition("=")
        environment[name] = re.sub(r"(^|=)\./", rf"\1{folder}/", value)
    runner = (folder / "run").read_text().split() if (folder / "run").exists() else []
    runner = [str(folder / word) if word.startswith("./") else word for word in runner]
    first = lines(folder / "first")
    tests = []
    for line in lines(folder / "programs"):
        program, package = line.split("\t")
        place = package if pathlib.Path(package).is_dir() else folder
        listed = subprocess.run(
            [*runner, folder / program, "--list", "--format=terse"],
            env=environment, cwd=place, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        names = re.findall(r"^(.*): test$", listed.stdout, re.MULTILINE)
        tests += [(program, name, place) for name in names]
    tests = [t for t in tests if not parts or any(part in f"{t[0]}::{t[1]}" for part in parts)]
    places = {part: at for at, part in enumerate(first)}

    def rank(test):
        return min((at for part, at in places.items() if part in f"{test[0]}::{test[1]}"), default=len(first))

    waiting = collections.deque(sorted(tests, key=rank))
    logs = folder / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    results = []

    def one(program, name, place):
        begun = time.monotonic()
        log = logs / f"{program}.{name.replace('::', '.')}"
        command = [*runner, folder / program, "--exact", name, "--nocapture", "--test-threads=1"]
        with open(log, "wb") as output:
            child = subprocess.Popen(
                command, env=environment, cwd=place, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            try:
                code = child.wait(timeout=max(0.0, end - begun))
            except subprocess.TimeoutExpired:
                child.kill()
                code = child.wait()
                stopped = True
            else:
                stopped = False
        text = log.read_bytes().decode(errors="replace")
        if REPORT.search(text):
            result = "reported"
        elif stopped:
            result = "stopped"
        elif code:
            result = "failed"
        elif "skipped: " in text or "test result: ok. 1 passed" not in text:
            result = "skipped"
        else:
            result = "passed"
            log.unlink()
        return program, name, result, time.monotonic() - begun

    def work():
        while True:
            try:
                test = waiting.popleft()
            except IndexError:
                return
            if time.monotonic() >= end:
                results.append((test[0], test[1], "left", 0.0))
            else:
                results.append(one(*test))

    workers = [threading.Thread(target=work) for _ in range(processors)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    with open(folder / "results.tsv", "w") as output:
        print("program", "test", "result", "seconds", sep="\t", file=output)
        for program, name, result, took in sorted(results):
            print(program, name, result, f"{took:.1f}", sep="\t", file=output)
    count = collections.Counter(result for _, _, result, _ in results)
    by_program = collections.Counter((program, result) for program, _, result, _ in results)
    for (program, result), n in sorted(by_program.items()):
        print(f"{program}: {n} {result}")
    print(f"{folder}: {len(results)} tests,", ", ".join(f"{n} {result}" for result, n in sorted(count.items())))
    return not (count["failed"] or count["reported"])


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pack", folder, *command] if command:
            pack(pathlib.Path(folder).resolve(), command)
        case ["run", folder, processors, seconds, *parts]:
            if not run(pathlib.Path(folder).resolve(), int(processors), float(seconds), parts):
                sys.exit(1)
        case _:
            sys.exit(__doc__)
